"""A queue in front of a thread: what is put together, what is refused, what is finished."""

import asyncio
import threading
import time

import pytest

from taxocaps.corpus.document import Document
from taxocaps.scorers.decision import DecisionOptions
from taxocaps.web.batching import Batcher
from taxocaps.web.limits import ServeConfig
from taxocaps.web.responses import ApiError
from taxocaps.workflows.serve import ExplainJob, LabelJob


def job(*texts):
    return LabelJob(tuple(Document(text, id=text) for text in texts))


@pytest.fixture
def make(slate):
    made = []

    def batcher(observe=lambda documents: None, **limits):
        made.append(Batcher(slate.answer, ServeConfig(**{"documents": 1, **limits}), observe))
        return made[-1]

    yield batcher
    slate.open.set()
    for one in made:
        asyncio.run(one.close())


async def until(condition):
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.002)


def names(predictions):
    return [prediction.id for prediction in predictions]


def test_what_waits_is_labelled_together_up_to_the_limit(make, slate):
    sizes = []
    batcher = make(sizes.append, batch=4)

    async def clients():
        slate.open.clear()
        first = asyncio.create_task(batcher.label([job("first")]))
        await until(slate.begun.is_set)
        others = [asyncio.create_task(batcher.label([job(f"{n}a", f"{n}b")])) for n in range(3)]
        await until(lambda: batcher.waiting() == 6)
        slate.open.set()
        return [names(found) for found in await asyncio.gather(first, *others)]

    assert asyncio.run(clients()) == [["first"], ["0a", "0b"], ["1a", "1b"], ["2a", "2b"]]
    assert slate.batches == [["first"], ["0a", "0b", "1a", "1b"], ["2a", "2b"]]
    assert sizes == [1, 4, 2]


def test_what_has_arrived_is_labelled_together_and_one_alone_waits_for_nobody(make, slate):
    batcher = make(batch=8)

    async def late(turns, text):
        for _ in range(turns):
            await asyncio.sleep(0)
        return await batcher.label([job(text)])

    async def clients():
        await asyncio.gather(*(late(turns, text) for turns, text in enumerate("abcd")))
        begin = time.monotonic()
        await batcher.label([job("alone")])
        return time.monotonic() - begin

    assert asyncio.run(clients()) < 0.2
    assert slate.batches == [["a", "b", "c", "d"], ["alone"]]


def test_the_queue_is_observed_as_it_changes(slate):
    seen = []
    batcher = Batcher(slate.answer, ServeConfig(batch=2, timeout=0.1), observe_queue=seen.append)

    async def clients():
        slate.open.clear()
        asked = [asyncio.create_task(batcher.label([job(text)])) for text in "abc"]
        await asyncio.gather(*asked, return_exceptions=True)  # c waits until it takes too long
        slate.open.set()
        await batcher.close()

    asyncio.run(clients())
    assert seen == [1, 2, 3, 1, 0]


def test_a_full_queue_refuses_and_says_when_to_come_again(make, slate):
    batcher = make(queue=2, batch=1)

    async def clients():
        slate.open.clear()
        begun = asyncio.create_task(batcher.label([job("begun")]))
        await until(slate.begun.is_set)
        waiting = asyncio.create_task(batcher.label([job("one")]))
        await until(lambda: batcher.waiting() == 1)
        with pytest.raises(ApiError) as refused:
            await batcher.label([job("two"), job("three")])
        assert batcher.waiting() == 1
        slate.open.set()
        await asyncio.gather(begun, waiting)
        return refused.value

    refused = asyncio.run(clients())
    assert (refused.status, refused.headers["Retry-After"]) == (503, "1")
    assert slate.batches == [["begun"], ["one"]]


