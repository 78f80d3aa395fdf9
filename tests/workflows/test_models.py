from taxocaps.workflows.config import resolve_run_config
from taxocaps.workflows.models import list_models


def test_every_model_can_be_asked_for_by_its_name():
    models = list_models()
    assert len({model.name for model in models}) == 33
    for model in models:
        config = resolve_run_config(options={"model": model.name.lower()})
        for section, values in model.axes.items():
            if section == "family":
                assert config.family == values
            else:
                assert {key: getattr(getattr(config, section), key) for key in values} == values
