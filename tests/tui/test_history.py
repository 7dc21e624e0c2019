from noisetop.summary.summary import Summary
from noisetop.tui.history import LENGTH, NO_NOISE, History
from tests.builders import cpu, source, summary


def _interval(*noise_ns: int, duration_ns: int = 1_000_000) -> Summary:
    return summary(
        *(
            cpu(number, *([source("irq", "a", durations_ns=[ns])] if ns else []))
            for number, ns in enumerate(noise_ns)
        ),
        duration_ns=duration_ns,
    )


def test_bars_share_one_scale() -> None:
    history = History()
    history.add(_interval(800, 100))
    history.add(_interval(0, 400))
    assert history.bars(0, 4) == f"  █{NO_NOISE}"
    assert history.bars(1, 4) == "  ▂▅"
    assert history.bars(7, 4) == "    "


def test_intervals_of_other_lengths_compare() -> None:
    history = History()
    history.add(_interval(800))
    history.add(_interval(400, duration_ns=500_000))
    history.add(_interval(0, duration_ns=0))
    assert history.bars(0, 2) == "██"


def test_the_worst_leaves_with_its_interval() -> None:
    history = History()
    history.add(_interval(8_000))
    for _ in range(LENGTH):
        history.add(_interval(8))
    assert history.bars(0, 3) == "███"


def test_a_copy_stands_still() -> None:
    history = History()
    history.add(_interval(8))
    copy = history.copy()
    history.add(_interval(800))
    history.clear()
    assert copy.bars(0, 2) == " █"
    assert history.bars(0, 2) == "  "
