"""Another model in the place of one that is served: loaded and tried first, with a way back."""

import gc
import re
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Response

from taxocaps.errors import TaxoCapsError
from taxocaps.web import schemas
from taxocaps.web.observability import error_entry, write_entry
from taxocaps.web.responses import ApiError, json_response
from taxocaps.workflows.serve import ServedModel, arrange_queue, load_served

if TYPE_CHECKING:
    from taxocaps.web.api import Service

__all__ = ["Exchange", "Outcome", "Reloader", "reload_routes", "settle"]

_PLAIN_NAME = re.compile(r"[^./\\\0][^/\\\0]*")
"""No path, and nothing hidden."""


@dataclass(frozen=True)
class Exchange:
    """A request to replace a model.

    Attributes:
        model: The name of the model that is to be replaced; it stays the same.
        folder: The name of a folder beside the one that the server was started with; by default that one itself.
        is_back: Whether the model before the present one is wanted.
    """

    model: str
    folder: str | None = None
    is_back: bool = False


@dataclass(frozen=True)
class Outcome:
    """The result of a request to replace a model.

    Attributes:
        version: The version of the model that answers now.
        before: The version of the model that did before.
        status: 200, or the status of an error, after which the same model answers as before.
        message: What was wrong.
        field: With which part of the request.
    """

    version: str
    before: str
    status: int = 200
    message: str = ""
    field: str | None = None


class Reloader:
    """Exchanges models, one at a time; called by one thread, which may be another one than that of the server."""

    def __init__(self, models: MutableMapping[str, ServedModel], *, trust_code: bool = False) -> None:
        """Begin with the models that the server was started with.

        Args:
            models: The models by name, changed in one step once a new one answers.
            trust_code: Whether tokenizers that models name may be run.
        """
        self._models, self._trust_code = models, trust_code
        self._folders = {name: model.folder for name, model in models.items()}
        self._before: dict[str, ServedModel] = {}

    def run(self, wanted: Exchange) -> Outcome:
        """Replace a model; whatever goes wrong, the present one stays."""
        present = self._models[wanted.model]
        try:
            new = self._find_before(wanted.model) if wanted.is_back else self._load_from(wanted)
            arrange_queue(new)
        except Exception as error:
            told = self._describe(wanted.model, error)
            return Outcome(present.version, present.version, told.status, told.message, told.field)
        self._before[wanted.model] = present
        self._models[wanted.model] = new
        return Outcome(new.version, present.version)

    def _find_before(self, name: str) -> ServedModel:
        if name not in self._before:
            raise ApiError(409, "there is no model to go back to: none was replaced since the server was started")
        return self._before[name]

    def _load_from(self, wanted: Exchange) -> ServedModel:
        """Load a model from the folder that the server was started with, or from one beside it, nowhere else."""
        folder = first = self._folders[wanted.model]
        if wanted.folder is not None:
            folder = first.absolute().parent / wanted.folder
            beside = {first.absolute().parent.resolve(), first.resolve().parent}
            if not _PLAIN_NAME.fullmatch(wanted.folder) or folder.resolve().parent not in beside:
                raise ApiError(422, "must be the name of a folder beside that of the model", "folder")
        if not folder.is_dir():
            raise ApiError(404, "there is no folder of this name beside that of the model", "folder")
        feedback = self._models[wanted.model].feedback
        return load_served(wanted.model, folder, feedback, trust_code=self._trust_code)

    def _describe(self, name: str, error: Exception) -> ApiError:
        """The message for clients, without the paths of models on the server."""
        if isinstance(error, ApiError):
            return error
        if not isinstance(error, TaxoCapsError):
            write_entry(error_entry(error))
            return ApiError(500, "the model stays as it was; see the log of the server")
        message = " ".join(str(error).split())
        parents = {str(self._folders[name].parent), str(self._folders[name].absolute().parent)} - {"."}
        for parent in sorted(parents, key=len, reverse=True):  # a relative path may be the end of the absolute one
            message = message.replace(f"{parent}/", "")
        return ApiError(422, f"the model stays as it was: {message}")


def settle() -> None:
    """Have the garbage collector pass over all there is now, such as models and libraries.

    To look through it again and again took a fifth of the time of requests. It would also write into objects whose
    memory processes share that were forked.
    """
    gc.unfreeze()  # or a model that was replaced would never be found
    gc.collect()
    gc.freeze()


def reload_routes(service: "Service", errors: Callable[..., Any]) -> APIRouter:
    """The routes by which clients replace models.

    Args:
        service: Has the models.
        errors: Describes the errors of a route by their statuses.
    """
    router = APIRouter(prefix="/v1", tags=["models"])

    @router.post("/model/reload", response_model=schemas.ExchangeResponse, responses=errors(404))
    async def reload(body: schemas.ReloadRequest) -> Response:
        """Load a model anew, or from a folder beside its own; when it answers, it takes the place of the present one.

        No request is dropped. If the new model cannot be used, the present one stays, and the response says why.
        """
        return await _replaced(Exchange(service.model(body.model).name, body.folder))

    @router.post("/model/back", response_model=schemas.ExchangeResponse, responses=errors(404, 409))
    async def back(body: schemas.BackRequest) -> Response:
        """Go back to the model that was replaced last; once more, and it is undone."""
        return await _replaced(Exchange(service.model(body.model).name, is_back=True))

    async def _replaced(wanted: Exchange) -> Response:
        outcome = await service.replace(wanted)
        return json_response({"model": wanted.model, "version": outcome.version, "before": outcome.before})

    return router
