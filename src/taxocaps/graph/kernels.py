"""Compiled: from the tokens of many documents to the rows of their words-matrices.

The walk of one document: its distinct words get local numbers; the undirected skeleton of its graph-of-words is built;
the words are ranked by closeness and renumbered by rank, so that neighbours in ascending order are neighbours by
closeness; each central word collects its subgraph, finds its blocks and writes its row.

All kernels are in one file on purpose: numba's cache notices a change of a kernel's own file only, and would keep
using the old code of a kernel imported from elsewhere.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from taxocaps.compiled import kernel
from taxocaps.graph.arrays import Float64s, Int8s, Int32s, Int64s, UInt32s, UInt64s

__all__ = ["COUNT", "HOPS", "INVERSE_COUNT", "count_words", "fill_rows"]

HOPS, COUNT, INVERSE_COUNT = 0, 1, 2


@kernel
def count_words(tokens: Int32s, offsets: Int64s, n_words: int) -> Int32s:
    """Number of distinct words of each document; `n_words` is the number of distinct words of the chunk."""
    last_document = np.full(n_words, -1, np.int64)
    distinct = np.zeros(offsets.size - 1, np.int32)
    for document in range(offsets.size - 1):
        for i in range(offsets[document], offsets[document + 1]):
            if last_document[tokens[i]] != document:
                last_document[tokens[i]] = document
                distinct[document] += 1
    return distinct


@kernel
def fill_rows(
    tokens: Int32s,
    sentences: Int32s,
    offsets: Int64s,
    row_offsets: Int64s,
    vocabulary_ids: Int32s,
    documents: tuple[int, int],
    window: int,
    distance: int,
    sizes: tuple[int, int, int],
    limits: tuple[int, int],
    ordered: bool,
    row_words: Int32s,
    row_blocks: Int8s,
    row_block_counts: Int8s,
) -> None:
    """Write the rows of a range of documents.

    Args:
        tokens: The words of all documents of the chunk, one document after the other, numbered in the chunk.
        sentences: For each token, the number of its sentence; equal everywhere if windows may cross sentences.
        offsets: Where each document begins in `tokens`, and the end.
        row_offsets: Where the rows of each document begin, and the end; the document has that many central words.
        vocabulary_ids: For each word of the chunk, its id in the vocabulary.
        documents: The range to work on; ranges may be worked on at the same time.
        window: Size of the sliding window.
        distance: HOPS, COUNT or INVERSE_COUNT.
        sizes: K, the part of K that breadth-first search takes, and the radius of a block.
        limits: Those of `HopLimits`.
        ordered: Whether rows keep the order of the text.
        row_words: Out: [rows, T] vocabulary ids, zero beforehand.
        row_blocks: Out: [rows, T] number of the block of each word, from 1; zero beforehand.
        row_block_counts: Out: [rows] number of blocks.
    """
    K, bfs_size, radius = sizes
    longest = 0
    for document in range(documents[0], documents[1]):
        longest = max(longest, offsets[document + 1] - offsets[document])
    local_of = np.full(vocabulary_ids.size, -1, np.int32)
    local_buffer = np.empty(longest, np.int32)
    words_buffer = np.empty(longest, np.int32)
    spans = np.empty((longest, 2), np.int32)
    members = np.empty(K, np.int32)
    for document in range(documents[0], documents[1]):
        begin, end = offsets[document], offsets[document + 1]
        if begin == end:
            continue
        local, bounds = local_buffer[: end - begin], sentences[begin:end]
        n = _local_words(tokens[begin:end], local_of, local, words_buffer)
        frequency = np.zeros(n, np.int32)
        for i in range(local.size):
            frequency[local[i]] += 1
        starts, neighbours, counts = _skeleton(local, bounds, n, window)
        order = _ranked_words(starts, neighbours, counts, frequency, distance, limits)
        rank_of = np.empty(n, np.int32)
        ids = np.empty(n, np.int32)
        for rank in range(n):
            rank_of[order[rank]] = rank
            ids[rank] = vocabulary_ids[words_buffer[order[rank]]]
        for i in range(local.size):
            local[i] = rank_of[local[i]]
        starts, neighbours = _by_rank(starts, neighbours, order, rank_of)
        positions, position_starts = _positions(local, frequency[order])
        taken = np.full(n, -1, np.int32)
        passed = np.full(n, -1, np.int32)
        level_bits = np.zeros((n + 63) // 64, np.uint64)
        for central in range(row_offsets[document + 1] - row_offsets[document]):
            row = row_offsets[document] + central
            size = _subgraph(central, starts, neighbours, bfs_size, taken, passed, level_bits, members)
            if ordered:
                found = positions[position_starts[central] : position_starts[central + 1]]
                n_spans = _find_spans(found, local, bounds, taken, central, radius, spans)
                row_block_counts[row] = _write_blocks(spans[:n_spans], local, ids, row_words[row], row_blocks[row])
            else:
                row_block_counts[row] = 1
                for t in range(min(size, row_words.shape[1])):
                    row_words[row, t] = ids[members[t]]
                    row_blocks[row, t] = 1


@kernel
def _local_words(tokens: Int32s, local_of: Int32s, local: Int32s, words: Int32s) -> int:
    """Number the distinct words of a document in order of first appearance.

    Args:
        tokens: The words of the document, numbered in its chunk.
        local_of: Scratch, one entry per word of the chunk, all -1; left as it was found.
        local: Out: for each token, the number of its word.
        words: Out: for each distinct word, its number in the chunk.

    Returns:
        The number of distinct words.
    """
    n = 0
    for i in range(tokens.size):
        token = tokens[i]
        if local_of[token] < 0:
            local_of[token] = n
            words[n] = token
            n += 1
        local[i] = local_of[token]
    for word in range(n):
        local_of[words[word]] = -1
    return n


@kernel
def _skeleton(local: Int32s, sentences: Int32s, n: int, window: int) -> tuple[Int64s, UInt32s, Int32s]:
    """Join each word with the next `window - 1` words of its sentence; both directions count as one edge.

    Returns:
        starts [n + 1], neighbours, counts: the neighbours of word v stand at starts[v] to starts[v + 1].
    """
    length = local.size
    starts = np.zeros(n + 1, np.int64)
    for i in range(length):
        for j in range(i + 1, min(i + window, length)):
            if sentences[j] != sentences[i]:
                break
            if local[i] != local[j]:
                starts[local[i] + 1] += 1
                starts[local[j] + 1] += 1
    for v in range(n):
        starts[v + 1] += starts[v]
    ends = starts[:-1].copy()
    repeated = np.empty(starts[n], np.uint32)
    for i in range(length):
        for j in range(i + 1, min(i + window, length)):
            if sentences[j] != sentences[i]:
                break
            u, v = local[i], local[j]
            if u != v:
                repeated[ends[u]] = v
                ends[u] += 1
                repeated[ends[v]] = u
                ends[v] += 1
    merged, neighbours, counts = _merge_repeated(starts, repeated, n)
    return merged, neighbours, counts


@kernel
def _merge_repeated(starts: Int64s, repeated: UInt32s, n: int) -> tuple[Int64s, UInt32s, Int32s]:
    """Fold equal neighbours of a word into one with a count, in place."""
    counts = np.empty(repeated.size, np.int32)
    slot_of = np.full(n, -1, np.int64)
    merged = np.zeros(n + 1, np.int64)
    end = 0
    for u in range(n):
        begin = end
        for e in range(starts[u], starts[u + 1]):
            v = repeated[e]
            if slot_of[v] >= begin:
                counts[slot_of[v]] += 1
            else:
                slot_of[v] = end
                repeated[end] = v
                counts[end] = 1
                end += 1
        merged[u + 1] = end
    return merged, repeated[:end], counts[:end]


@kernel
def _ranked_words(
    starts: Int64s, neighbours: UInt32s, counts: Int32s, frequency: Int32s, distance: int, limits: tuple[int, int]
) -> Int64s:
    """The words by closeness, then frequency, then first position; the most central first."""
    n = frequency.size
    sums = np.zeros(n, np.float64)
    reached = np.zeros(n, np.int64)
    if distance == HOPS:
        _hop_sums(starts, neighbours, _first_sources(n, limits), sums, reached)
    else:
        lengths = counts.astype(np.float64)
        if distance == INVERSE_COUNT:
            lengths = 1.0 / lengths
        _dijkstra_sums(starts, neighbours, lengths, sums, reached)
    descending = np.zeros(n, np.float64)
    for v in range(n):
        if reached[v] > 0:
            descending[v] = -(float(reached[v]) * float(reached[v]) / sums[v])
    # Stable: local numbers already stand in order of first position. Words of equal closeness are few, or else nearly
    # all of one frequency, so that sorting them by insertion is next to free.
    order = np.argsort(descending, kind="mergesort")
    for i in range(1, n):
        word, position = order[i], i
        while (
            position > 0
            and descending[order[position - 1]] == descending[word]
            and frequency[order[position - 1]] < frequency[word]
        ):
            order[position] = order[position - 1]
            position -= 1
        order[position] = word
    return order


@kernel
def _first_sources(n: int, limits: tuple[int, int]) -> Int64s:
    """The first words of the runs of 256 words from which distances are measured, as in `HopLimits.sources`."""
    exact, runs = limits
    if n <= exact:
        return np.arange(0, n, 256)
    firsts = np.empty(runs, np.int64)
    for run in range(runs):
        firsts[run] = run * (n - 256) // (runs - 1)
    return firsts


@kernel
def _hop_sums(starts: Int64s, neighbours: UInt32s, firsts: Int64s, sums: Float64s, reached: Int64s) -> None:
    """Breadth-first search from 256 sources at once, one bit each, working on the frontier only.

    Four machine words of sources fill one vector register. A level costs its frontier, not the whole graph, so that
    long chains of words (wide diameters) stay quadratic. Indices are unsigned: numba then need not ask whether they
    count from the end, which makes this loop half as fast again.
    """
    n = sums.size
    frontier = np.zeros((n, 4), np.uint64)
    upcoming = np.zeros((n, 4), np.uint64)
    active = np.empty(n, np.uint32)
    touched = np.empty(n + 1, np.uint32)
    is_touched = np.zeros(n, np.uint8)
    for first in firsts:
        seen = np.zeros((n, 4), np.uint64)
        n_active = np.uint64(min(256, n - first))
        for s in range(n_active):
            v = first + s
            active[s] = v
            for w in range(4):
                frontier[v, w] = seen[v, w] = np.uint64(w == s >> 6) << np.uint64(s & 63)
        hops = 0
        while n_active > 0:
            hops += 1
            n_touched = np.uint64(0)
            for a in range(n_active):
                u = active[a]
                f0, f1, f2, f3 = frontier[u, 0], frontier[u, 1], frontier[u, 2], frontier[u, 3]
                for e in range(np.uint64(starts[u]), np.uint64(starts[u + 1])):
                    v = neighbours[e]
                    touched[n_touched] = v
                    n_touched += np.uint64(1) - np.uint64(is_touched[v])
                    is_touched[v] = 1
                    upcoming[v, 0] |= f0
                    upcoming[v, 1] |= f1
                    upcoming[v, 2] |= f2
                    upcoming[v, 3] |= f3
            n_active = np.uint64(0)
            for a in range(n_touched):
                v = touched[a]
                is_touched[v] = 0
                arrived = np.int64(0)
                for w in range(4):
                    new = upcoming[v, w] & ~seen[v, w]
                    upcoming[v, w] = 0
                    seen[v, w] |= new
                    frontier[v, w] = new
                    arrived += np.int64(_bit_count(new))
                if arrived > 0:
                    active[n_active] = v
                    n_active += np.uint64(1)
                    reached[v] += arrived
                    sums[v] += hops * arrived


@intrinsic  # type: ignore[untyped-decorator]
def _bit_count(_typing_context: Any, word: Any) -> Any:
    """Number of set bits of a uint64: one machine instruction, which numba has no name for."""

    def generate(_context: Any, builder: ir.IRBuilder, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _trailing_zeros(_typing_context: Any, word: Any) -> Any:
    """The number of the lowest set bit of a uint64 that is not 0."""

    def generate(_context: Any, builder: ir.IRBuilder, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@kernel
def _dijkstra_sums(starts: Int64s, neighbours: UInt32s, lengths: Float64s, sums: Float64s, reached: Int64s) -> None:
    """Shortest weighted paths from every word, with a binary heap that drops outdated entries when it meets them."""
    n = sums.size
    heap_key = np.empty(neighbours.size + 1, np.float64)
    heap_word = np.empty(neighbours.size + 1, np.int32)
    for source in range(n):
        best = np.full(n, np.inf)
        best[source] = 0.0
        heap_key[0], heap_word[0], size = 0.0, source, 1
        total, arrived = 0.0, 0
        while size > 0:
            key, u = heap_key[0], heap_word[0]
            size -= 1
            _sift_down(heap_key, heap_word, size)
            if key > best[u]:
                continue
            total += key
            arrived += 1
            for e in range(starts[u], starts[u + 1]):
                v, through = neighbours[e], key + lengths[e]
                if through < best[v]:
                    best[v] = through
                    _sift_up(heap_key, heap_word, size, through, v)
                    size += 1
        reached[source] = arrived - 1
        sums[source] = np.floor(total * 1e9 + 0.5) / 1e9


@kernel
def _sift_up(heap_key: Float64s, heap_word: Int32s, position: int, key: float, word: int) -> None:
    """Put an entry in at `position`, the end of the heap, and let it rise."""
    while position > 0:
        parent = (position - 1) // 2
        if heap_key[parent] <= key:
            break
        heap_key[position], heap_word[position] = heap_key[parent], heap_word[parent]
        position = parent
    heap_key[position], heap_word[position] = key, word


@kernel
def _sift_down(heap_key: Float64s, heap_word: Int32s, size: int) -> None:
    """Replace the top by the entry at `size`, the last one, and let it sink."""
    key, word = heap_key[size], heap_word[size]
    position = 0
    while True:
        child = 2 * position + 1
        if child >= size:
            break
        if child + 1 < size and heap_key[child + 1] < heap_key[child]:
            child += 1
        if heap_key[child] >= key:
            break
        heap_key[position], heap_word[position] = heap_key[child], heap_word[child]
        position = child
    heap_key[position], heap_word[position] = key, word


@kernel
def _by_rank(starts: Int64s, neighbours: UInt32s, order: Int64s, rank_of: Int32s) -> tuple[Int64s, UInt32s]:
    """Renumber the skeleton by rank; handing out the ranks in order leaves every list of neighbours sorted."""
    n = order.size
    ranked_starts = np.zeros(n + 1, np.int64)
    for rank in range(n):
        ranked_starts[rank + 1] = ranked_starts[rank] + starts[order[rank] + 1] - starts[order[rank]]
    ends = ranked_starts[:-1].copy()
    ranked = np.empty(neighbours.size, np.uint32)
    for rank in range(n):
        for e in range(starts[order[rank]], starts[order[rank] + 1]):
            other = rank_of[neighbours[e]]
            ranked[ends[other]] = rank
            ends[other] += 1
    return ranked_starts, ranked


@kernel
def _positions(ranks: Int32s, frequency: Int32s) -> tuple[Int32s, Int64s]:
    """Where each word occurs: ascending positions, and where those of each word begin."""
    starts = np.zeros(frequency.size + 1, np.int64)
    for word in range(frequency.size):
        starts[word + 1] = starts[word] + frequency[word]
    ends = starts[:-1].copy()
    positions = np.empty(ranks.size, np.int32)
    for i in range(ranks.size):
        positions[ends[ranks[i]]] = i
        ends[ranks[i]] += 1
    return positions, starts


@kernel
def _subgraph(
    central: int,
    starts: Int64s,
    neighbours: UInt32s,
    bfs_size: int,
    taken: Int32s,
    passed: Int32s,
    level_bits: UInt64s,
    members: Int32s,
) -> int:
    """Collect the subgraph of a central word into `members`; `taken[v] == central` marks a member.

    `level_bits` is scratch, a bit for every word, all 0; left as it was found.

    Returns:
        The number of members.
    """
    size = 0
    if bfs_size > 0:
        size = _breadth_first(central, starts, neighbours, bfs_size, taken, level_bits, members)
    if size < members.size and bfs_size < members.size:
        size = _depth_first(central, starts, neighbours, taken, passed, members, size)
    return size


@kernel
def _breadth_first(
    central: int,
    starts: Int64s,
    neighbours: UInt32s,
    limit: int,
    taken: Int32s,
    level_bits: UInt64s,
    members: Int32s,
) -> int:
    """Level after level, each in ascending order, which a bit for every word gives without sorting."""
    members[0] = central
    taken[central] = central
    level, size = 0, 1
    while level < size < limit:
        for parent in members[level:size]:
            for e in range(np.uint64(starts[parent]), np.uint64(starts[parent + 1])):
                bit = np.uint64(neighbours[e])
                level_bits[bit >> np.uint64(6)] |= np.uint64(1) << (bit & np.uint64(63))
        level = size
        for w in range(level_bits.size):
            bits = level_bits[w]
            level_bits[w] = 0
            while bits and size < limit:
                v = (w << 6) + np.int64(_trailing_zeros(bits))
                bits &= bits - np.uint64(1)
                if taken[v] != central:
                    taken[v] = central
                    members[size] = v
                    size += 1
    return size


@kernel
def _depth_first(
    central: int,
    starts: Int64s,
    neighbours: UInt32s,
    taken: Int32s,
    passed: Int32s,
    members: Int32s,
    size: int,
) -> int:
    """Preorder; passes through words that breadth-first search took before, without taking them again."""
    # Every step goes to a new member or to one that was there: the walk never holds more than K + size words.
    path = np.empty(members.size + size + 1, np.int32)
    edges = np.empty(members.size + size + 1, np.int64)
    path[0], edges[0], depth = central, starts[central], 0
    passed[central] = central
    if taken[central] != central:
        taken[central] = central
        members[size] = central
        size += 1
    while depth >= 0 and size < members.size:
        if edges[depth] == starts[path[depth] + 1]:
            depth -= 1
            continue
        v = neighbours[edges[depth]]
        edges[depth] += 1
        if passed[v] == central:
            continue
        passed[v] = central
        depth += 1
        path[depth], edges[depth] = v, starts[v]
        if taken[v] != central:
            taken[v] = central
            members[size] = v
            size += 1
    return size


@kernel
def _find_spans(
    positions: Int32s,
    ranks: Int32s,
    sentences: Int32s,
    taken: Int32s,
    central: int,
    radius: int,
    spans: Int32s,
) -> int:
    """Write the blocks of a central word into `spans`, as positions (start, end), merged where they share one.

    Returns:
        The number of blocks.
    """
    n_spans = 0
    for position in positions:
        start, end = position, position + 1
        lowest, highest = max(position - radius, 0), min(position + radius + 1, ranks.size)
        while start > lowest and taken[ranks[start - 1]] == central and sentences[start - 1] == sentences[position]:
            start -= 1
        while end < highest and taken[ranks[end]] == central and sentences[end] == sentences[position]:
            end += 1
        if n_spans > 0 and start < spans[n_spans - 1, 1]:
            spans[n_spans - 1, 1] = max(end, spans[n_spans - 1, 1])
        else:
            spans[n_spans, 0], spans[n_spans, 1] = start, end
            n_spans += 1
    return n_spans


@kernel
def _write_blocks(spans: Int32s, ranks: Int32s, ids: Int32s, row_words: Int32s, row_blocks: Int8s) -> int:
    """Write the longest blocks first until the row is full; returns the number of blocks in the row."""
    filled, n_blocks = 0, 0
    while filled < row_words.size and n_blocks < spans.shape[0]:
        best, best_length = 0, 0
        for block in range(spans.shape[0]):
            length = spans[block, 1] - spans[block, 0]
            if length > best_length:
                best, best_length = block, length
        n_blocks += 1
        for position in range(spans[best, 0], min(spans[best, 1], spans[best, 0] + row_words.size - filled)):
            row_words[filled] = ids[ranks[position]]
            row_blocks[filled] = n_blocks
            filled += 1
        spans[best, 1] = spans[best, 0]  # used: its length is 0 from now on
    return n_blocks
