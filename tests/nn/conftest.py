"""References that tests of several networks need."""

import pytest


@pytest.fixture(scope="session")
def one_layer():
    """Make torch's own layer, of one or both directions, with the weights of one of our recurrences."""

    def make(recurrence):
        first, *others = recurrence.layers
        layer = type(first)(
            first.input_size, first.hidden_size, bias=first.bias, batch_first=True, bidirectional=bool(others)
        )
        weights = first.state_dict() | {f"{name}_reverse": w for one in others for name, w in one.state_dict().items()}
        layer.load_state_dict(weights)
        return layer

    return make
