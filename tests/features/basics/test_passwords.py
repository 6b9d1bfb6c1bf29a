"""No message has a password, whatever the form of the address and the characters of the password."""

import pytest

from features.basics.errors import InputError, without_passwords

PASSWORDS = [
    "S3CRET",
    "S3@CRET",
    "S3'CRET",
    'S3"CRET',
    "S3 CRET",
    "S3/CRET",
    "S3:CRET",
    "S3#CRET",
    "@S3CRET@",
]
ADDRESSES = [
    "postgresql://u:{}@host",
    "postgresql+psycopg://u:{}@host:5432/name?sslmode=require",
    "mysql://u:{}@[::1]/name",
    "redis://:{}@host",
]
CONNECTIONS = ["host=db password={} dbname=qe", "host=db sslpassword = {} dbname=qe", "password={} host=db"]
SURROUNDINGS = ["{}", "'{}' cannot be used", "search.storage: {}: no such host; use another"]


@pytest.mark.parametrize("password", PASSWORDS)
@pytest.mark.parametrize("form", ADDRESSES + CONNECTIONS)
def test_no_message_has_the_password(form: str, password: str) -> None:
    for surroundings in SURROUNDINGS:
        message = str(InputError(surroundings.format(form.format(password))))
        assert "***" in message and "S3" not in message and "CRET" not in message


@pytest.mark.parametrize(
    "text",
    [
        "http://u:S3'CRET@host/x", "http://u:S3 CRET@host", "https://h/x?a=1&token=S3CRET&b=2",
        "postgresql://h/db?user=u&password=S3'CRET", "host=h password='S3 CRET'",
        r"host=h password='S3\'CRET'",
        "'host=h password=S3CRET' is no file", "host=h passfile=x pwd=S3CRET: refused",
    ],
)  # fmt: skip
def test_other_forms(text: str) -> None:
    shown = without_passwords(text)
    assert "***" in shown and "S3" not in shown and "CRET" not in shown


@pytest.mark.parametrize(
    "text",
    [
        "http://127.0.0.1:5000/models/qe@champion", "http://127.0.0.1:5000: no model qe@champion",
        "see https://example.org: mail to a@example.org", "max_token=5", "sqlite:///a b.db", "C:\\x@y",
    ],
)  # fmt: skip
def test_text_without_passwords_is_unchanged(text: str) -> None:
    assert without_passwords(text) == text
