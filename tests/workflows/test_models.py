from taxocaps.catalogue.variants import find_variant
from taxocaps.workflows.config import resolve_run_config
from taxocaps.workflows.models import list_models


def test_every_model_can_be_asked_for_by_its_name():
    models = list_models()
    assert len({model.name for model in models}) == 13
    for model in models:
        assert find_variant(model.name) == model
        config = resolve_run_config(options={"model": model.name.lower()})
        assert (config.network.recurrent, config.network.attention, config.network.head) == (
            model.recurrent,
            model.attention,
            model.head,
        )
        assert (config.graph.row_order, config.loss.label_weights) == (model.row_order, model.label_weights)
