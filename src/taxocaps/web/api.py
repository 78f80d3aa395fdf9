"""The routes of the server, and how its parts are put together."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Query, Request, Response
from pydantic import ValidationError
from pydantic_core import to_json
from starlette.concurrency import run_in_threadpool
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from taxocaps._version import __version__
from taxocaps.errors import CorpusError, TaxoCapsError
from taxocaps.explanations.explanation import Explanation
from taxocaps.results import Prediction, TaxonomyView, plain
from taxocaps.web import schemas
from taxocaps.web.batching import Batcher
from taxocaps.web.limits import BodyMiddleware, HostMiddleware, ServeConfig, TokenMiddleware, check_lengths, replay
from taxocaps.web.observability import Log, Metrics, ObservabilityMiddleware
from taxocaps.web.pages import PAGE_PATHS, docs_page, page_routes
from taxocaps.web.responses import ApiError, add_error_handlers, as_api_error, error_response, json_bytes, json_response
from taxocaps.workflows.serve import ExplainJob, ServedModel, make_document, make_jobs

__all__ = ["OPEN_PATHS", "Service"]

OPEN_PATHS = PAGE_PATHS | {"/healthz", "/docs"}
"""Paths without a token: the page asks for the token itself, and links cannot carry one."""

_PREDICT = "/v1/predict"
_FEW = 8
_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


class Service:
    """Models behind HTTP.

    Attributes:
        models: By name; the first is the default.
        config: The limits.
        metrics: The metrics.
        app: The ASGI application.
        draining: Whether the server is about to stop: requests that were accepted are finished, others refused.
        hosts: The names that the header Host may have; none allows any.
    """

    def __init__(
        self,
        models: Mapping[str, ServedModel],
        config: ServeConfig | None = None,
        *,
        token: str | None = None,
        log: Log | None = None,
        workers: int = 1,
    ) -> None:
        """Put the parts together.

        Args:
            models: At least one.
            config: The limits.
            token: The bearer token that clients must send, if any.
            log: Where requests are logged, if they are.
            workers: The number of processes that will serve, each with a copy of this object.
        """
        self.models, self.config = dict(models), config or ServeConfig()
        self.draining = False
        self.hosts: frozenset[str] = frozenset()
        self._batchers: dict[str, Batcher] = {}
        routers = (_model_routes(self), _monitoring_routes(self))
        api = self._api(routers)
        known = {route.path for router in (api, *routers) for route in router.routes if isinstance(route, Route)}
        self.metrics = Metrics(sorted(known), self.models, workers)
        inner: ASGIApp = BodyMiddleware(_PredictShortcut(api, self), self.config)
        if token is not None:
            inner = TokenMiddleware(inner, token, OPEN_PATHS)
        inner = HostMiddleware(inner, lambda: self.hosts)
        self.app = ObservabilityMiddleware(inner, self.metrics, log)

    def model(self, name: str | None) -> ServedModel:
        """A model by its name; by default the first.

        Raises:
            ApiError: With 404, if there is none of this name.
        """
        if name is None:
            return next(iter(self.models.values()))
        if name not in self.models:
            raise ApiError(404, f"no model has this name; there are: {', '.join(self.models)}", "model")
        return self.models[name]

    async def predict(self, request: schemas.PredictRequest) -> Response:
        """Label documents, together with those of other clients."""
        model, documents = self.model(request.model), request.as_documents()
        check_lengths(documents, self.config, single=request.documents is None)
        self._refuse_if_draining()
        jobs = make_jobs(documents, request.options, self.config.batch)
        predictions = await self._batchers[model.name].label(jobs)
        if len(predictions) <= _FEW:
            return _prediction_response(model.name, predictions)
        return await run_in_threadpool(_prediction_response, model.name, predictions)  # a large response takes time

    async def explain(self, request: schemas.ExplainRequest) -> Response:
        """Explain why a document gets its labels."""
        model, field = self.model(request.model), "text" if request.tokens is None else "tokens"
        check_lengths([dict(request)], self.config, single=True)
        for index, label in enumerate(request.labels or ()):
            if label not in model.labels:
                raise ApiError(422, "the model has no label of this name; see /v1/taxonomy", f"labels[{index}]")
        self._refuse_if_draining()
        job = ExplainJob(make_document(dict(request)), request.options, self.config.explain_words)
        try:
            explanation = await self._batchers[model.name].explain(job)
        except CorpusError as error:  # it has too many words
            raise ApiError(413, str(error), field) from error
        return await run_in_threadpool(_explanation_response, explanation)

    def _refuse_if_draining(self) -> None:
        if self.draining:
            raise ApiError(503, "the server is stopping", headers={"Retry-After": "5", "Connection": "close"})

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
        add_error_handlers(api)
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
            observers = (partial(one, name) for one in (self.metrics.observe_batch, self.metrics.set_queue))
            self._batchers[name] = Batcher(model.answer, self.config, *observers)
        yield
        for batcher in self._batchers.values():
            await batcher.close()


class _PredictShortcut:
    """Answers valid requests for labels, the only ones that come by the thousand, without the layers of FastAPI.

    These take about as long as a linear model. Everything else goes on to FastAPI, which also says what is wrong with
    a request that is not valid.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service
        self._kind = schemas.limited_predict_request(service.config.documents)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != _PREDICT or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        message = await receive()
        try:
            request = self._kind.model_validate_json(message["body"])
        except ValidationError:
            await self._app(scope, replay(message, receive), send)
            return
        try:
            scope["state"]["documents"] = request.size
            response = await self._service.predict(request)
        except (ApiError, TaxoCapsError) as error:
            response = error_response(as_api_error(error))
        await response(scope, receive, send)


