from noisetop.losses import describe_losses
from noisetop.summary import Losses


def test_nothing_lost() -> None:
    assert describe_losses(Losses(by_cpu={1: {"ring_full": 0}})) == "lost 0"


def test_every_reason_is_told_and_they_sum_up() -> None:
    losses = Losses({3: {"ring_full": 5, "negative": 1}, 4: {"ring_full": 2}}, 10, 20, 30)
    assert describe_losses(losses) == (
        "LOST 68 events: ring full 7 (CPU 3-4), negative 1 (CPU 3),"
        " unread 10, unwritten 20, recursion misses 30"
    )
