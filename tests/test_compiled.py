import numpy as np

from taxocaps.compiled import kernel


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