def _prediction_response(model: str, predictions: Sequence[Prediction]) -> Response:
    """As JSON, document by document: to serialise all at once would block every other thread."""
    found = b",".join(to_json(prediction.as_dict()) for prediction in predictions)
    body = b'{"model":%b,"predictions":[%b]}' % (json_bytes(model), found)
    return Response(body, media_type="application/json")


def _explanation_response(explanation: Explanation) -> Response:
    return json_response(dataclasses.asdict(explanation))


async def _unless_disconnected(request: Request, work: Coroutine[Any, Any, Response]) -> Response:
    """A response that takes time; the work is cancelled when the client disconnects."""
    response = asyncio.ensure_future(work)
    disconnect = asyncio.ensure_future(request.receive())  # the body has been read: the next message is the disconnect
    try:
        await asyncio.wait({response, disconnect}, return_when=asyncio.FIRST_COMPLETED)
        if not response.done():
            raise ApiError(499, "the client disconnected")
        return response.result()
    finally:
        response.cancel()
        disconnect.cancel()


def _errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: {"model": schemas.ErrorResponse} for status in (400, 401, 408, 413, 415, 421, 422, 500, *statuses)}


def _model_routes(service: Service) -> APIRouter:
    router = APIRouter(prefix="/v1", tags=["models"])
    listing = _models_json(service)
    taxonomies = {name: json_bytes(dataclasses.asdict(model.taxonomy)) for name, model in service.models.items()}
    predict_type = schemas.limited_predict_request(service.config.documents)
    explain_type = schemas.limited_explain_request(service.config.explain_labels)

    @router.post("/predict", response_model=schemas.PredictResponse, responses=_errors(404, 503, 504))
    async def predict(body: predict_type, request: Request) -> Response:  # type: ignore[valid-type]
        """Label documents, with the same results as the command `taxocaps predict`."""
        request.state.documents = body.size  # type: ignore[attr-defined]
        return await service.predict(body)

    @router.post("/explain", response_model=Explanation, responses=_errors(404, 503, 504))
    async def explain(body: explain_type, request: Request) -> Response:  # type: ignore[valid-type]
        """Explain why a document gets its labels, with the same result as the command `taxocaps explain --json`."""
        request.state.documents = 1
        return await _unless_disconnected(request, service.explain(body))

    @router.get("/taxonomy", response_model=TaxonomyView, responses=_errors(404))
    async def taxonomy(
        model: Annotated[str | None, Query(description="The name of a model; by default the first.")] = None,
    ) -> Response:
        """The taxonomy of a model: labels, their parents and their thresholds."""
        return Response(taxonomies[service.model(model).name], media_type="application/json")

    @router.get("/models", response_model=schemas.ModelsResponse, responses=_errors())
    async def models() -> Response:
        """All models that are served with their metrics, and the limits of requests."""
        return Response(listing, media_type="application/json")

    return router


def _models_json(service: Service) -> bytes:
    cards = [plain(model.card) for model in service.models.values()]
    limits = {name: getattr(service.config, name) for name in schemas.RequestLimits.model_fields}
    return json_bytes({"default": service.model(None).name, "models": cards, "limits": limits})


def _monitoring_routes(service: Service) -> APIRouter:
    router = APIRouter(tags=["monitoring"])

    @router.get(
        "/healthz",
        response_model=schemas.HealthResponse,
        responses=_errors() | {503: {"model": schemas.HealthResponse}},
    )
    async def health() -> Response:
        """Whether requests are accepted: ready, or draining with status 503. Needs no token."""
        status = "draining" if service.draining else "ready"
        return json_response({"status": status}, 503 if service.draining else 200)

    @router.get("/metrics", response_class=Response, responses=_errors() | {200: {"content": {"text/plain": {}}}})
    async def metrics() -> Response:
        """Metrics for Prometheus."""
        return Response(service.metrics.text(), media_type=_PROMETHEUS)

    return router
