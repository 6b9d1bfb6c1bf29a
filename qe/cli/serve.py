"""`qe serve`: answer scoring requests over HTTP."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qe.cli._options import Signed

if TYPE_CHECKING:
    from qe.production.server.service import Service


def serve(
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="Model folder, or models:/NAME@champion.")
    ] = None,
    models: Annotated[
        Path | None,
        typer.Option(metavar="ROUTES", help="YAML: which model answers for which rows, as in `qe score`."),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; loopback unless you say otherwise.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 5002,
    allowed_hosts: Annotated[
        str,
        typer.Option(help="Host names to answer to beside loopback's and --host, such as a,b; * for any."),
    ] = "",
    interval: Annotated[
        float | None, typer.Option(help="Answer with low and high, too, such as 0.9.")
    ] = None,
    triage: Annotated[
        Path | None, typer.Option(help="What `qe triage --json` printed: requests may ask for actions.")
    ] = None,
    max_bytes: Annotated[int, typer.Option(help="Largest body of a request; larger: 413.")] = 8 << 20,
    max_rows: Annotated[int, typer.Option(help="Most segments in a request; more: 422.")] = 5000,
    max_seconds: Annotated[int, typer.Option(help="Longest time for an answer; longer: 504.")] = 60,
    max_busy: Annotated[int, typer.Option(help="Requests scored at a time; more: 503.")] = 4,
    max_connections: Annotated[int, typer.Option(help="Connections open at a time.")] = 400,
    drift_rows: Annotated[
        int,
        typer.Option(min=0, help="Last segments looked at beside the training data, for /metrics; 0: none."),
    ] = 10_000,
    refresh: Annotated[
        float,
        typer.Option(min=0, help="Look every so many seconds for a new model; 0: at SIGHUP alone."),
    ] = 0.0,
    require_signature: Signed = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Log no line for each request.")] = False,
) -> None:
    """Answer scoring requests over HTTP, with limits: MLflow's scoring protocol.

    POST /invocations {"dataframe_records": [{"source": ..., "target": ...}]} gives a score, or the reason
    for none, per segment; "params": {"interval": 0.9, "explain": 3, "triage": true} asks for more.
    GET /health says whether the server lives, /ready whether the model is loaded, /version which one it is;
    /metrics is for Prometheus, /docs for people. There is no authentication: put a proxy before it to serve
    other machines (docs/serving.md, docs/security.md).

    SIGHUP, or --refresh 60, takes the model that the name leads to now: no request is lost, and a model that
    cannot be loaded is told in the log while the one before goes on.

    Example:

        qe serve --model models:/qe-demo@champion --port 5002
    """
    from features.basics.errors import InputError
    from qe.cli._common import chosen_routes
    from qe.production.listening import address_of, bound
    from qe.production.renewal import Renewal
    from qe.production.server.hosts import Hosts
    from qe.production.server.limits import Limits
    from qe.production.serving import serve as answer_requests

    routes = chosen_routes(model, models)
    if models is not None and triage is not None:
        raise InputError("--triage is of one model", remedy="leave it out with --models")
    limits = Limits(max_bytes, max_rows, max_seconds, max_busy, max_connections)
    hosts = Hosts.of([name for name in allowed_hosts.split(",") if name], host)

    def service_of(name: str) -> "Service":
        from qe.api.models import model_folder
        from qe.cli._common import registered
        from qe.production.server.service import Service

        folder, identity = model_folder(name, require_signature)
        version = registered(name, folder)
        return Service.load(
            folder,
            limits,
            identity=identity,
            level=interval,
            triage=triage,
            registered=version,
            drift_rows=drift_rows,
        )

    def load() -> "Service":
        from qe.production.server.routed import RoutedService

        if models is None:
            return service_of(routes[0].model)
        services = {name: service_of(name) for name in dict.fromkeys(route.model for route in routes)}
        return RoutedService.of(models.name, routes, [services[route.model] for route in routes], limits)

    def current(service: "Service") -> bool:
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
            print(f"serving '{name}' on http://{address}/invocations", file=sys.stderr, flush=True)

        answer_requests(
            Renewal(load, current, refresh), held, limits, hosts=hosts, quiet=quiet, loaded=loaded
        )