def test_what_took_too_long_is_not_begun_and_leaves_its_place(make, slate):
    batcher = make(queue=1, batch=1, timeout=0.05)

    async def clients():
        slate.open.clear()
        begun = asyncio.create_task(batcher.label([job("begun")]))
        await until(slate.begun.is_set)
        for text in ("late", "later"):
            with pytest.raises(ApiError) as refused:
                await batcher.label([job(text)])
            assert refused.value.status == 504
            assert batcher.waiting() == 0
        with pytest.raises(ApiError):
            await begun
        slate.open.set()
        return names(await batcher.label([job("after")]))

    assert asyncio.run(clients()) == ["after"]
    assert slate.batches == [["begun"], ["after"]]


def test_an_error_reaches_who_caused_it_and_the_thread_lives_on(make):
    batcher = make(batch=8)

    async def clients():
        return await asyncio.gather(
            batcher.label([job("a")]), batcher.label([job("burst")]), batcher.label([job("b")]), return_exceptions=True
        )

    first, second, third = asyncio.run(clients())
    assert (names(first), names(third)) == (["a"], ["b"])
    assert isinstance(second, ZeroDivisionError)


def test_work_that_breaks_as_a_whole_breaks_no_thread():
    def work(jobs):
        raise MemoryError("none left")

    batcher = Batcher(work, ServeConfig())
    for _ in range(2):
        with pytest.raises(MemoryError, match="none left"):
            asyncio.run(batcher.label([job("a")]))
    asyncio.run(batcher.close())


def test_closing_finishes_what_was_accepted(make, slate):
    batcher = make(batch=1)

    async def clients():
        slate.open.clear()
        accepted = [asyncio.create_task(batcher.label([job(text)])) for text in "abc"]
        await until(lambda: slate.begun.is_set() and batcher.waiting() == 2)
        closing = asyncio.create_task(batcher.close())
        await asyncio.sleep(0)
        with pytest.raises(ApiError) as refused:
            await batcher.label([job("d")])
        slate.open.set()
        found = [names(one) for one in await asyncio.gather(*accepted)]
        await closing
        return found, refused.value.status

    assert asyncio.run(clients()) == ([["a"], ["b"], ["c"]], 503)


def explained(text):
    return ExplainJob(Document(text))


def test_explanations_come_one_by_one_and_after_the_labels(make, slate):
    sizes = []
    batcher = make(sizes.append, batch=4)

    async def clients():
        slate.open.clear()
        first = asyncio.create_task(batcher.explain(explained("first")))
        await until(slate.begun.is_set)
        others = [asyncio.create_task(batcher.explain(explained(text))) for text in ("why", "how")]
        await until(lambda: batcher.waiting() == 2)
        labelled = [asyncio.create_task(batcher.label([job(text)])) for text in "ab"]
        await until(lambda: batcher.waiting() == 4)
        slate.open.set()
        found = await asyncio.gather(first, *others)
        return [one.text for one in found], [names(one) for one in await asyncio.gather(*labelled)]

    assert asyncio.run(clients()) == (["first", "why", "how"], [["a"], ["b"]])
    assert slate.batches == [["first"], ["a", "b"], ["why"], ["how"]]
    assert sizes == [1, 2, 1, 1]


def test_many_who_want_explanations_take_no_place_from_labels(make, slate):
    batcher = make(queue=1, batch=1)

    async def clients():
        slate.open.clear()
        begun = asyncio.create_task(batcher.explain(explained("begun")))
        await until(slate.begun.is_set)
        waiting = asyncio.create_task(batcher.explain(explained("waiting")))
        await until(lambda: batcher.waiting() == 1)
        with pytest.raises(ApiError) as refused:
            await batcher.explain(explained("too many"))
        labelled = asyncio.create_task(batcher.label([job("a")]))
        await until(lambda: batcher.waiting() == 2)
        slate.open.set()
        await asyncio.gather(begun, waiting)
        return refused.value.status, names(await labelled)

    assert asyncio.run(clients()) == (503, ["a"])


def test_an_explanation_that_took_too_long_is_not_begun(make, slate):
    batcher = make(timeout=0.05)

    async def clients():
        slate.open.clear()
        for text in ("begun", "late"):
            with pytest.raises(ApiError) as refused:
                await batcher.explain(explained(text))
            assert refused.value.status == 504
        slate.open.set()
        return (await batcher.explain(explained("after"))).text

    assert asyncio.run(clients()) == "after"
    assert slate.batches == [["begun"], ["after"]]


