"""The floor under a first word: the question and the word are stored one after the other, by a commit each."""

import time

import psycopg

from ops.testbed.percentiles import percentile

PAIRS = 60


def measure_two_commits(url: str) -> tuple[float, float]:
    """Milliseconds of two commits of one row each, one after the other, at this server: p50 and p95."""
    taken_ms: list[float] = []
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE bench_commits (number int)")
        for _ in range(PAIRS):
            began = time.perf_counter()
            for number in range(2):
                connection.execute("INSERT INTO bench_commits VALUES (%s)", [number])
            taken_ms.append((time.perf_counter() - began) * 1000)
        connection.execute("DROP TABLE bench_commits")
    return percentile(taken_ms, 0.5), percentile(taken_ms, 0.95)
