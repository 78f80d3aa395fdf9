"""The routes of the server, and how its parts are put together."""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import lru_cache, partial
from typing import Annotated, Any
from weakref import WeakKeyDictionary

from fastapi import APIRouter, FastAPI, Query, Request, Response
from pydantic import ValidationError
from pydantic_core import to_json
from starlette.concurrency import run_in_threadpool
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from taxocaps._version import __version__
from taxocaps.errors import CorpusError, TaxoCapsError
from taxocaps.explanations.explanation import Explanation
from taxocaps.results import Prediction, TaxonomyView, plain
from taxocaps.web import schemas
from taxocaps.web.batching import Batcher
from taxocaps.web.feedback import FeedbackDesk, feedback_routes
from taxocaps.web.limits import BodyMiddleware, HostMiddleware, ServeConfig, TokenMiddleware, check_lengths, replay
from taxocaps.web.observability import Log, Metrics, ObservabilityMiddleware
from taxocaps.web.pages import PAGE_PATHS, docs_page, page_routes
from taxocaps.web.reloading import Exchange, Outcome, Reloader, reload_routes, settle
from taxocaps.web.responses import ApiError, add_error_handlers, as_api_error, error_response, json_bytes, json_response
from taxocaps.workflows.serve import (
    ExplainJob,
    Ranking,
    RankJob,
    ServedModel,
    make_document,
    make_jobs,
)
from taxocaps.workflows.uploads import NamedText, Upload, read_upload

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
        examples: Texts to try the models with.
        metrics: The metrics.
        app: The ASGI application.
        draining: Whether the server is about to stop: requests that were accepted are finished, others refused.
        hosts: The names that the header Host may have; none allows any.
        reloader: Replaces models.
        exchange: Has the reloader replace a model for all workers; set by them.
        retiring: Whether other workers have taken over: every connection is closed after its next response.
    """

    def __init__(
        self,
        models: Mapping[str, ServedModel],
        config: ServeConfig | None = None,
        *,
        token: str | None = None,
        log: Log | None = None,
        workers: int = 1,
        trust_code: bool = False,
        examples: Sequence[NamedText] = (),
    ) -> None:
        """Put the parts together.

        Args:
            models: At least one.
            config: The limits.
            token: The bearer token that clients must send, if any.
            log: Where requests are logged, if they are.
            workers: The number of processes that will serve, each with a copy of this object.
            trust_code: Whether models that are loaded later may run tokenizers of their own.
            examples: Texts that the page offers to try the models with.
        """
        self.models, self.config, self.examples = dict(models), config or ServeConfig(), tuple(examples)
        self.draining = self.retiring = False
        self._log = log
        self.hosts: frozenset[str] = frozenset()
        self.reloader = Reloader(self.models, trust_code=trust_code)
        self.exchange: Callable[[Exchange], Awaitable[Outcome]] = self._exchange_here
        self._exchanging = asyncio.Lock()
        self._batchers: dict[ServedModel, Batcher] = {}
        self._desks = {
            name: FeedbackDesk(model.feedback, self.config.queue)
            for name, model in self.models.items()
            if model.feedback is not None
        }
        routers = (
            _model_routes(self),
            reload_routes(self, _errors),
            feedback_routes(self, _errors),
            _monitoring_routes(self),
        )
        api = self._api(routers)
        known = {route.path for router in (api, *routers) for route in router.routes if isinstance(route, Route)}
        self.metrics = Metrics(sorted(known), self.models, 2 * workers)  # new workers may take over from others
        inner: ASGIApp = BodyMiddleware(_PredictShortcut(api, self), self.config)
        if token is not None:
            inner = TokenMiddleware(inner, token, OPEN_PATHS)
        inner = HostMiddleware(inner, lambda: self.hosts)
        inner = _RetiringMiddleware(inner, self)
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

    def desk(self, model: ServedModel) -> FeedbackDesk:
        """Where corrections of a model are stored.

        Raises:
            ApiError: With 404, if they are not.
        """
        if model.name not in self._desks:
            raise ApiError(404, "this server keeps no feedback for the model", "model")
        return self._desks[model.name]

    async def predict(self, request: schemas.PredictRequest) -> Response:
        """Label documents, together with those of other clients."""
        model, documents = self.model(request.model), request.as_documents()
        check_lengths(documents, self.config, "" if request.documents is None else "documents[{}].")
        self._refuse_if_draining()
        jobs = make_jobs(documents, request.options, self.config.batch)
        predictions = await self._batcher(model).label(jobs)
        if len(predictions) <= _FEW:
            return _prediction_response(model, predictions)
        return await run_in_threadpool(_prediction_response, model, predictions)  # a large response takes time

    async def explain(self, request: schemas.ExplainRequest) -> Response:
        """Explain why a document gets its labels."""
        model, field = self.model(request.model), "text" if request.tokens is None else "tokens"
        check_lengths([dict(request)], self.config, "")
        for index, label in enumerate(request.labels or ()):
            if label not in model.labels:
                raise ApiError(422, "the model has no label of this name; see /v1/taxonomy", f"labels[{index}]")
        self._refuse_if_draining()
        job = ExplainJob(make_document(dict(request)), request.options, self.config.explain_words)
        try:
            explanation = await self._batcher(model).explain(job)
        except CorpusError as error:  # it has too many words
            raise ApiError(413, str(error), field) from error
        return await run_in_threadpool(_explanation_response, explanation)

    async def rank(self, model: ServedModel, job: RankJob) -> Ranking:
        """In which order documents are worth reviewing."""
        self._refuse_if_draining()
        return await self._batcher(model).rank(job)

    async def replace(self, wanted: Exchange) -> Outcome:
        """Have another model answer in the place of one; requests that were accepted are answered by the old one.

        Raises:
            ApiError: If that was not possible; the old model stays.
        """
        outcome = await self.exchange(wanted)
        if outcome.status != 200:
            raise ApiError(outcome.status, outcome.message, outcome.field)
        return outcome

    def log_exchange(self, wanted: Exchange, outcome: Outcome) -> None:
        """Say in the log which model answers now, or why that is the same as before."""
        if self._log is not None:
            is_new = outcome.status == 200
            message = f"version {outcome.version} replaces {outcome.before}" if is_new else outcome.message
            self._log({"level": "info" if is_new else "error", "message": f"{wanted.model}: {message}"})

    async def reload_all(self) -> None:
        """Load all models anew; the log says what became of it."""
        for name in self.models:
            with contextlib.suppress(ApiError):
                await self.replace(Exchange(name))

    async def _exchange_here(self, wanted: Exchange) -> Outcome:
        """Replace a model of this process, which is the only one."""
        async with self._exchanging:
            outcome = await run_in_threadpool(self.reloader.run, wanted)
            self.log_exchange(wanted, outcome)
            for model in set(self._batchers) - set(self.models.values()):
                await self._batchers.pop(model).close()
            if outcome.status == 200:
                await run_in_threadpool(settle)
        return outcome

    def _batcher(self, model: ServedModel) -> Batcher:
        """The thread of a model, and the jobs that wait for it."""
        if model not in self._batchers:
            observers = (partial(one, model.name) for one in (self.metrics.observe_batch, self.metrics.set_queue))
            self._batchers[model] = Batcher(model.answer, self.config, *observers)
        return self._batchers[model]

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

    @contextlib.asynccontextmanager
    async def _lifespan(self, api: FastAPI) -> AsyncIterator[None]:
        yield
        for batcher in self._batchers.values():
            await batcher.close()
        for desk in self._desks.values():
            desk.close()


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


class _RetiringMiddleware:
    """Has clients of a worker that others have replaced connect anew, to one of those, after their next response."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_last(message: Message) -> None:
            if message["type"] == "http.response.start" and self._service.retiring:
                message = {**message, "headers": [*message.get("headers", ()), (b"connection", b"close")]}
            await send(message)

        await self._app(scope, receive, send_last)


