"""`qe serve`: answer scoring requests over HTTP."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from qe.production.server.service import Service


def serve(
    model: str | None = None,
    models: Path | None = None,
    host: str = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535)] = 5002,
    allowed_hosts: str = "",
    trusted_proxies: str = "",
    interval: float | None = None,
    triage: Path | None = None,
    missing_columns: str = "error",
    max_bytes: int = 8 << 20,
    max_rows: int = 5000,
    max_seconds: int = 60,
    max_busy: int = 4,
    max_connections: int = 400,
    drift_rows: Annotated[int, typer.Option(min=0)] = 10000,
    refresh: Annotated[float, typer.Option(min=0)] = 0.0,
    require_signature: Path | None = None,
    quiet: bool = False,
) -> None:
    """Answer scoring requests over HTTP, with limits: MLflow's scoring protocol.

    POST /invocations {"dataframe_records": [{"source": ..., "target": ...}]} returns a score per segment, or
    the reason why there is none; "params": {"interval": 0.9, "explain": 3, "triage": true} adds columns.
    GET /health: the server runs; /ready: the model is loaded; /version: which model; /metrics: for
    Prometheus; /docs: for people. There is no authentication: put a proxy in front of it to serve other
    machines (docs/serving.md, docs/security.md).

    SIGHUP, or --refresh 60, loads the model that the name now points to: no request is lost, and if the new
    model cannot be loaded, the log has the reason and the old one stays.

    Example:

        qe serve --model models:/qe-demo@champion --port 5002

        qe serve --model output/mine/model --missing-columns impute

    options:
      -m, --model MODEL  Folder of a model or its run, or models:/NAME@champion.
      --models ROUTES  YAML: which model scores which rows, as in `qe score`.
      --host ADDRESS  Address to listen on. (default: 127.0.0.1, this machine only)
      --port N  Port to listen on.
      --allowed-hosts NAMES  Host names to answer to besides loopback and --host, such as a,b; * for any.
      --trusted-proxies ADDRESSES  Proxies whose X-Forwarded-For names the client. (default: none)
      --interval SHARE  Also return low and high, which contain this share of true labels, such as 0.9.
      --triage FILE  Output of `qe triage --json`: requests can ask for actions.
      --missing-columns error|impute  Columns that features read by name and a request lacks: status 422, or
          values as for missing ones. (default: error)
      --require-signature PEM  Load the model only if it is signed with this public key.
      -q, --quiet  Do not log requests.

    limits:
      --max-bytes N  Largest body of a request, in bytes; larger: status 413.
      --max-rows N  Most segments in a request; more: status 422.
      --max-seconds N  Longest time for an answer, in seconds; longer: status 504.
      --max-busy N  Requests that are scored at the same time; more: status 503.
      --max-connections N  Connections that are open at the same time.
      --drift-rows N  Most recent segments that /metrics compares with the training data; 0: none.
      --refresh SECONDS  Look for a new model at this interval; 0: only at SIGHUP.
    """
    from features.basics.errors import InputError
    from qe.cli.shared.printing import chosen_routes
    from qe.production.server.answers import Limits
    from qe.production.server.app import Hosts, check_proxies
    from qe.production.serving import Renewal, address_of, bound
    from qe.production.serving import serve as answer_requests

    routes = chosen_routes(model, models)
    if models is not None and triage is not None:
        raise InputError("--triage is for one model", remedy="leave it out with --models")
    limits = Limits(max_bytes, max_rows, max_seconds, max_busy, max_connections)
    trusted = check_proxies([name for name in trusted_proxies.split(",") if name])
    hosts = Hosts.from_names([name for name in allowed_hosts.split(",") if name], host)

    def service_of(name: str) -> "Service":
        from qe.api.models import model_folder
        from qe.cli.shared.printing import registered
        from qe.production.server.service import Service

        folder, identity = model_folder(name, require_signature)
        version = registered(name, folder)
        return Service.load(
            folder, limits, identity=identity, level=interval, triage=triage, registered=version,
            drift_rows=drift_rows, missing_columns=missing_columns,
        )  # fmt: skip

    def load() -> "Service":
        from qe.production.server.service import RoutedService

        if models is None:
            return service_of(routes[0].model)
        services = {name: service_of(name) for name in dict.fromkeys(route.model for route in routes)}
        chosen = [services[route.model] for route in routes]
        return RoutedService.from_routes(models.name, routes, chosen, limits)

    def is_loaded(service: "Service") -> bool:
        from qe.api.models import is_current

        abouts = service.about.get("routes")
        loaded = [abouts[route.name] for route in routes] if abouts else [service.about]
        return all(
            is_current(route.model, about["registered"], about["fingerprint"])
            for route, about in zip(routes, loaded, strict=True)
        )

    with bound(host, port) as held:
        address = address_of(held)

        def loaded(service: "Service") -> None:
            name = service.about["model"]
            with suppress(OSError):  # a full disk ends no server
                print(f"serving '{name}' on http://{address}/invocations", file=sys.stderr, flush=True)

        renewal = Renewal(load, is_loaded, refresh)
        answer_requests(
            renewal, held, limits, hosts=hosts, trusted_proxies=trusted, quiet=quiet, loaded=loaded
        )