def test_explanations_that_nobody_waits_for_do_not_pile_up(make, slate):
    batcher = make(timeout=0.02)

    async def clients():
        slate.open.clear()
        for number in range(6):
            with pytest.raises(ApiError):
                await batcher.explain(explained(str(number)))
        assert batcher.waiting() == len(batcher._alone) == 0
        slate.open.set()
        await batcher.close()

    asyncio.run(clients())
    assert slate.batches == [["0"]]


def test_no_documents_no_waiting(make, slate):
    assert asyncio.run(make().label([])) == []
    assert slate.batches == []


def test_explanations_have_their_turn_under_steady_load(slate):
    def slowly(jobs):
        time.sleep(0.005)
        return slate.answer(jobs)

    batcher = Batcher(slowly, ServeConfig(batch=1))

    async def clients():
        async def label_on():
            while not all(reason.done() for reason in reasons):
                await batcher.label([job("label")])

        # While one of them is answered another waits: without patience there would never be a turn.
        reasons = [asyncio.create_task(batcher.explain(explained(text))) for text in ("why", "how")]
        await asyncio.gather(*(label_on() for _ in range(4)))
        return [reason.result().text for reason in reasons]

    slate.open.clear()
    threading.Timer(0.2, slate.open.set).start()
    assert asyncio.run(clients()) == ["why", "how"]
    asyncio.run(batcher.close())
    assert slate.batches[slate.batches.index(["how"]) - 1] == ["label"]  # nor do they keep labels waiting for long


def test_the_event_loop_labels_by_itself_what_takes_no_time(slate):
    threads = []

    def work(jobs):
        threads.append(threading.current_thread() is threading.main_thread())
        is_slow = any(document.text == "slow" for one in jobs for document in one.documents)
        end = time.thread_time() + (0.6 if is_slow else 0.002)
        while time.thread_time() < end:  # to sleep would take no time of the processor
            pass
        return slate.answer(jobs)

    batcher = Batcher(work, ServeConfig(batch=1), quick=0.1)

    async def clients():
        for text in ("quick", "quick", "long " * 1_000_000, "slow", "quick"):
            await batcher.label([job(text)])
        await batcher.close()

    asyncio.run(clients())
    # The first tells the pace. What is long, or comes after something slow, goes to the thread.
    assert threads == [False, True, False, True, False]


def test_explanations_are_never_done_by_the_event_loop(make, slate):
    threads = []

    def work(jobs):
        threads.append(threading.current_thread() is threading.main_thread())
        return slate.answer(jobs)

    batcher = Batcher(work, ServeConfig(), quick=1.0)

    async def clients():
        for _ in range(2):
            await batcher.label([job("a")])
            await batcher.explain(explained("a"))
        await batcher.close()

    asyncio.run(clients())
    assert threads == [False, False, True, False]


def test_what_options_ask_for_may_take_long_and_goes_to_the_thread(slate):
    threads = []

    def work(jobs):
        threads.append(threading.current_thread() is threading.main_thread())
        return slate.answer(jobs)

    batcher = Batcher(work, ServeConfig(), quick=1.0)
    all_labels = LabelJob((Document("a", id="a"),), DecisionOptions(threshold=0.0))

    async def clients():
        for one in (job("a"), job("a"), all_labels):
            await batcher.label([one])
        await batcher.close()

    asyncio.run(clients())
    assert threads == [False, True, False]


def test_the_event_loop_has_its_turn_between_quick_batches(slate):
    batcher, turns = Batcher(slate.answer, ServeConfig(batch=1), quick=1.0), []

    async def clients():
        await batcher.label([job("a")])
        slate.batches.clear()
        asked = [asyncio.create_task(batcher.label([job(text)])) for text in "abcd"]
        while not all(one.done() for one in asked):
            turns.append(len(slate.batches))
            await asyncio.sleep(0)
        await batcher.close()

    asyncio.run(clients())
    assert {1, 2, 3} <= set(turns)
