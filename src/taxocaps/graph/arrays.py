"""Names for the array types of the graph layer."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["Float64s", "Int8s", "Int32s", "Int64s", "UInt32s", "UInt64s"]

Int8s = NDArray[np.int8]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
UInt32s = NDArray[np.uint32]
UInt64s = NDArray[np.uint64]
Float64s = NDArray[np.float64]
