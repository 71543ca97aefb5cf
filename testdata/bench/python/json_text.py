import json


def task():
    data = [{"id": i, "name": f"item {i}", "tags": ["a", "b", str(i)], "price": i * 1.25, "nested": {"ok": True, "none": None}} for i in range(2000)]
    length = 0
    for _ in range(5):
        text = json.dumps(data)
        length += len(text) + len(json.loads(text))
    return length