def _prediction_response(model: ServedModel, predictions: Sequence[Prediction]) -> Response:
    """As JSON, document by document: to serialise all at once would block every other thread."""
    found = b",".join(to_json(prediction.as_dict()) for prediction in predictions)
    names = _quoted(model.name), _quoted(model.version)
    body = b'{"model":%b,"version":%b,"predictions":[%b]}' % (*names, found)
    return Response(body, media_type="application/json")


@lru_cache(maxsize=64)
def _quoted(name: str) -> bytes:
    return json_bytes(name)


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
    taxonomies: WeakKeyDictionary[ServedModel, bytes] = WeakKeyDictionary()  # large ones take long to write
    reading = asyncio.Lock()
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

    @router.post("/documents", response_model=Upload, responses=_errors())
    async def documents(body: schemas.FileRequest) -> Response:
        """The documents of a file (JSONL, CSV, TSV, XLSX, PDF, DOCX, HTML or text), to be labelled then."""
        async with reading:  # one file at a time
            return await run_in_threadpool(_upload_response, body, service)

    @router.get("/taxonomy", response_model=TaxonomyView, responses=_errors(404))
    async def taxonomy(
        model: Annotated[str | None, Query(description="The name of a model; by default the first.")] = None,
    ) -> Response:
        """The taxonomy of a model: labels, their parents and their thresholds."""
        found = service.model(model)
        if found not in taxonomies:
            taxonomies[found] = await run_in_threadpool(lambda: json_bytes(dataclasses.asdict(found.taxonomy)))
        return Response(taxonomies[found], media_type="application/json")

    @router.get("/models", response_model=schemas.ModelsResponse, responses=_errors())
    async def models() -> Response:
        """All models that are served with their metrics, the limits of requests, and texts to try."""
        return Response(_models_json(service), media_type="application/json")

    return router


def _upload_response(request: schemas.FileRequest, service: Service) -> Response:
    found = read_upload(
        request.content,
        request.name,
        text_fields=request.text_fields,
        id_field=request.id_field,
        corpus=service.model(None).corpus,
        letters=service.config.body_bytes,
    )
    return json_response(plain(found))


def _models_json(service: Service) -> bytes:
    cards = [plain(model.card) for model in service.models.values()]
    limits = {name: getattr(service.config, name) for name in schemas.RequestLimits.model_fields}
    examples = plain(service.examples)
    found = {"default": service.model(None).name, "models": cards, "limits": limits, "examples": examples}
    return json_bytes(found)


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
