from taxocaps.progress import silent


def test_silence_takes_what_progress_takes():
    assert silent("reading", 3) is None
    assert silent("reading", 3, 10) is None
    assert silent("training", 3, 10, "loss 0.5") is None
    assert silent("training", 3, note="loss 0.5") is None
