"""Which members there is time for."""

import pytest

from taxocaps.catalogue.presets import model_config
from taxocaps.scorers.base import Workload
from taxocaps.scorers.plan import folds_of, plan_members

MEMBERS = model_config("auto", "default", {"time": "1h"}).members
REUTERS = Workload(7_800, 1_000_000, 90)


def test_members_take_part_in_their_order_as_long_as_there_is_time():
    shares = [plan_members(MEMBERS, REUTERS, 5, seconds).kept for seconds in (1, 20, 60, 900, 3_600)]
    assert [len(kept) for kept in shares] == sorted(len(kept) for kept in shares)
    assert shares[0] == ("words",)
    assert shares[2] == ("words", "pairs", "characters")
    assert shares[-1] == tuple(MEMBERS)


def test_a_cheap_member_takes_part_after_one_that_is_too_slow():
    reordered = {name: MEMBERS[name] for name in ("words", "XML-CNN", "pairs")}
    assert plan_members(reordered, REUTERS, 5, 60).kept == ("words", "pairs")


@pytest.mark.parametrize("seconds", [1, 700])
def test_the_time_that_is_named_would_do(seconds):
    plan = plan_members(MEMBERS, REUTERS, 5, seconds)
    assert plan.late
    assert plan_members(MEMBERS, REUTERS, 5, plan.wanted).late == ()
    assert f"no time for {' and '.join(plan.late)}: --time " in str(plan)


def test_more_documents_labels_or_words_take_longer():
    for config in MEMBERS.values():
        base = config.seconds(REUTERS)
        assert config.seconds(Workload(78_000, 10_000_000, 90)) > 2 * base
        assert config.seconds(Workload(7_800, 1_000_000, 900)) > base


def test_networks_have_few_folds_and_linear_models_all():
    assert folds_of(model_config("SVM", "default"), 10) == 10
    assert folds_of(model_config("XML-CNN", "default"), 10) == 3
    assert folds_of(model_config("XML-CNN", "default"), 2) == 2
