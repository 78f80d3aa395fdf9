"""The paths of the server, and how its parts are put together."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Query, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.routing import Route
from starlette.types import ASGIApp

from taxocaps._version import __version__
from taxocaps.errors import CorpusError
from taxocaps.web import schemas
from taxocaps.web.answers import Refused, answer_errors, json_bytes, json_response
from taxocaps.web.batching import Batcher
from taxocaps.web.body import BodyReader
from taxocaps.web.docs_page import docs_page
from taxocaps.web.host import HostGate
from taxocaps.web.limits import ServeConfig, check_lengths
from taxocaps.web.log import Log
from taxocaps.web.metrics import Metrics
from taxocaps.web.observed import Observed
from taxocaps.web.page_files import page_routes
from taxocaps.web.token import TokenGate
from taxocaps.workflows.predict import Choice, Prediction
from taxocaps.workflows.serve import ExplainJob, Explanation, ServedModel, make_document, make_jobs

__all__ = ["Service"]

_FEW = 8
_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


class Service:
    """Models behind HTTP.

    Attributes:
        models: By name; the first is the default.
        config: The limits.
        metrics: Counts.
        app: The ASGI application.
        draining: Whether the server is about to stop: what was accepted is finished, no more is.
        hosts: The names that a request may call the server by; none if any will do.
    """

    def __init__(
        self,
        models: Mapping[str, ServedModel],
        config: ServeConfig | None = None,
        *,
        token: str | None = None,
        log: Log | None = None,
    ) -> None:
        """Put the parts together.

        Args:
            models: At least one.
            config: The limits.
            token: What clients must know, if anything.
            log: Where accesses are told, if they are.
        """
        self.models, self.config, self.metrics = dict(models), config or ServeConfig(), Metrics()
        self.draining = False
        self.hosts: frozenset[str] = frozenset()
        self._batchers: dict[str, Batcher] = {}
        routers = (_labels(self), _upkeep(self))
        api = self._api(routers)
        inner: ASGIApp = BodyReader(api, self.config)
        if token is not None:
            inner = TokenGate(inner, token)
        inner = HostGate(inner, lambda: self.hosts)
        known = [route.path for router in (api, *routers) for route in router.routes if isinstance(route, Route)]
        self.app = Observed(inner, self.metrics, known, log)

    def model(self, name: str | None) -> ServedModel:
        """A model by its name; without a name, the first.

        Raises:
            Refused: With 404, if there is none of this name.
        """
        if name is None:
            return next(iter(self.models.values()))
        if name not in self.models:
            raise Refused(404, f"no model of this name; there are: {', '.join(self.models)}", "model")
        return self.models[name]

    async def predict(self, asked: schemas.PredictRequest) -> Response:
        """Label documents, together with those of other clients."""
        model, documents = self.model(asked.model), asked.as_documents()
        check_lengths(documents, self.config, single=asked.documents is None)
        self._refuse_if_draining()
        choice = Choice(asked.top_k, asked.threshold, asked.at_least, asked.hierarchy)
        jobs = make_jobs(documents, choice, self.config.batch)
        predictions = await self._batchers[model.name].label(jobs)
        if len(predictions) <= _FEW:
            return _answer(model.name, predictions)
        return await run_in_threadpool(_answer, model.name, predictions)  # a large answer takes its time

    async def explain(self, asked: schemas.ExplainRequest) -> Response:
        """Say why a document gets its labels."""
        model, field = self.model(asked.model), "text" if asked.tokens is None else "tokens"
        check_lengths([dict(asked)], self.config, single=True)
        for place, label in enumerate(asked.labels or ()):
            if label not in model.labels:
                raise Refused(422, "the model gives no label of this name; /v1/taxonomy has all", f"labels[{place}]")
        self._refuse_if_draining()
        document, labels = make_document(dict(asked)), tuple(asked.labels or ())
        job = ExplainJob(document, labels, asked.near_misses, self.config.explain_words)
        try:
            found = await self._batchers[model.name].explain(job)
        except CorpusError as error:  # it has too many words
            raise Refused(413, str(error), field) from error
        return await run_in_threadpool(_explained, found)

    def _refuse_if_draining(self) -> None:
        if self.draining:
            raise Refused(503, "the server is stopping", headers={"Retry-After": "5", "Connection": "close"})

    def _api(self, routers: Sequence[APIRouter]) -> FastAPI:
        api = FastAPI(
            title="taxocaps",
            version=__version__,
            description="Labels out of a taxonomy for documents.",
            docs_url=None,  # FastAPI's own pages load scripts from elsewhere
            redoc_url=None,
            redirect_slashes=False,
            lifespan=self._lifespan,
        )
        answer_errors(api)
        for router in routers:
            api.include_router(router)
        api.router.routes.extend(page_routes())

        @api.get("/docs", include_in_schema=False)
        async def docs() -> Response:
            return docs_page(api.openapi())

        return api

    @asynccontextmanager
    async def _lifespan(self, api: FastAPI) -> AsyncIterator[None]:
        for name, model in self.models.items():
            batcher = Batcher(model.answer, self.config, self.metrics.batches(name))
            self.metrics.watch_queue(name, batcher.waiting)
            self._batchers[name] = batcher
        yield
        for batcher in self._batchers.values():
            await run_in_threadpool(batcher.close)


def _answer(model: str, predictions: Sequence[Prediction]) -> Response:
    """As JSON, document by document: to write one text of all would keep every other thread waiting."""
    found = b",".join(json_bytes(prediction.as_dict()) for prediction in predictions)
    body = b'{"model":%b,"predictions":[%b]}' % (json_bytes(model), found)
    return Response(body, media_type="application/json")


def _explained(explanation: Explanation) -> Response:
    return json_response(dataclasses.asdict(explanation))


async def _unless_gone(request: Request, work: Coroutine[Any, Any, Response]) -> Response:
    """An answer that takes its time; it is given up when nobody waits for it any more."""
    answer, gone = asyncio.ensure_future(work), asyncio.ensure_future(request.receive())  # next comes the disconnect
    try:
        await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise Refused(499, "the client has gone")
        return answer.result()
    finally:
        answer.cancel()
        gone.cancel()


def _refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: {"model": schemas.ErrorAnswer} for status in (400, 401, 408, 413, 415, 421, 422, 500, *statuses)}


def _labels(service: Service) -> APIRouter:
    """What the models know."""
    router = APIRouter(prefix="/v1", tags=["labels"])
    asked_type = schemas.limited_request(service.config.documents)
    explained_type = schemas.limited_explain_request(service.config.explain_labels)

    @router.post("/predict", response_model=schemas.PredictAnswer, responses=_refusals(404, 503, 504))
    async def predict(asked: asked_type, request: Request) -> Response:  # type: ignore[valid-type]
        """Give documents labels, the same as the command `taxocaps predict` gives."""
        request.state.documents = len(asked.as_documents())  # type: ignore[attr-defined]
        return await service.predict(asked)

    @router.post("/explain", response_model=Explanation, responses=_refusals(404, 503, 504))
    async def explain(asked: explained_type, request: Request) -> Response:  # type: ignore[valid-type]
        """Say why a document gets its labels, the same as the command `taxocaps explain --json` says."""
        request.state.documents = 1
        return await _unless_gone(request, service.explain(asked))

    @router.get("/taxonomy", response_model=schemas.TaxonomyAnswer, responses=_refusals(404))
    async def taxonomy(
        model: Annotated[str | None, Query(description="The name of a model; without one, the first.")] = None,
    ) -> Response:
        """The labels of a model, their places in the taxonomy and their thresholds."""
        return json_response(service.model(model).taxonomy)

    @router.get("/model", response_model=schemas.ModelsAnswer, responses=_refusals())
    async def models() -> Response:
        """All models that are served, what they are and how good; and what fits into a request."""
        cards = [model.card for model in service.models.values()]
        limits = {name: getattr(service.config, name) for name in schemas.LimitsSaid.model_fields}
        return json_response({"default": service.model(None).name, "models": cards, "limits": limits})

    return router


def _upkeep(service: Service) -> APIRouter:
    """What those who run the server want to know."""
    router = APIRouter(tags=["upkeep"])

    @router.get(
        "/healthz", response_model=schemas.HealthAnswer, responses=_refusals() | {503: {"model": schemas.HealthAnswer}}
    )
    async def health() -> Response:
        """Whether requests are taken: ready, or draining with status 503. Never wants a token."""
        status = "draining" if service.draining else "ready"
        return json_response({"status": status}, 503 if service.draining else 200)

    @router.get("/metrics", response_class=Response, responses=_refusals() | {200: {"content": {"text/plain": {}}}})
    async def metrics() -> Response:
        """Counts for Prometheus."""
        return Response(service.metrics.text(), media_type=_PROMETHEUS)

    return router
