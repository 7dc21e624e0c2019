from noisetop.counters.losses import Losses, describe_losses


def test_nothing_lost() -> None:
    assert describe_losses(Losses(by_cpu={1: {"ring_full": 0}})) == "lost 0"


def test_every_reason_is_told_and_they_sum_up() -> None:
    losses = Losses({3: {"ring_full": 5, "negative": 1}, 4: {"ring_full": 2}}, 10, 20, 30)
    assert describe_losses(losses) == (
        "LOST 67 events, unpaired 1: ring full 7 (CPU 3-4), negative 1 (CPU 3),"
        " lost batch 10, lost spool 20, recursion misses 30"
    )


def test_what_the_kernel_did_not_report_is_told_but_not_as_lost() -> None:
    assert describe_losses(Losses({0: {"switch": 2}})) == "lost 0, unpaired 2: switch 2 (CPU 0)"
