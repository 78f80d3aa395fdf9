"""`taxocaps serve`: models behind HTTP."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from taxocaps.cli.console import tell
from taxocaps.cli.options import Quiet, TrustCode, existing
from taxocaps.registry import import_extra

__all__ = ["serve"]


def serve(
    models: Annotated[list[Path], typer.Argument(help="The folders of models; the first is the default.")],
    host: Annotated[str, typer.Option(help="Where to listen; 0.0.0.0 lets other machines in.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes one that is free.")] = 8000,
    workers: Annotated[
        int, typer.Option(min=1, max=1_024, help="Processes that share the models, for more requests at once.")
    ] = 1,
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A file with the token that clients must send; or set TAXOCAPS_TOKEN."),
    ] = None,
    queue: Annotated[
        Path | None,
        typer.Option(metavar="FILE", callback=existing, help="Documents that reviewers are to look at on the page."),
    ] = None,
    examples: Annotated[
        Path | None,
        typer.Option(metavar="FILE", callback=existing, help="Documents; the page offers the first to try the model."),
    ] = None,
    feedback: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Where corrections are stored. Default: MODEL.feedback.sqlite, beside MODEL."
        ),
    ] = None,
    trust_code: TrustCode = False,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="A YAML or TOML file with a section 'serve'.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Set a limit, such as serve.timeout=10; may be repeated."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Label documents over HTTP, and explain their labels.

    The address opens a page for people, who can also review documents and correct their labels. For programs: POST
    /v1/predict takes a text or many, POST /v1/explain one; /v1/queue, /v1/feedback, /v1/model/reload; GET /v1/models,
    /v1/taxonomy, /healthz, /metrics, /docs. Each request becomes one line of JSON on standard error. Ctrl-C or SIGTERM
    stops the server when all that it accepted is answered; SIGHUP loads the models anew.
    """
    for library in ("fastapi", "uvicorn", "httptools", "prometheus_client"):
        import_extra(library, "serving models")
    from taxocaps.web.api import Service
    from taxocaps.web.limits import find_token, resolve_corpus_config, resolve_serve_config
    from taxocaps.web.observability import write_entry
    from taxocaps.web.reloading import settle
    from taxocaps.web.server import Server, address, bind, bind_shared, is_loopback
    from taxocaps.web.workers import Workers, prepare_forking
    from taxocaps.workflows.serve import arrange_queue, load_models, read_examples, read_queue
    from taxocaps.workflows.trained_on import read_like

    if workers > 1:
        prepare_forking()
    _check_single(models, queue, feedback)
    limits, token = resolve_serve_config(config, settings or ()), find_token(token_file)
    corpus = read_like(models[0], resolve_corpus_config(config, settings or ()))
    documents = read_queue(queue, corpus, limits.review) if queue else []
    tried = read_examples(examples, corpus) if examples else []
    with ExitStack() as stack:  # a port in use is told before models are loaded
        listeners = [*map(stack.enter_context, bind_shared(host, port, workers) if workers > 1 else [bind(host, port)])]
        where = address(listeners[0])
        if token is None and not is_loopback(listeners[0]):
            tell(f"warning: whoever can reach {where} can use it; set a token with --token-file")
        served = load_models(models, trust_code=trust_code, feedback=feedback)
        for model in served.values():
            arrange_queue(model, documents)
        log = None if quiet else write_entry
        service = Service(served, limits, token=token, log=log, workers=workers, trust_code=trust_code, examples=tried)

        def announce() -> None:
            if not quiet:
                tell(f"serving {', '.join(served)} at {where}; Ctrl-C stops")

        if workers > 1:
            Workers(service, listeners, announce).run()
        else:
            settle()
            Server(service, announce).serve_on(listeners[0])


def _check_single(models: list[Path], *paths: Path | None) -> None:
    """A queue, and a file for corrections, belong to one model."""
    if len(models) > 1 and any(paths):
        raise typer.BadParameter("--queue and --feedback are for one model; start a server for each model with a queue")
