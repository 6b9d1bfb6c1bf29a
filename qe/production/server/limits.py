"""Limits: what a request may ask for, how many there may be, and how long they may take."""

from dataclasses import dataclass

from features.basics.errors import InputError


@dataclass(frozen=True)
class Limits:
    """What one request may ask for, and how many may be worked on at a time.

    bytes        of the body; more: 413
    rows         segments; more: 422
    keys         distinct columns; more: 422
    seconds      to send the body (408), to answer (504), and to take the answer (the connection is closed)
    busy         requests that are being scored, those given up on included; more: 503
    connections  open at a time: one more takes the place of the one that has waited longest for a request,
                 or is answered 503 if none waits
    headers      seconds to send the first line and the headers; longer: 408
    idle         seconds until a connection without a request is closed
    """

    bytes: int = 8 << 20
    rows: int = 5000
    seconds: int = 60
    busy: int = 4
    connections: int = 400
    keys: int = 32
    headers: int = 10
    idle: int = 10

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value < 1:
                raise InputError(f"the limit of {name} must be at least 1, but got {value}")

    @property
    def values(self) -> int:
        """JSON values in a body: what so many rows of so many keys need."""
        return self.rows * (self.keys + 1) + 100

    @property
    def bodies(self) -> int:
        """Bytes of all the bodies that are being received."""
        return self.busy * self.bytes
