def task():
    total = 0
    for i in range(2_000_000):
        total = (total + i * i) & 0xFFFFFFFF
    return total
