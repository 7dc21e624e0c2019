from noisetop.events.interruption import in_class_order


def test_classes_come_in_their_order_and_new_words_last() -> None:
    assert in_class_order(["word", "thread", "nmi", "beside"]) == [
        "nmi",
        "thread",
        "beside",
        "word",
    ]
