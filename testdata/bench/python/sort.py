import random


def task():
    rng = random.Random(1)
    words = [str(rng.randrange(10**9)) for _ in range(60_000)]
    total = 0
    for key in (None, len, lambda w: w[::-1]):
        words.sort(key=key)
        total += int(words[len(words) // 2])
    return total
