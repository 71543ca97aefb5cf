import numpy


def task():
    rng = numpy.random.RandomState(1)
    values = rng.rand(1_000_000)
    values.sort()
    return round(float(values[500_000]) * 1e9)
