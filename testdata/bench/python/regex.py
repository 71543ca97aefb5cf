import re


def task():
    text = " ".join(f"user{i}@example{i % 13}.com said {i * 7} on 2026-{i % 12 + 1:02d}-{i % 28 + 1:02d};" for i in range(4000))
    found = len(re.findall(r"[\w.]+@[\w.]+\.com", text)) + sum(int(m[1]) for m in re.finditer(r"(\d{4})-\d\d-\d\d", text))
    return found + len(re.sub(r"(\d+) on", r"<\1>", text))
