"""Several models behind one address: each row by the model of its route."""

from pathlib import Path
from typing import Any

import pytest

from qe.production.server.app import App
from qe.production.server.protocol import Limits
from qe.production.server.service import RoutedService, Service
from qe.scoring.routes import Route
from tests.production.server.asgi import call

LIMITS = Limits(bytes=20_000, rows=30, seconds=300, busy=2)


@pytest.fixture(scope="module")
def one(demo_model: Path) -> Service:
    return Service.load(demo_model, LIMITS)


@pytest.fixture(scope="module")
def app(one: Service, demo_model: Path) -> App:
    other = Service.load(demo_model, LIMITS, level=0.9)
    routes = [Route({"pair": "en-es", "domain": "law"}, "a"), Route({"pair": "en-es"}, "b")]
    return App(LIMITS, RoutedService.from_routes("routes.yaml", routes, [other, one], LIMITS))


def test_rows_go_to_the_service_of_their_route(app: App, one: Service) -> None:
    texts = {"source": "the house is red", "target": "la casa es roja"}
    kinds = [("en-es", "law"), ("en-de", "law"), ("en-es", "news"), ("en-es", None)]
    records: list[dict[str, Any]] = [{**texts, "pair": pair, "domain": domain} for pair, domain in kinds]
    status, answer, _ = call(app, content={"dataframe_records": records})
    _, alone, _ = call(App(LIMITS, one), content={"dataframe_records": [texts]})
    assert status == 200
    law, none, news, empty = answer["predictions"]
    assert none["score"] is None and none["reason"] == "no route for its pair and domain"
    for row in (law, news, empty):
        assert row["score"] == alone["predictions"][0]["score"] and row["reason"] == ""
    assert 'qe_segments_unscored_total{reason="no route"} 1.0' in call(app, "/metrics")[1]


def test_each_route_answers_by_its_own_model(one: Service, demo_model: Path, other_model: Path) -> None:
    other = Service.load(other_model, LIMITS)
    routes = [Route({"pair": "en-es"}, "a"), Route({"pair": "en-de"}, "b")]
    app = App(LIMITS, RoutedService.from_routes("routes.yaml", routes, [one, other], LIMITS))
    line = (demo_model.parent / "data" / "new.tsv").read_text("utf-8").splitlines()[1]
    texts = dict(zip(("source", "target"), line.split("\t")[1:3], strict=True))
    records = [{**texts, "pair": pair} for pair in ("en-de", "en-es", "en-de")]
    rows = call(app, content={"dataframe_records": records})[1]["predictions"]
    own, others = (
        call(App(LIMITS, service), content={"dataframe_records": [texts]})[1]["predictions"][0]["score"]
        for service in (one, other)
    )
    assert [row["score"] for row in rows] == [others, own, others] and own != others
    told = call(app, "/version")[1]["routes"]
    assert told["pair=en-es"]["fingerprint"] != told["pair=en-de"]["fingerprint"]


def test_what_is_told_of_the_models(app: App, one: Service) -> None:
    status, about, _ = call(app, "/version")
    assert status == 200 and about["model"] == "routes.yaml"
    assert about["columns"] == ["source", "target", "pair", "domain"]
    assert set(about["routes"]) == {"pair=en-es, domain=law", "pair=en-es"}
    assert about["routes"]["pair=en-es"]["fingerprint"] == one.about["fingerprint"] != about["fingerprint"]
    status, answer, _ = call(app, content={"dataframe_records": [{"source": "a", "target": "b"}]})
    assert status == 422 and "needs the column 'pair'" in answer["error"]
    assert call(app, "/openapi.json")[0] == 200
