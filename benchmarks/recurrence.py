"""An LSTM over documents of some lengths, forwards and backwards: ours, which reads padding, beside packed sequences.

    python benchmarks/recurrence.py            # --write puts the table into docs/performance.md

32 documents, word vectors of 100 numbers, 128 units in each of two directions; one thread, CPU time.
"""

import argparse

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from measure import cpu_seconds
from tables import Table, publish
from taxocaps.nn.layers import Recurrence

DOCUMENTS, INPUTS, UNITS = 32, 100, 128


def seconds(length: int) -> tuple[float, float]:
    """CPU seconds of packed sequences and of ours; documents have four fifths of the length to all of it."""
    x = torch.randn(DOCUMENTS, length, INPUTS, requires_grad=True)
    lengths = torch.linspace(0.8 * length, length, DOCUMENTS).long()
    ours, theirs = Recurrence(INPUTS, UNITS, directions=2), nn.LSTM(INPUTS, UNITS, batch_first=True, bidirectional=True)

    def packed() -> torch.Tensor:
        outputs, _ = theirs(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))
        return pad_packed_sequence(outputs, batch_first=True)[0]

    return cpu_seconds(lambda: packed().sum().backward(), 3), cpu_seconds(
        lambda: ours(x, lengths)[0].sum().backward(), 3
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for length in (50, 100, 200, 400):
        packed, ours = seconds(length)
        rows.append((f"{length} words", f"{packed:.3f} s", f"{ours:.3f} s", f"{packed / ours:.1f}x"))
    header = ("documents of at most", "packed", "taxocaps", "ratio")
    publish([Table("LSTM in two directions, with gradients", header, rows)], "recurrence", write=options.write)


if __name__ == "__main__":
    main()
