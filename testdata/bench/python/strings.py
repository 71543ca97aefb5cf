def task():
    parts = []
    for i in range(100_000):
        parts.append(f"{i:05d}-{'x' * (i % 7)}".upper())
    text = ",".join(parts)
    return len(text.replace("X", "yy").split(","))+ text.count("9")
