"""The routes of reviewers: a queue of documents, and what they say about them, kept in the store of the model."""

import asyncio
import dataclasses
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from fastapi import APIRouter, Query, Response

from taxocaps.errors import FileError
from taxocaps.feedback.store import Correction, Event, FeedbackStore, Status, Suggestion, Waiting
from taxocaps.web import schemas
from taxocaps.web.limits import ServeConfig, check_lengths
from taxocaps.web.observability import error_entry, write_entry
from taxocaps.web.responses import ApiError, json_bytes, json_response
from taxocaps.workflows.serve import RankJob, ServedModel, make_document

if TYPE_CHECKING:
    from taxocaps.web.api import Service

__all__ = ["FeedbackDesk", "feedback_routes"]

T = TypeVar("T")

_MOST_EVENTS = 1_000
_MOST_SHOWN = 100


class FeedbackDesk:
    """The store of a model, used by one thread of this process; other processes have desks of their own."""

    def __init__(self, path: Path, most_waiting: int) -> None:
        """Prepare to open a store when it is first needed.

        Args:
            path: The file.
            most_waiting: Requests that wait for the store; more are refused.
        """
        self._path, self._most = path, most_waiting
        self._thread = ThreadPoolExecutor(1, "taxocaps-feedback")
        self._store: FeedbackStore | None = None
        self._waiting = 0

    async def run(self, work: Callable[[FeedbackStore], T]) -> T:
        """Use the store.

        Raises:
            ApiError: With 503 if too many wait for it, or it cannot be written.
        """
        if self._waiting >= self._most:
            raise ApiError(503, "too many corrections at once; try again in a second", headers={"Retry-After": "1"})
        self._waiting += 1
        try:
            # What has begun is finished, also for a client that is gone: it may be on the disk already.
            return await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._thread, self._use, work))
        finally:
            self._waiting -= 1

    def _use(self, work: Callable[[FeedbackStore], T]) -> T:
        try:
            if self._store is None:
                self._store = FeedbackStore(self._path)
            return work(self._store)
        except FileError as error:  # its message has a path, which is not for clients
            write_entry(error_entry(error))
            raise ApiError(503, "the feedback cannot be stored; see the log of the server") from error

    def close(self) -> None:
        """Finish what has begun, and close the store."""
        self._thread.shutdown()
        if self._store is not None:
            self._store.close()


