"""`qe serve`: answers scoring requests over HTTP."""

import sys
from typing import Annotated

import typer


def serve(
    model: Annotated[str, typer.Option("--model", "-m", help="Model folder, or models:/NAME@champion.")],
    host: Annotated[
        str, typer.Option(help="Address to listen on; loopback unless you say otherwise.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 5002,
    interval: Annotated[
        float | None, typer.Option(help="Answer with low and high, too, such as 0.9.")
    ] = None,
    max_bytes: Annotated[int, typer.Option(help="Largest body of a request; larger: 413.")] = 8 << 20,
    max_rows: Annotated[int, typer.Option(help="Most segments in a request; more: 422.")] = 5000,
    max_seconds: Annotated[int, typer.Option(help="Longest time for an answer; longer: 504.")] = 60,
    max_busy: Annotated[int, typer.Option(help="Requests scored at a time; more: 503.")] = 4,
) -> None:
    """Answer scoring requests over HTTP: MLflow's scoring server, with limits.

    POST /invocations {"dataframe_records": [{"source": ..., "target": ...}]} gives a score, or the reason
    for none, per segment. GET /health says whether the model is loaded, GET /version which one it is.
    There is no authentication: put a proxy before it to serve other machines (docs/security.md).

    Example:

        qe serve --model models:/qe-demo@champion --port 5002
    """
    from qe import serving
    from qe.cli.score import model_folder

    limits = serving.Limits(max_bytes, max_rows, max_seconds, max_busy)
    app = serving.application(model_folder(model), limits, interval)
    print(f"serving '{app.about['model']}' on http://{host}:{port}/invocations", file=sys.stderr)
    serving.serve(app, host, port)
