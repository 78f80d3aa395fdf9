"""How much a server takes on, and how long it waits."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, ClassVar

from taxocaps.config import Between, Config, parse_override, read_mapping, resolve
from taxocaps.errors import ConfigError
from taxocaps.web.answers import Refused

__all__ = ["ServeConfig", "check_lengths", "resolve_serve_config"]


class ServeConfig(Config):
    """The limits of a server.

    Attributes:
        body_bytes: The largest body of a request.
        documents: The most documents of a request.
        text_length: The most characters of a document; tokens count with a space each.
        timeout: Seconds until a request that was read must be answered.
        read_timeout: Seconds for a request to arrive, and for an idle connection to stay open.
        queue: The most documents that wait for a model.
        batch: The most documents that are labelled at once.
        batch_wait: Seconds that a document waits for others to be labelled with.
        explain_words: The most words of a document that is explained: each distinct one costs a pass of the network.
        explain_labels: The most labels that a request may ask to explain.
    """

    section: ClassVar[str] = "serve"

    body_bytes: Annotated[int, Between(1, 2**31 - 1)] = 4_000_000
    documents: Annotated[int, Between(1, 1_000_000)] = 256
    text_length: Annotated[int, Between(1, 2**31 - 1)] = 200_000
    timeout: Annotated[float, Between(0.001, 86_400)] = 30.0
    read_timeout: Annotated[float, Between(0.1, 86_400)] = 10.0
    queue: Annotated[int, Between(1, 1_000_000)] = 1_024
    batch: Annotated[int, Between(1, 100_000)] = 32
    batch_wait: Annotated[float, Between(0, 10)] = 0.001
    explain_words: Annotated[int, Between(1, 20_000)] = 2_000
    explain_labels: Annotated[int, Between(1, 1_000_000)] = 100

    def model_post_init(self, context: object, /) -> None:
        """Refuse a queue into which an allowed request can never fit."""
        if self.queue < self.documents:
            raise ConfigError(f"serve.queue must be at least serve.documents, {self.documents}; got {self.queue}")


class _Sections(Config):
    serve: ServeConfig = field(default_factory=ServeConfig)


def resolve_serve_config(file: Path | None = None, overrides: Iterable[str] = ()) -> ServeConfig:
    """The defaults, then the section `serve` of a YAML or TOML file, then overrides.

    Args:
        file: A configuration file; its other sections are those of other commands.
        overrides: Texts such as `serve.batch=64`.
    """
    content = read_mapping(file) if file else {}
    try:
        from_file = {key: value for key, value in content.items() if key == "serve"}
        resolve(_Sections, from_file)
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from error
    return resolve(_Sections, from_file, *map(parse_override, overrides)).serve


def check_lengths(documents: list[dict[str, Any]], config: ServeConfig, *, single: bool = False) -> None:
    """Refuse with 413 documents that are longer than the server takes.

    Args:
        documents: Each with `text` or `tokens`.
        config: The limits.
        single: Whether the one document came as the field `text` of the request.
    """
    for place, document in enumerate(documents):
        name, length = _length(document)
        if length > config.text_length:
            message = f"a document has at most {config.text_length:,} characters; got {length:,}"
            raise Refused(413, message, name if single else f"documents[{place}].{name}")


def _length(document: Mapping[str, Any]) -> tuple[str, int]:
    tokens = document.get("tokens")
    if tokens is None:
        return "text", len(document.get("text") or "")
    return "tokens", sum(map(len, tokens)) + len(tokens)
