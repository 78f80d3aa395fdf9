"""Scores of documents by a trained objective; needs no Lightning, so that prediction starts fast."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from taxocaps.training.batches import Batch, EncodedDocuments, loader

__all__ = ["score_documents"]


def score_documents(
    objective: Any, documents: EncodedDocuments, labels: int, *, batch_size: int = 32, device: str = "cpu"
) -> NDArray[np.float32]:
    """How well each label fits each document.

    Args:
        objective: A trained network with its loss.
        documents: Encoded documents.
        labels: The number of labels, L.
        batch_size: Documents at a time; does not change the scores.
        device: Where to compute.

    Returns:
        float32 [documents, L], from 0 to 1.
    """
    scores = np.zeros((len(documents.lengths), labels), np.float32)
    objective.to(device).eval()
    with torch.inference_mode():
        for batch in loader(documents, None, batch_size):
            moved = Batch(batch.documents, tuple(tensor.to(device) for tensor in batch.inputs), batch.targets)
            scores[batch.documents.numpy()] = objective.scores(moved).cpu().numpy()
    return scores