def feedback_routes(service: "Service", errors: Callable[..., Any]) -> APIRouter:
    """The routes.

    Args:
        service: Has the models and their desks.
        errors: Describes the errors of a route by their statuses.
    """
    router = APIRouter(prefix="/v1", tags=["feedback"])
    feedback_type = schemas.limited_feedback_request(service.config.documents)
    queue_type = schemas.limited_queue_request(service.config.documents)
    one_of = Query(description="The name of a model; by default the first.")

    @router.post("/feedback", response_model=schemas.FeedbackResponse, responses=errors(404, 409, 503))
    async def correct(body: feedback_type) -> Response:  # type: ignore[valid-type]
        """Accept, reject or add labels, say that a document is done, or undo; all corrections of a request or none.

        When this is answered, the corrections are on the disk. One with a key that is known is not added again.
        """
        model = service.model(body.model)  # type: ignore[attr-defined]
        corrections = _corrections(body.corrections, model, service.config)  # type: ignore[attr-defined]
        events = await service.desk(model).run(lambda store: store.add(corrections))
        return json_response({"model": model.name, "events": _plain(events)})

    @router.get("/feedback", response_model=schemas.FeedbackResponse, responses=errors(404, 503))
    async def events(
        model: Annotated[str | None, one_of] = None,
        after: Annotated[int, Query(ge=0, le=2**53, description="Only events with larger numbers.")] = 0,
        document: Annotated[str | None, Query(description="Only events of the documents with this id.")] = None,
        limit: Annotated[int, Query(ge=1, le=_MOST_EVENTS, description="How many events.")] = _MOST_EVENTS,
    ) -> Response:
        """What reviewers have said, in the order in which it came."""
        found = service.model(model)
        events = await service.desk(found).run(lambda store: store.events(after, limit, document))
        return json_response({"model": found.name, "events": _plain(events)})

    @router.get("/queue", response_model=schemas.QueueResponse, responses=errors(404, 503))
    async def queue(
        model: Annotated[str | None, one_of] = None,
        status: Annotated[Status, Query(description="Which documents: open, reviewed or all.")] = "open",
        offset: Annotated[int, Query(ge=0, le=2**53, description="How many are passed over.")] = 0,
        limit: Annotated[int, Query(ge=1, le=_MOST_SHOWN, description="How many documents.")] = 20,
    ) -> Response:
        """Documents to be reviewed, the most worthwhile first, with the labels that the model suggests."""
        found = service.model(model)

        def read(store: FeedbackStore) -> bytes:
            sizes, waiting = store.queue_sizes(), store.queue(status, offset, limit)
            content = {"model": found.name, "version": found.version, "sizes": sizes}
            return json_bytes({**content, "documents": [_waiting(one, found) for one in waiting]})

        return Response(await service.desk(found).run(read), media_type="application/json")

    @router.post("/queue", response_model=schemas.QueuedResponse, responses=errors(404, 503, 504))
    async def enqueue(body: queue_type) -> Response:  # type: ignore[valid-type]
        """Add documents to the queue, before those that are in it, in the order in which they are worth reviewing."""
        model, given = service.model(body.model), body.documents  # type: ignore[attr-defined]
        check_lengths([dict(one) for one in given], service.config)
        desk, most = service.desk(model), service.config.review
        sizes = await desk.run(lambda store: store.queue_sizes())
        if sizes["open"] + len(given) > most:
            message = f"at most {most:,} documents may wait for review, and {sizes['open']:,} do"
            raise ApiError(413, message, "documents")
        documents = tuple(make_document(dict(one)) for one in given)
        ranking = await service.rank(model, RankJob(documents))
        await desk.run(lambda store: store.enqueue(ranking))
        return json_response({"model": model.name, "documents": len(documents)})

    return router


def _corrections(
    given: Sequence[schemas.RequestCorrection], model: ServedModel, config: ServeConfig
) -> list[Correction]:
    """The corrections of a request, whose documents are not too long and whose labels are in the taxonomy."""
    found = []
    for index, one in enumerate(given):
        field = f"corrections[{index}]"
        suggested = {f"{field}.suggested[{position}]": label for position, label in enumerate(one.suggested or ())}
        for place, label in {f"{field}.label": one.label, **suggested}.items():
            if label is not None and label not in model.names:
                raise ApiError(422, "the taxonomy has no label with this id; see /v1/taxonomy", place)
        document = {} if one.document is None else dict(one.document)
        check_lengths([document], config, f"{field}.document.")
        found.append(
            Correction(
                one.key,
                one.verdict,
                one.reviewer,
                make_document(document),
                one.label,
                tuple(one.suggested or ()),
                one.undoes,
                model.version if one.version is None else one.version,
            )
        )
    return found


def _plain(events: Sequence[Event]) -> list[dict[str, Any]]:
    return [dataclasses.asdict(event) for event in events]


def _waiting(one: Waiting, model: ServedModel) -> dict[str, Any]:
    document = {"id": one.document.id, "text": one.document.text, "fields": one.document.kept or {}}
    return {
        "document": document,
        "is_reviewed": one.is_reviewed,
        "version": one.suggestion.version,
        "labels": list(one.suggestion.labels),
        "reason": _reason(one.suggestion, model),
        "events": _plain(one.events),
    }


def _reason(suggestion: Suggestion, model: ServedModel) -> dict[str, Any]:
    label = suggestion.label
    name = None if label is None else model.names.get(label, label)
    return {"label": label, "name": name, "score": round(suggestion.score, 6), "doubt": round(suggestion.doubt, 3)}
