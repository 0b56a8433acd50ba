"""How much one client may ask for: a burst, then so much a second."""

from ops.bucket import Bucket


def test_a_burst_is_free_and_what_comes_above_it_waits_for_its_tokens() -> None:
    bucket = Bucket(capacity=10, per_s=2, now=0)
    bucket.spend(10, 0)
    assert bucket.wait_s(0) == 0
    bucket.spend(4, 0)
    assert bucket.wait_s(0) == 2
    assert bucket.wait_s(1.5) == 0.5
    assert bucket.wait_s(2) == 0


def test_a_bucket_fills_again_up_to_its_capacity_and_no_further() -> None:
    bucket = Bucket(capacity=10, per_s=2, now=0)
    bucket.spend(10, 0)
    assert not bucket.is_calm(2)
    assert bucket.is_calm(2.5)
    bucket.spend(11, 1_000)
    assert bucket.wait_s(1_000) == 0.5
