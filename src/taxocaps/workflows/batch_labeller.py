"""Labels for batches of documents in pipelines of other libraries, such as Ray Data."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from taxocaps.corpus.document import Document
from taxocaps.errors import CorpusError
from taxocaps.scorers.decision import DecisionOptions
from taxocaps.workflows.predict import as_model, predict_documents

__all__ = ["BatchLabeller"]


class BatchLabeller:
    """Adds the columns `labels` and `scores` to batches; loads its model once.

    Made for `ray.data.Dataset.map_batches` with a pool of actors (`examples/ray_pipeline.py`), and for anything else
    that calls an object with batches of columns:

        dataset.map_batches(
            taxocaps.BatchLabeller, fn_constructor_args=["model"], batch_format="pyarrow", batch_size=256, concurrency=8
        )

    The labels are those that `taxocaps predict` gives, and the columns those of its Parquet files.
    """

    def __init__(self, model: Path | str, text: str = "text", *, trust_code: bool = False, **options: Any) -> None:
        """Load a model.

        Args:
            model: The folder of a model, at a path that every machine sees.
            text: The column with the text.
            trust_code: Whether code that the model names may be run.
            options: Which labels documents get: `top_k`, `threshold`, `at_least`, `hierarchy`.
        """
        self._text, self._options = text, DecisionOptions.model_validate(options)
        self._model = as_model(model, trust_code=trust_code)

    def __call__(self, batch: Any) -> Any:
        """A batch with its labels, the most probable first, and their scores.

        Args:
            batch: A `pyarrow.Table`, or a mapping from names of columns to their values.

        Returns:
            The same kind, with two more columns of lists.

        Raises:
            CorpusError: If there is no column with the text.
        """
        names = list(batch) if isinstance(batch, Mapping) else batch.column_names
        if self._text not in names:
            raise CorpusError(f"there is no column {self._text!r}; there are {', '.join(map(str, names))}")
        column = batch[self._text]
        texts = column.to_pylist() if hasattr(column, "to_pylist") else column
        documents = (Document("" if text is None else str(text)) for text in texts)
        found = list(predict_documents(self._model, documents, self._options))
        labels = [[one.label for one in prediction.labels] for prediction in found]
        scores = [[round(one.score, 6) for one in prediction.labels] for prediction in found]
        if isinstance(batch, Mapping):
            return {**batch, "labels": labels, "scores": scores}
        import pyarrow

        columns = {
            "labels": pyarrow.array(labels, pyarrow.list_(pyarrow.string())),
            "scores": pyarrow.array(scores, pyarrow.list_(pyarrow.float64())),
        }
        kept = batch.drop_columns([name for name in columns if name in names])
        for name, values in columns.items():
            kept = kept.append_column(name, values)
        return kept
