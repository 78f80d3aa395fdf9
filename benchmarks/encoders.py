"""What a pre-trained encoder adds to networks, and what it costs: the same models without it, frozen and tuned.

    python benchmarks/encoders.py DATA ENCODER                        # a folder of data, and one of an encoder
    python benchmarks/encoders.py DATA ENCODER --models XML-CNN --ways none frozen tuned
    python benchmarks/encoders.py DATA ENCODER --set encoder.window=128

DATA has train.jsonl, test.jsonl, taxonomy.tsv and perhaps dev.jsonl, as `taxocaps data` writes them; ENCODER is a
folder in the layout of Hugging Face. One thread; every run has a process of its own. The vectors of a frozen encoder
are computed once for all models: their CPU time is a row of its own, and that of the test documents is part of the
time of prediction.
"""

import argparse
import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from measure import in_own_process
from tables import Table

MODELS = ("HE-AGCRCNN", "XML-CNN")
WAYS = ("none", "frozen", "tuned")
PARTS = ("train", "dev", "test")


def encode_part(source: Path, out: Path, options: dict[str, str]) -> float:
    """Encode documents into a store that all models read; CPU seconds."""
    from taxocaps.workflows.config import resolve_encode_config
    from taxocaps.workflows.encode import encode

    config = resolve_encode_config(None, [f"{key}={value}" for key, value in options.items()], {"model": MODELS[0]})
    began = time.process_time()
    encode(source, out, config, overwrite=True, jobs=1, tell=print)
    return time.process_time() - began


def train_and_test(model: str, parts: dict[str, Path], taxonomy: Path, out: Path, options: dict[str, str]) -> Any:
    """Train a model, and label and measure the test documents."""
    import torch

    from taxocaps.workflows.config import resolve_run_config
    from taxocaps.workflows.evaluate import evaluate
    from taxocaps.workflows.predict import predict
    from taxocaps.workflows.train import TrainFiles, train

    torch.set_num_threads(1)
    config = resolve_run_config(None, [f"{key}={value}" for key, value in options.items()], {"model": model})
    began = time.process_time()
    train(TrainFiles(parts["train"], taxonomy, parts.get("dev")), out, config, existing="overwrite", tell=print)
    trained = time.process_time() - began
    began = time.process_time()
    documents = sum(1 for _ in predict(out, parts["test"]))
    predicted = time.process_time() - began
    found = evaluate(out, parts["test"]).flat
    return {
        "micro": found.micro.f1,
        "macro": found.macro.f1,
        "train": trained,
        "predict": predicted,
        "documents": documents,
    }


def measure(data: Path, models: list[str], ways: list[str], options: dict[str, str], work: Path) -> Table:
    """All models in all ways."""
    files = {name: data / f"{name}.jsonl" for name in PARTS if (data / f"{name}.jsonl").exists()}
    rows: list[tuple[str, ...]] = []
    stores, reading = dict(files), dict.fromkeys(files, 0.0)
    if "frozen" in ways:
        for name, path in files.items():
            stores[name] = work / "stores" / name
            stores[name].parent.mkdir(parents=True, exist_ok=True)
            reading[name] = in_own_process(encode_part, path, stores[name], options).result
        rows.append(
            ("reading with the encoder", "", "", "", _seconds(reading["train"] + reading.get("dev", 0)), "", "")
        )
    for model in models:
        for way in ways:
            given = {} if way == "none" else {**options, "encoder.weights": way}
            parts = stores if way == "frozen" else files
            cost = in_own_process(train_and_test, model, parts, data / "taxonomy.tsv", work / "model", given)
            found = cost.result
            print(json.dumps({"data": data.name, "model": model, "encoder": way, **found}), flush=True)
            predicted = found["predict"] + (reading["test"] if way == "frozen" else 0)
            rows.append(
                (
                    model,
                    way,
                    f"{found['micro']:.4f}",
                    f"{found['macro']:.4f}",
                    _seconds(found["train"]),
                    f"{found['documents'] / predicted:,.0f}",
                    f"{cost.peak_megabytes:,.0f} MB",
                )
            )
    header = ("model", "encoder", "micro-F1", "macro-F1", "training, CPU s", "documents/CPU s", "peak memory")
    return Table(data.name, header, rows)


def _seconds(seconds: float) -> str:
    return f"{seconds:,.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("encoder", type=Path)
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=["none", "frozen"])
    parser.add_argument("--set", dest="options", action="append", default=[], metavar="KEY=VALUE")
    arguments = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    options = {
        "encoder.folder": str(arguments.encoder.absolute()),
        **dict(one.split("=", 1) for one in arguments.options),
    }
    work = Path(tempfile.mkdtemp(prefix="encoders-"))
    try:
        print(measure(arguments.data, arguments.models, arguments.ways, options, work).markdown())
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
