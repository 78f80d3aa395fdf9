import numpy as np

from taxocaps.compiled import kernel, mixed, random_below


@kernel
def total(values):
    result = 0.0
    for value in values:
        result += value
    return result


def test_a_kernel_is_compiled_and_gives_what_python_gives():
    values = np.arange(10.0)
    assert total(values) == total.py_func(values) == 45.0
    assert total.nopython_signatures
    assert total.targetoptions["nogil"]


def test_draws_are_even_and_in_range():
    state, counts = np.uint64(7), np.zeros(6, int)
    for _ in range(12_000):
        state, draw = random_below(np.uint64(state), 6)
        counts[draw] += 1
    assert abs(counts - 2_000).max() < 200


def test_mixing_is_that_of_splitmix64():
    # The first numbers of the published generator for the seed 1234567.
    state, found = np.uint64(1234567), []
    for _ in range(3):
        state = np.uint64((int(state) + 0x9E3779B97F4A7C15) % 2**64)
        found.append(int(mixed(state)))
    assert found == [6457827717110365317, 3203168211198807973, 9817491932198370423]
