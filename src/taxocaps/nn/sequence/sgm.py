"""Sequence generation model with global embedding, SGM+GE (Yang et al., COLING 2018)."""

from typing import Annotated, ClassVar, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from taxocaps.config import Between, Config
from taxocaps.nn.layers import Recurrence, dense_layer, normal_weights, sequence_mask, start_recurrence
from taxocaps.nn.network import DropoutRate, LayerSize, SequenceNetwork, Sizes, word_embedding

__all__ = ["SGM", "SGMConfig"]


class SGMConfig(Config):
    """Options of the sequence generation model and of its beam search.

    Attributes:
        kind: The name of this network.
        units: Hidden size of the encoder in each direction; the decoder has twice that. The publication has 256.
        layers: Layers of the encoder and of the decoder; 2 in the publication.
        label_size: Size of the embedding of a label.
        beam: Beam width.
        longest: Maximum number of steps of the beam search.
        dropout: Dropout rate of word vectors and hidden layers.
    """

    section: ClassVar[str] = "network"

    kind: Literal["sgm"] = "sgm"
    units: LayerSize = 128
    layers: Annotated[int, Between(1, 16)] = 1
    label_size: LayerSize = 256
    beam: Annotated[int, Between(1, 1_000)] = 5
    longest: LayerSize = 25
    dropout: DropoutRate = 0.5


