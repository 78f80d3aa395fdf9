"""Sequence generation model with global embedding, SGM+GE (Yang et al., COLING 2018)."""

from typing import Annotated, ClassVar, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from taxocaps.config import Between, Config
from taxocaps.nn.blocks import Recurrence, SequenceSizes, is_real, word_embedding

__all__ = ["SGM", "SGMConfig"]

_Size = Annotated[int, Between(1, 1_000_000)]


class SGMConfig(Config):
    """The sizes of the network and of the search.

    Attributes:
        kind: The name of this network.
        units: Cells of the encoder in each direction; the decoder has twice as many. The publication has 256.
        layers: Layers of the encoder, and of the decoder. The publication has 2.
        label_size: Numbers in the embedding of a label.
        beam: Sequences of labels that the search keeps.
        longest: Steps of the search at most.
        dropout: Share of features that are dropped in training.
    """

    section: ClassVar[str] = "network"

    kind: Literal["sgm"] = "sgm"
    units: _Size = 128
    layers: Annotated[int, Between(1, 16)] = 1
    label_size: _Size = 256
    beam: Annotated[int, Between(1, 1_000)] = 5
    longest: _Size = 25
    dropout: Annotated[float, Between(0, 0.95)] = 0.5


class SGM(nn.Module):
    """Reads a document, then writes its labels one after another, most frequent first, until an end symbol.

    c_t = sum_i a_ti h_i with a_t = softmax_i(v tanh(W_a s_t + U_a h_i)) over the encoder's outputs h;
    s_t = LSTM(s_(t-1), [g(y_(t-1)); c_(t-1)]) and y_t = softmax(W_o tanh(W_d s_t + V_d c_t) + I_t), where I_t is -inf
    for labels that are written already. With e the embedding of the last symbol and e' = sum_l y_(t-1),l e_l the mean
    of all symbols' embeddings, H = sigmoid(W_1 e + W_2 e') and g = (1 - H) e + H e'.

    Departure: SGM writes a set of labels and gives no probability for each. Here the score of a label is its highest
    probability over the steps of the best sequence. So a label that is not written has a score too, at times above that
    of one which is. A sequence that is cut off after `longest` steps counts as if it had ended.

    Departure: the publication leaves open how the decoder starts. Here s_0 has the last outputs of the encoder's
    layers, with cells of 0; s_0 attends to c_0; the first g is the embedding of a start symbol, without a gate. All
    else follows the equations; the authors' program keeps c_t out of the LSTM and masks labels in the search only.

    Shapes:
        words: [B, T]; lengths: [B]; targets: [B, L] of 0 and 1.
    """

    rank: Tensor

    def __init__(self, config: SGMConfig, sizes: SequenceSizes) -> None:
        """Make the layers; the start and end symbols have weights of their own beside those of labels."""
        super().__init__()
        H, E = 2 * config.units, config.label_size
        self.beam, self.longest = config.beam, config.longest
        self.embedding = word_embedding(sizes)
        self.dropout = nn.Dropout(config.dropout)
        inputs = [sizes.D, *[H] * (config.layers - 1)]
        self.encoder = nn.ModuleList(Recurrence(size, config.units, directions=2) for size in inputs)
        self.attention = _Attention(H)
        self.labels = nn.Embedding(sizes.labels, E)
        self.start, self.end = nn.Parameter(torch.randn(E)), nn.Parameter(torch.randn(E))
        self.gate = nn.Linear(2 * E, E, bias=False)
        self.decoder = nn.ModuleList(nn.LSTMCell(size, H) for size in [E + H, *[H] * (config.layers - 1)])
        self.hidden = nn.Linear(2 * H, H, bias=False)
        self.output = nn.Linear(H, sizes.labels)
        self.output_end = nn.Linear(H, 1)
        self.register_buffer("rank", torch.arange(sizes.labels))
        self.label_parameters = ("output.weight", "output.bias", "labels.weight", "rank")
        """The names of the weights, and of the buffer, whose first axis is the labels."""

    def set_frequencies(self, counts: Tensor) -> None:
        """Write labels in the order of these counts of documents from now on, the most frequent first.

        Shapes:
            counts: [L].
        """
        # The inverse of an order is the order of its places.
        self.rank = counts.argsort(descending=True, stable=True).argsort().to(self.rank.device)  # [L]

    def loss(self, words: Tensor, lengths: Tensor, targets: Tensor) -> Tensor:
        """The cross entropy of the right symbol, the mean over all steps; earlier symbols are given.

        Shapes:
            words: [B, T]; lengths: [B]; targets: [B, L]; returns [].
        """
        symbols, is_step = self._sequences(targets)  # [B, S], [B, S]
        memory, state = self._read(words, lengths)
        losses = []
        for symbol in symbols.T:  # [B]
            log_p, state = self._step(state, memory)  # [B, L + 1]
            losses.append(functional.nll_loss(log_p, symbol, reduction="none"))  # [B]
            state = self._write(state, symbol, log_p)
        return torch.stack(losses, dim=1)[is_step].mean()  # []

    @torch.no_grad()
    def scores(self, words: Tensor, lengths: Tensor) -> Tensor:
        """The highest probability of each label over the steps of the best sequence that a beam search finds.

        Shapes:
            words: [B, T]; lengths: [B]; returns [B, L], from 0 to 1.
        """
        B, K, L = len(words), self.beam, self.output.out_features
        memory, state = self._read(words, lengths)
        rows = torch.arange(B, device=words.device).repeat_interleave(K)  # [B K]
        memory, state = _Memory(*(part[rows] for part in memory)), _State(*(part[rows] for part in state))
        total = state.context.new_full((B, K), -torch.inf)  # [B, K]
        total[:, 0] = 0  # all sequences are empty: one of them stands for all
        highest = total.new_zeros(B * K, L)  # [B K, L]
        first = torch.arange(0, B * K, K, device=words.device)[:, None]  # [B, 1]
        for _ in range(min(self.longest, L + 1)):
            log_p, state = self._step(state, memory)  # [B K, L + 1]
            has_ended = state.written[:, L:]  # [B K, 1]
            highest = torch.where(has_ended, highest, highest.maximum(log_p[:, :L].exp()))  # [B K, L]
            nexts = torch.where(has_ended, _only_end(log_p), log_p) + total.view(-1, 1)  # [B K, L + 1]
            total, place = nexts.view(B, K * (L + 1)).topk(K, dim=1)  # [B, K], [B, K]
            parent = (place // (L + 1) + first).flatten()  # [B K]
            highest, state = highest[parent], _State(*(part[parent] for part in state))  # [B K, L]
            state = self._write(state, (place % (L + 1)).flatten(), log_p[parent])
            # A sequence only gets less probable: one that has ended and leads has won.
            if state.written[::K, L].all():
                break
        return highest[::K]  # [B, L]

    def _sequences(self, targets: Tensor) -> tuple[Tensor, Tensor]:
        """The labels of documents in the order of `rank`, then end symbols; and which steps there are.

        Shapes:
            targets: [B, L]; returns [B, S] and [B, S], where S is the greatest number of labels and 1.
        """
        order = self.rank.argsort(stable=True)  # [L]
        is_label = targets[:, order] > 0  # [B, L]
        document, place = is_label.nonzero(as_tuple=True)  # [P], [P]
        counts = is_label.sum(dim=1)  # [B]
        is_step = is_real(counts + 1, int(counts.max()) + 1)  # [B, S]
        symbols = torch.full_like(is_step, targets.shape[1], dtype=torch.long)  # [B, S]
        step = is_label.cumsum(dim=1)[document, place] - 1  # [P]
        symbols[document, step] = order[place]
        return symbols, is_step  # [B, S], [B, S]

    def _read(self, words: Tensor, lengths: Tensor) -> tuple["_Memory", "_State"]:
        """The encoder's outputs, and the state before the first symbol."""
        h, lasts = self.embedding(words.long()), []  # [B, T, D]
        for layer in self.encoder:
            h, last = layer(self.dropout(h), lengths)  # [B, T, H], [B, H]
            lasts.append(last)
        memory = _Memory(h, self.attention.seen(h), is_real(lengths, words.shape[1]))
        hidden = torch.stack(lasts, dim=1)  # [B, layers, H]
        written = hidden.new_zeros(len(words), self.output.out_features + 1, dtype=torch.bool)  # [B, L + 1]
        context = self.attention(lasts[-1], memory)  # [B, H]
        return memory, _State(hidden, torch.zeros_like(hidden), context, self.start.expand(len(words), -1), written)

    def _step(self, state: "_State", memory: "_Memory") -> tuple[Tensor, "_State"]:
        """The logarithm of each symbol's probability, [R, L + 1], and the state with which one of them is written."""
        x, hidden, cell = torch.cat([state.symbol, state.context], dim=1), [], []  # [R, E + H]
        for number, layer in enumerate(self.decoder):
            if number:
                x = self.dropout(x)  # [R, H]
            x, c = layer(x, (state.hidden[:, number], state.cell[:, number]))  # [R, H], [R, H]
            hidden.append(x)
            cell.append(c)
        context = self.attention(x, memory)  # [R, H]
        features = self.dropout(self.hidden(torch.cat([x, context], dim=1)).tanh())  # [R, H]
        logits = torch.cat([self.output(features), self.output_end(features)], dim=1)  # [R, L + 1]
        log_p = _masked_log_softmax(logits, state.written)  # [R, L + 1]
        return log_p, _State(torch.stack(hidden, 1), torch.stack(cell, 1), context, state.symbol, state.written)

    def _write(self, state: "_State", symbol: Tensor, log_p: Tensor) -> "_State":
        """The state after `symbol` [R], which had one of the probabilities `log_p` [R, L + 1]."""
        L = self.output.out_features
        is_end = (symbol == L)[:, None]  # [R, 1]
        last = torch.where(is_end, self.end, self.labels(symbol.clamp(max=L - 1)))  # [R, E]
        p = log_p.exp()  # [R, L + 1]
        mean = p[:, :L] @ self.labels.weight + p[:, L:] * self.end  # [R, E]
        gate = self.gate(torch.cat([last, mean], dim=1)).sigmoid()  # [R, E]
        written = state.written.scatter(1, symbol[:, None], value=True)  # [R, L + 1]
        return state._replace(symbol=torch.lerp(last, mean, gate), written=written)


class _Memory(NamedTuple):
    """What the decoder sees of the document of each of its R sequences."""

    outputs: Tensor  # [R, T, H]
    keys: Tensor  # [R, T, H]
    mask: Tensor  # [R, T]


class _State(NamedTuple):
    """Where the decoder is in each of its R sequences; one in which the end symbol is written has ended."""

    hidden: Tensor  # [R, layers, H]
    cell: Tensor  # [R, layers, H]
    context: Tensor  # [R, H]
    symbol: Tensor  # [R, E], the embedding to read next
    written: Tensor  # [R, L + 1]


class _Attention(nn.Module):
    """sum_i a_i h_i with a = softmax_i(v tanh(W_a s + U_a h_i)) over real places i; 0 where there is none.

    Shapes:
        query: [R, H]; returns [R, H].
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.seeing = nn.Linear(size, size, bias=False)
        self.seen = nn.Linear(size, size, bias=False)
        self.weight = nn.Linear(size, 1, bias=False)

    def forward(self, query: Tensor, memory: _Memory) -> Tensor:
        logits = self.weight((self.seeing(query)[:, None] + memory.keys).tanh()).squeeze(2)  # [R, T]
        floor = torch.finfo(logits.dtype).min
        weights = logits.masked_fill(~memory.mask, floor).softmax(dim=1) * memory.mask  # [R, T]
        return torch.einsum("rt,rth->rh", weights, memory.outputs)  # [R, H]


def _masked_log_softmax(logits: Tensor, written: Tensor) -> Tensor:
    """The logarithm of a softmax over the labels that are not written yet and the end symbol, which always can be.

    Shapes:
        logits, written: [R, L + 1], the last column for the end symbol; returns [R, L + 1].
    """
    barred = functional.pad(written[:, :-1], (0, 1))  # [R, L + 1]
    return logits.masked_fill(barred, -torch.inf).log_softmax(dim=1)  # [R, L + 1]


def _only_end(log_p: Tensor) -> Tensor:
    """What can follow an end: ends, at no cost."""
    return functional.pad(torch.full_like(log_p[:, :-1], -torch.inf), (0, 1))  # [R, L + 1]
