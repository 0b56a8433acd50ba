"""`python -m personas.safety.learn`: learns the weights anew from the labelled sentences, and writes `en.weights.tsv`.

Logistic regression with one small step for each sentence (AdaGrad), in an order that is always the same; a feature
counts by how much more often it occurs on one side than on the other. It takes seconds, needs nothing but Python, and
reads only `known.jsonl` and `rounds.jsonl`: no weight is ever learned from a held-out sentence.
"""

import hashlib
import math
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from personas.safety.files import WEIGHTS
from personas.safety.findings import Tier
from personas.safety.load import load
from personas.safety.measure import LabelledMessage, read_set
from personas.safety.weights import BIAS

SETS = Path(__file__).resolve().parents[2] / "tests" / "safety"
LEARNED_FROM = ("known.jsonl", "rounds.jsonl")
EPOCHS = 12
STEP = 0.05
BIAS_STEP = 0.02
DECAY = 0.03
MIN_SENTENCES = 2
"""What occurs in fewer sentences is not weighed."""
SMOOTHING = 0.5
MIN_WEIGHT = 0.05
"""A smaller weight is left out."""
SEED = 1

Example = tuple[list[str], bool]
Learned = tuple[dict[str, float], float]


def learn(examples: Sequence[Example]) -> Learned:
    """Return the weight of each feature, and the score of a message with none of them."""
    sides = measure_sides(examples)
    rows = [([name for name in features if name in sides], wanted) for features, wanted in examples]
    weights: defaultdict[str, float] = defaultdict(float)
    steps: defaultdict[str, float] = defaultdict(float)
    bias = 0.0
    chance = random.Random(SEED)
    for _ in range(EPOCHS):
        chance.shuffle(rows)
        for features, wanted in rows:
            score = bias + sum([weights[name] * sides[name] for name in features])
            wrong = 1 / (1 + math.exp(-max(-30.0, min(30.0, score)))) - wanted
            bias -= BIAS_STEP * wrong
            for name in features:
                slope = wrong * sides[name] + DECAY * weights[name]
                steps[name] += slope * slope
                weights[name] -= STEP * slope / math.sqrt(steps[name] + 1e-6)
    return {name: weight * sides[name] for name, weight in weights.items()}, bias


def measure_sides(examples: Sequence[Example]) -> dict[str, float]:
    """Return how much more often each feature occurs on one side than on the other: the logarithm of the ratio."""
    counts = {
        side: Counter(name for features, wanted in examples if wanted is side for name in features)
        for side in (True, False)
    }
    totals = {side: sum(wanted is side for _, wanted in examples) + SMOOTHING for side in (True, False)}
    return {
        name: abs(
            math.log(
                (counts[True][name] + SMOOTHING)
                / totals[True]
                * totals[False]
                / (counts[False][name] + SMOOTHING)
            )
        )
        for name in sorted(set(counts[True]) | set(counts[False]))
        if counts[True][name] + counts[False][name] >= MIN_SENTENCES
    }


def read_sentences() -> list[LabelledMessage]:
    """Read every sentence that weights are learned from."""
    return [message for name in LEARNED_FROM for message in read_set(SETS / name)]


def digest_sentences(messages: Iterable[LabelledMessage]) -> str:
    """Return 12 hex digits that change with any sentence or tier."""
    content = "\n".join(f"{message.tier}\t{message.text}" for message in messages)
    return hashlib.sha256(content.encode()).hexdigest()[:12]


def main() -> None:
    """Learn and write."""
    messages = read_sentences()
    read = load().read_features
    seen = [(sorted(read(message.text)), message.expected) for message in messages]
    danger, danger_bias = learn([(names, tier is Tier.RED) for names, tier in seen if tier is not Tier.AMBER])
    concern, concern_bias = learn([(names, tier is not Tier.NONE) for names, tier in seen])
    lines = [f"{BIAS}\t{danger_bias:.2f}\t{concern_bias:.2f}"]
    for name in sorted(set(danger) | set(concern)):
        pair = [table.get(name, 0.0) for table in (danger, concern)]
        if max(map(abs, pair)) >= MIN_WEIGHT:
            lines.append("\t".join([name, *(f"{weight:.2f}" if weight else "" for weight in pair)]))
    head = (
        f"# learned from sentences {digest_sentences(messages)}: name, weight for danger, weight for concern"
    )
    WEIGHTS["en"].write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    sys.stdout.write(f"{len(lines)} weights from {len(messages)} sentences.\n")


if __name__ == "__main__":
    main()