class SGM(SequenceNetwork):
    """An encoder reads the document, a decoder generates its labels, the most frequent first, up to an end symbol.

    c_t = sum_i a_ti h_i with a_t = softmax_i(v tanh(W_a s_t + U_a h_i)) over the encoder's outputs h;
    s_t = LSTM(s_(t-1), [g(y_(t-1)); c_(t-1)]) and y_t = softmax(W_o tanh(W_d s_t + V_d c_t) + I_t), where I_t is -inf
    for labels that were generated before. With e the embedding of the last symbol and e' = sum_l y_(t-1),l e_l the mean
    of all symbols' embeddings, H = sigmoid(W_1 e + W_2 e') and g = (1 - H) e + H e'.

    Departure: SGM generates a set of labels without a probability for each. Here the score of a label is its highest
    probability over the steps of the best sequence. A label that is not generated has a score too, which may be above
    that of one that is. A sequence that is truncated after `longest` steps counts as if it had ended.

    Departure: the publication does not say how the decoder starts. Here s_0 has the last outputs of the encoder's
    layers, with cell states of 0; s_0 attends to c_0; the first g is the embedding of a start symbol, without a gate.
    All else follows the equations; the authors' program keeps c_t out of the LSTM and masks labels in the search only.

    Shapes:
        words: [B, T]; lengths: [B]; targets: [B, L] of 0 and 1.
    """

    rank: Tensor

    Config = SGMConfig
    reads = ("tokens",)
    label_parameters = ("output.weight", "output.bias", "labels.weight", "rank")

    def __init__(self, config: SGMConfig, sizes: Sizes) -> None:
        """Make the layers; the start and end symbols have parameters of their own."""
        super().__init__()
        H, E = 2 * config.units, config.label_size
        self.beam, self.longest = config.beam, config.longest
        self.embedding = word_embedding(sizes)
        self.dropout = nn.Dropout(config.dropout)
        inputs = [sizes.D, *[H] * (config.layers - 1)]
        self.encoder = nn.ModuleList(Recurrence(size, config.units, directions=2) for size in inputs)
        self.attention = _Attention(H)
        self.labels = nn.Embedding(sizes.labels, E)
        self.start, self.end = normal_weights(E), normal_weights(E)
        self.gate = dense_layer(2 * E, E, bias=False)
        self.decoder = nn.ModuleList(
            start_recurrence(nn.LSTMCell(size, H)) for size in [E + H, *[H] * (config.layers - 1)]
        )
        self.hidden = dense_layer(2 * H, H, bias=False)
        self.output = dense_layer(H, sizes.labels)
        self.output_end = dense_layer(H, 1)
        self.register_buffer("rank", torch.arange(sizes.labels))

    def set_frequencies(self, counts: Tensor) -> None:
        """Set the order of labels by their number of training documents, the most frequent first.

        Shapes:
            counts: [L].
        """
        # argsort of a permutation is its inverse.
        self.rank = counts.argsort(descending=True, stable=True).argsort().to(self.rank.device)  # [L]

    def loss(self, words: Tensor, lengths: Tensor, targets: Tensor) -> Tensor:
        """The cross entropy of the true symbols, averaged over all steps, with teacher forcing.

        Shapes:
            words: [B, T]; lengths: [B]; targets: [B, L]; returns [].
        """
        symbols, is_step = self._sequences(targets)  # [B, S], [B, S]
        memory, state = self._encode(words, lengths)
        losses = []
        for symbol in symbols.T:  # [B]
            log_p, state = self._step(state, memory)  # [B, L + 1]
            losses.append(functional.nll_loss(log_p, symbol, reduction="none"))  # [B]
            state = self._generate(state, symbol, log_p)
        return torch.stack(losses, dim=1)[is_step].mean()  # []

    @torch.no_grad()
    def scores(self, words: Tensor, lengths: Tensor) -> Tensor:
        """The highest probability of each label over the steps of the best sequence of a beam search.

        Shapes:
            words: [B, T]; lengths: [B]; returns [B, L], from 0 to 1.
        """
        B, K, L = len(words), self.beam, self.output.out_features
        memory, state = self._encode(words, lengths)
        rows = torch.arange(B, device=words.device).repeat_interleave(K)  # [B K]
        memory, state = _Memory(*(part[rows] for part in memory)), _State(*(part[rows] for part in state))
        total = state.context.new_full((B, K), -torch.inf)  # [B, K]
        total[:, 0] = 0  # all sequences are still the same: keep one of them
        highest = total.new_zeros(B * K, L)  # [B K, L]
        first = torch.arange(0, B * K, K, device=words.device)[:, None]  # [B, 1]
        for _ in range(min(self.longest, L + 1)):
            log_p, state = self._step(state, memory)  # [B K, L + 1]
            has_ended = state.generated[:, L:]  # [B K, 1]
            highest = torch.where(has_ended, highest, highest.maximum(log_p[:, :L].exp()))  # [B K, L]
            nexts = torch.where(has_ended, _end_only(log_p), log_p) + total.view(-1, 1)  # [B K, L + 1]
            total, index = nexts.view(B, K * (L + 1)).topk(K, dim=1)  # [B, K], [B, K]
            parent = (index // (L + 1) + first).flatten()  # [B K]
            highest, state = highest[parent], _State(*(part[parent] for part in state))  # [B K, L]
            state = self._generate(state, (index % (L + 1)).flatten(), log_p[parent])
            # Probabilities only fall: a sequence that has ended and leads is the best.
            if state.generated[::K, L].all():
                break
        return highest[::K]  # [B, L]

    def _sequences(self, targets: Tensor) -> tuple[Tensor, Tensor]:
        """The labels of documents in the order of `rank`, followed by end symbols; and the mask of the steps.

        Shapes:
            targets: [B, L]; returns [B, S] and [B, S], where S is the greatest number of labels, plus 1.
        """
        order = self.rank.argsort(stable=True)  # [L]
        is_label = targets[:, order] > 0  # [B, L]
        document, position = is_label.nonzero(as_tuple=True)  # [P], [P]
        counts = is_label.sum(dim=1)  # [B]
        is_step = sequence_mask(counts + 1, int(counts.max()) + 1)  # [B, S]
        symbols = torch.full_like(is_step, targets.shape[1], dtype=torch.long)  # [B, S]
        step = is_label.cumsum(dim=1)[document, position] - 1  # [P]
        symbols[document, step] = order[position]
        return symbols, is_step  # [B, S], [B, S]

    def _encode(self, words: Tensor, lengths: Tensor) -> tuple["_Memory", "_State"]:
        """The outputs of the encoder, and the initial state of the decoder."""
        h, lasts = self.embedding(words.long()), []  # [B, T, D]
        for layer in self.encoder:
            h, last = layer(self.dropout(h), lengths)  # [B, T, H], [B, H]
            lasts.append(last)
        memory = _Memory(h, self.attention.key(h), sequence_mask(lengths, words.shape[1]))
        hidden = torch.stack(lasts, dim=1)  # [B, layers, H]
        generated = hidden.new_zeros(len(words), self.output.out_features + 1, dtype=torch.bool)  # [B, L + 1]
        context = self.attention(lasts[-1], memory)  # [B, H]
        return memory, _State(hidden, torch.zeros_like(hidden), context, self.start.expand(len(words), -1), generated)

    def _step(self, state: "_State", memory: "_Memory") -> tuple[Tensor, "_State"]:
        """The log probability of each symbol, [R, L + 1], and the state after this step."""
        x, hidden, cell = torch.cat([state.symbol, state.context], dim=1), [], []  # [R, E + H]
        for depth, layer in enumerate(self.decoder):
            if depth:
                x = self.dropout(x)  # [R, H]
            x, c = layer(x, (state.hidden[:, depth], state.cell[:, depth]))  # [R, H], [R, H]
            hidden.append(x)
            cell.append(c)
        context = self.attention(x, memory)  # [R, H]
        features = self.dropout(self.hidden(torch.cat([x, context], dim=1)).tanh())  # [R, H]
        logits = torch.cat([self.output(features), self.output_end(features)], dim=1)  # [R, L + 1]
        log_p = _masked_log_softmax(logits, state.generated)  # [R, L + 1]
        return log_p, _State(torch.stack(hidden, 1), torch.stack(cell, 1), context, state.symbol, state.generated)

    def _generate(self, state: "_State", symbol: Tensor, log_p: Tensor) -> "_State":
        """The state after generating `symbol` [R], given the log probabilities `log_p` [R, L + 1] of all symbols."""
        L = self.output.out_features
        is_end = (symbol == L)[:, None]  # [R, 1]
        last = torch.where(is_end, self.end, self.labels(symbol.clamp(max=L - 1)))  # [R, E]
        p = log_p.exp()  # [R, L + 1]
        mean = p[:, :L] @ self.labels.weight + p[:, L:] * self.end  # [R, E]
        gate = self.gate(torch.cat([last, mean], dim=1)).sigmoid()  # [R, E]
        generated = state.generated.scatter(1, symbol[:, None], value=True)  # [R, L + 1]
        return state._replace(symbol=torch.lerp(last, mean, gate), generated=generated)


class _Memory(NamedTuple):
    """The encoded document of each of the R sequences."""

    outputs: Tensor  # [R, T, H]
    keys: Tensor  # [R, T, H]
    mask: Tensor  # [R, T]


class _State(NamedTuple):
    """The state of the decoder in each of the R sequences; a sequence has ended if the end symbol is generated."""

    hidden: Tensor  # [R, layers, H]
    cell: Tensor  # [R, layers, H]
    context: Tensor  # [R, H]
    symbol: Tensor  # [R, E], the embedding to read next
    generated: Tensor  # [R, L + 1]


class _Attention(nn.Module):
    """sum_i a_i h_i with a = softmax_i(v tanh(W_a s + U_a h_i)) over words i; 0 if there are none.

    Shapes:
        query: [R, H]; returns [R, H].
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.query = dense_layer(size, size, bias=False)
        self.key = dense_layer(size, size, bias=False)
        self.weight = dense_layer(size, 1, bias=False)

    def forward(self, query: Tensor, memory: _Memory) -> Tensor:
        logits = self.weight((self.query(query)[:, None] + memory.keys).tanh()).squeeze(2)  # [R, T]
        lowest = torch.finfo(logits.dtype).min
        weights = logits.masked_fill(~memory.mask, lowest).softmax(dim=1) * memory.mask  # [R, T]
        return torch.einsum("rt,rth->rh", weights, memory.outputs)  # [R, H]


def _masked_log_softmax(logits: Tensor, generated: Tensor) -> Tensor:
    """The log softmax over the labels that are not generated yet and the end symbol.

    Shapes:
        logits, generated: [R, L + 1], the last column for the end symbol; returns [R, L + 1].
    """
    is_excluded = functional.pad(generated[:, :-1], (0, 1))  # [R, L + 1]
    return logits.masked_fill(is_excluded, -torch.inf).log_softmax(dim=1)  # [R, L + 1]


def _end_only(log_p: Tensor) -> Tensor:
    """The log probabilities after an end symbol: only another end symbol can follow."""
    return functional.pad(torch.full_like(log_p[:, :-1], -torch.inf), (0, 1))  # [R, L + 1]
