# Integers of numpy are 64 bits wide where a program does not say otherwise, and sums do not wrap around.
import io

import numpy as np
import pandas as pd

big = 2**31
for made in (
    np.array([1, 2]), np.array([[1], [2]]), np.array(3), np.array(range(3)), np.asarray([1]), np.arange(3),
    np.arange(1, 9, 2), np.full(3, 7), np.zeros(3, dtype=int), np.ones((2, 2), int), np.array([1.5, 2], dtype=int),
    np.linspace(0, 9, 4, dtype=int), np.full((2, 2), 1, dtype=int), np.eye(2, dtype=int), np.zeros_like([1.5], dtype=int),
    np.random.randint(0, 10, 5), np.fromiter([1, 2], int), np.array([1, 2]) * 3, np.arange(5)[::2],
):
    assert made.dtype == np.int64, (made, made.dtype)
assert int((np.array([100_000]) ** 2)[0]) == 10**10
assert int((np.arange(100_001) ** 2)[-1]) == 10**10
assert np.random.randint(0, 10**10) < 10**10

# What is named is kept.
assert np.array([1], dtype=np.int32).dtype == np.int32
assert np.array([np.int32(1)]).dtype == np.int32
assert np.asarray(np.zeros(2, np.int32)).dtype == np.int32
assert np.array([1, 2.5]).dtype == np.float64 and np.array([True]).dtype == bool
assert np.array([2**40]).dtype == np.int64 and np.array([]).dtype == np.float64
assert np.arange(3.0).dtype == np.float64 and np.full(2, 1.5).dtype == np.float64
assert np.arange(3, dtype="i4").dtype == np.int32 and np.full(2, 2**40).dtype == np.int64

# Sums of narrow integers.
narrow = np.full(3, 2**30, dtype=np.int32)
for total in (
    narrow.sum(), np.sum(narrow), np.sum([2**30] * 3), np.cumsum(narrow)[-1], narrow.reshape(1, 3).sum(axis=1)[0],
    np.array([200] * 20_000_000, dtype=np.uint8).sum() - 4 * 10**9 + 3 * 2**30,
    pd.Series(narrow).sum(), np.nansum(narrow), np.add.accumulate(narrow.astype("i8"))[-1],
):
    assert int(total) == 3 * 2**30, total
assert np.prod(np.array([2**16, 2**16], dtype=np.int32)) == 2**32
assert np.sum(np.array([1, 2], dtype=np.int32), dtype=np.int16).dtype == np.int16
assert np.sum(pd.Series([1, 2])) == 3 and np.sum(np.ma.array([1, 2])) == 3

# Counts and indices of 64 bits are taken.
assert np.bincount(pd.Series([1, 1, 2])).tolist() == [0, 2, 1]
assert np.bincount(np.array([0, 1]), weights=[0.5, 1.5]).tolist() == [0.5, 1.5]
assert np.repeat([5, 6], pd.Series([1, 2])).tolist() == [5, 6, 6]
assert np.repeat("a", 2).tolist() == ["a", "a"]
assert np.take([5, 6], np.array([1])).tolist() == [6] and np.array([5, 6])[np.array([1])] == 6

assert repr(np.array([1])) == "array([1])" and repr(np.array([1], np.int32)) == "array([1], dtype=int32)"
assert repr(np.array([])) == "array([], dtype=float64)" and repr(np.arange(3)[1]) == "np.int64(1)"

frame = pd.DataFrame({"a": [1, 2, 3]})
frame["b"] = np.arange(3)
assert frame.dtypes.tolist() == [np.int64, np.int64]
assert pd.DataFrame(np.arange(4).reshape(2, 2)).sum().tolist() == [2, 4]
assert pd.Series([70_000]).pow(2).sum() == 4_900_000_000

# Seeded values are those of every other numpy.
np.random.seed(0)
assert np.random.randint(0, 100, 5).tolist() == [44, 47, 64, 67, 67]
assert np.random.default_rng(0).integers(0, 100, 5).tolist() == [85, 63, 51, 26, 30]

# What a program asks for by int, the positions that it gets, and its lists of integers are 64 bits wide too.
assert np.array([3e9]).astype(int)[0] == 3_000_000_000
assert np.array([3e9]).astype("int").dtype == "int64"
assert pd.Series([3e9]).astype(int)[0] == 3_000_000_000
assert pd.DataFrame({"a": [3e9]}).astype({"a": "int"})["a"][0] == 3_000_000_000
assert pd.read_csv(io.StringIO("a\n3000000000\n"), dtype={"a": int})["a"][0] == 3_000_000_000
assert np.int_ is np.int64 and np.issubdtype(np.array([1]).dtype, int)
i = np.argmax(np.arange(100_000))
assert i * 10**6 == 99_999_000_000 and type(i) is np.int64
assert (np.where(np.arange(10) > 8)[0] * 10**10).tolist() == [90_000_000_000]
assert np.array([3, 1, 2]).argsort().dtype == "int64" and np.nonzero([0, 1])[0].dtype == "int64"
assert np.power(10, 10) == 10**10 and np.square(100_000) == 10**10 and np.multiply([10**5], [10**5]).tolist() == [10**10]
assert np.outer([10**5], [10**5])[0, 0] == 10**10 and np.dot([10**5], [10**5]) == 10**10
assert np.where(np.array([True]), 10**5, 2)[0] * 10**5 == 10**10
assert (np.concatenate([[10**5], [1]]) * 10**5).tolist() == [10**10, 10**5]
assert np.vander([1000], 5)[0, 0] == 10**12 and np.diff([0, 10**5])[0] * 10**5 == 10**10
assert np.max([10**5]) * 10**5 == 10**10 and np.sum([2**31, 1]) == 2**31 + 1
assert np.unique([2, 1, 2], return_counts=True)[1].dtype == "int64"
# What is 32 bits wide by the program's own wish stays so, and ufuncs are what they were.
small = np.array([1, 2], dtype="int32")
assert (small * 2).dtype == np.add(small, small).dtype == np.sort(small).dtype == "int32"
assert np.add.reduce([1, 2, 3]) == 6 and np.multiply.outer([1, 2], [3]).tolist() == [[3], [6]]
assert isinstance(np.add, np.ufunc) and np.add.nin == 2 and np.maximum.accumulate([1, 3, 2]).tolist() == [1, 3, 3]
assert np.add(np.float32(1), 1).dtype == "float32" and (np.float32([1]) + 1).dtype == "float32"
assert np.take([5, 6, 7], np.argsort([2, 0, 1])).tolist() == [6, 7, 5]
assert np.array([5, 6]).take(np.array([1])).tolist() == [6]
assert pd.Series([1, 2]).agg(np.sum) == 3 and pd.DataFrame({"a": [1, 2]}).apply(np.square)["a"].tolist() == [1, 4]

# The type int means 64 bits where a program asks numpy about it, and still is int.
frame = pd.DataFrame({"a": [1, 2], "b": [1.5, 2.5], "c": ["x", "y"]})
assert frame["a"].dtype == int and np.array([1]).dtype == int and not frame["b"].dtype == int
assert np.zeros(1, np.int32).dtype != int
assert [c for c in frame if frame[c].dtype in (int, float)] == ["a", "b"]
assert (frame.dtypes == int).tolist() == [True, False, False]
assert np.dtype(int) == np.int64 and np.iinfo(int).max == 2**63 - 1 and np.iinfo(np.int32).max == 2**31 - 1
assert type(1) == int and int == type(1) and type(True) != int and type(1) in [float, int] and type("") not in (int, bool)


def kind(dtype=int):
    return "whole" if dtype == int else "other"


assert [kind(), kind(int), kind(float), kind(frame["a"].dtype), kind(np.dtype("i4"))] == ["whole", "whole", "other", "whole", "other"]
assert np.add.reduce([2**31 - 1] * 3) == np.add.reduce(narrow) * 2 - 3 == 6442450941
assert np.multiply.accumulate([2**20, 2**20])[-1] == 2**40 and np.add.reduce(np.array([0.5, 1])) == 1.5
for made in (np.zeros_like([1]), np.repeat(1, 3), np.select([[True]], [[1]]), np.full_like([1.5], 2, dtype=int), np.ones_like(3)):
    assert made.dtype == np.int64, (made, made.dtype)
assert np.result_type(int, np.int32) == np.int64 and not np.can_cast(int, np.int32)

# Truth values and integers make 64 bits, in operators and functions, of arrays and one by one.
mask = np.array([True, False, True])
for made in (
    mask + 1, 1 + mask, mask * 3, 1 - mask, mask // 2, mask % 2, 2**mask, mask << 3, mask & 1, mask | 2, mask ^ 1, -(mask + 0),
    (np.arange(3) > 1) * 1, np.append(mask, 5), np.clip(mask, 0, 3), np.outer(mask, [1, 2]), np.convolve(mask, [1, 1]),
    np.add.reduceat(mask, [0, 2]), np.dot(mask, [1, 2, 3]), np.asarray(True) + 1, np.True_ + 1, mask[0] * 5, sum(mask),
    np.maximum(mask, 3), divmod(mask, 2)[0], pd.Series(mask) + 1, pd.DataFrame({"a": mask})["a"] * 1,
    np.partition([3, 1, 2], 1), np.take([1, 2], [0, 1]), np.choose([0, 1], [[1, 2], [3, 4]]), np.prod(range(1, 15)),
    np.arange(3).astype(np.intp), np.array([1], dtype=np.intp), np.intp(5),
):
    assert made.dtype == np.int64, (made, made.dtype)
assert (mask * 10**10).tolist() == [10**10, 0, 10**10] and sum(mask) * 2 * 10**9 == 4 * 10**9
assert (mask / 2).dtype == float and (mask + mask).dtype == bool and (mask + 1.5).dtype == float and (mask == 1).dtype == bool
assert (mask + np.int32(1)).dtype == np.int32 and (mask * np.uint8(2)).dtype == np.uint8 and (mask**2).dtype == np.int8
assert np.prod(range(1, 15)) == 87178291200 and np.zeros(1, dtype="uint").dtype == np.uint64
try:
    mask += 1
except TypeError as e:
    assert "from dtype('int64') to dtype('bool')" in str(e), e
else:
    raise AssertionError("truth values hold numbers")
assert type(np.random.randint(5)) is type(np.random.RandomState(0).randint(5)) is int
fibonacci = np.linalg.matrix_power([[1, 1], [1, 0]], 60)
assert fibonacci[0, 1] == 1548008755920 and fibonacci.dtype == np.linalg.matrix_rank([[1]]).dtype == np.int64
assert np.linalg.multi_dot([[[10**5]], [[10**5]], [[1]]])[0, 0] == np.linalg.outer([10**5], [10**5])[0, 0] == 10**10
assert np.poly1d([1, 2, 3])(10**6) == 10**12 + 2 * 10**6 + 3 and (np.poly1d([10**6, 1]) ** 2).coeffs.tolist() == [10**12, 2 * 10**6, 1]
assert (np.matrix([[10**5]]) ** 2)[0, 0] == (np.asmatrix([[10**5]]) * np.matrix("100000"))[0, 0] == 10**10
assert np.add.outer([2**31 - 1], [1])[0, 0] == 2**31 and np.lcm.reduce([10**5, 10**5 + 1]) == 10000100000
assert np.apply_along_axis(lambda r: r * 10**5, 0, [10**5])[0] == np.piecewise([10**5], [[True]], [lambda x: x**2])[0] == 10**10
assert np.block([[10**5]]).shape == (1, 1) and np.block([[np.eye(2, dtype=int), np.zeros((2, 1), int)]]).dtype == np.int64

# Counts and positions may be 64 bits wide; what is counted stays as it is.
two, far = np.array([0, 1]), np.array([2**40, 1])
assert np.repeat(far, np.array([2, 1])).tolist() == far.repeat(np.array([2, 1])).tolist() == [2**40, 2**40, 1]
assert np.choose(two, [far, far + 1]).tolist() == two.choose([far, far + 1]).tolist() == [2**40, 2]
assert np.choose(np.array([[0], [1]]), (np.array([[1, 2, 3]]), np.array([[4], [5]]))).tolist() == [[1, 2, 3], [5, 5, 5]]
assert np.searchsorted(np.array([3, 1, 2]), 2, sorter=np.array([1, 2, 0])) == 1
assert np.array([3, 1]).searchsorted(2, "left", np.argsort([3, 1])) == 1
assert np.multiply.reduceat(np.arange(1.0, 7).reshape(2, 3), [0, 2], 1).tolist() == [[2, 3], [20, 6]]
assert np.logical_or.reduceat([0, 1, 0], np.array([0, 2])).tolist() == [True, False]
for made in (
    np.full((2, 2), [1, 2]), np.unwrap([0, 1, 2, -1], period=4), np.histogram_bin_edges([1.0, 2], [1, 2]),
    np.matrix([[1, 3, 2]]).argmax(), np.matrix([[1, 3]]).argmin(0), np.bmat("two, two; two, two"), np.repeat(*np.unique([1, 1, 2], return_counts=True)),
    np.recarray((2,), dtype=[("x", int)]).x, np.zeros(2, dtype=(int, 3)), np.fromiter([(1, 2)], np.dtype((int, 2))),
):
    assert made.dtype == np.int64, (made, made.dtype)
table = np.genfromtxt(io.StringIO("n,x\n1,2.5\n100000,3"), delimiter=",", names=True, dtype=None)
assert table["n"].dtype == np.int64 and (table["n"] ** 2).tolist() == [1, 10**10] and table["x"].dtype == float
assert np.genfromtxt(["1 2"], dtype="i4,i4").dtype[0] == np.int32
assert np.conj is np.conjugate and np.bitwise_not is np.invert
index = pd.Index([3, 1, 2])
for made in (
    index.sort_values(return_indexer=True)[1], index.join(pd.Index([1, 5]), how="left", return_indexers=True)[2],
    pd.date_range("2024-01-01", periods=3, freq="12h").indexer_at_time("12:00"),
    pd.MultiIndex.from_arrays([list("abb"), list("def")]).get_loc("b").stop, frame.memory_usage(index=False),
):
    assert made.dtype == np.int64, (made, made.dtype)

groups = pd.Series(1, pd.date_range("2024-01-30", periods=3)).resample("MS").indices
assert len(groups) == 2 and groups["none"] == []

# Libraries that know types by their letters take 64 bits for what they are.
from scipy import linalg

assert linalg.schur(np.array([[0, 2, 2], [0, 1, 2], [1, 0, 1]]), output="complex")[0].dtype == np.complex128
assert all(part.dtype == np.complex128 for part in linalg.qz([[1, 2], [3, 4]], [[1, 0], [0, 2]], output="complex"))
assert linalg.toeplitz([1, 2, 3]).dtype == linalg.circulant([1, 2]).dtype == np.int64
assert linalg.lu_factor([[1.0, 2], [3, 4]])[1].dtype == np.int32

from sklearn.cluster import dbscan, k_means, ward_tree

points = [[1.0, 1], [1, 2], [9, 9], [9, 8]]
assert all(part.dtype == np.int64 for part in (*dbscan(points, min_samples=1), ward_tree(points)[0]))
assert k_means(points, 2, random_state=0)[1].dtype == np.int32

# Masked arrays too, which keep what fills their gaps.
gaps = np.ma.array([1, 2, 3], mask=[0, 1, 0], fill_value=-999)
assert gaps.filled().tolist() == [1, -999, 3] and np.ma.masked_equal([1, 2], 2).fill_value == 2 and np.ma.array([1]).fill_value == 999999
for made in (
    np.ma.masked_array([1, 2], [0, 1]), np.ma.MaskedArray([10**5]) ** 2, gaps, gaps.argsort(), gaps.argmin(), gaps.nonzero()[0], gaps.count(axis=0),
    np.ma.notmasked_edges(gaps), np.ma.array([1, 2]).view([("a", int)])["a"], np.ma.masked_array([1.5], dtype=int),
):
    assert made.dtype == np.int64, (made, made.dtype)
assert np.ma.masked_array(np.array([1], "i4")).dtype == np.ma.masked_array([1], dtype="i4").dtype == np.int32
assert np.ma.masked_array([1.5]).dtype == float and np.ma.MaskedArray(gaps).mask.tolist() == [False, True, False]
# Where positions or counts of 64 bits are told, the numbers beside them stay as they are, in the same array.
large, at = np.arange(5) * 10**12, np.array([1, 3])
assert np.repeat(large, np.arange(5) % 2).tolist() == large.repeat(np.arange(5) % 2).tolist() == [10**12, 3 * 10**12]
assert np.repeat(np.int32([1, 2]), [np.int64(1), np.int64(2)]).dtype == np.int32
assert np.choose(at // 3, [large[:2], large[3:]]).tolist() == [0, 4 * 10**12]
assert np.choose(1, [large[0], large[4]]) == 4 * 10**12 and np.add.reduceat(large, at).tolist() == [3 * 10**12, 7 * 10**12]
assert np.bincount(at, weights=large[at]).tolist() == [0, 10**12, 0, 3 * 10**12]
np.put(large, at, 7), large.put(at - 1, [8, 9])
assert large.tolist() == [8, 7, 9, 7, 4 * 10**12]
where = np.zeros(2, int)
assert np.argmax([[1, 2], [4, 3]], axis=0, out=where) is where and where.tolist() == [1, 1]
assert np.array([[1, 2], [4, 3]]).argmin(axis=1, out=where) is where and where.tolist() == [0, 1]

# Narrow fields of records that a program asked for stay narrow.
asked = np.array([(1, 0.5)], dtype=[("a", "i4"), ("b", "f8")])
for made in (np.rec.array(asked), np.rec.array([(1, 0.5)], dtype=asked.dtype), np.rec.array([(1, 0.5)], dtype="<i4,<f8")):
    assert made.dtype[0] == np.int32, made.dtype
assert np.rec.array(np.ones(2, "f4,i4")).view("f8").view("f4,i4").dtype[1] == np.int32
assert np.rec.fromrecords([(1, "a")]).dtype[0] == np.int64

# Types of Python's own integers, and numbers that are drawn as int.
assert np.result_type(1, 2) == np.result_type(True, 3) == np.result_type(np.bool, 1) == np.int64
assert np.result_type(1, np.int32(2)) == np.int32 and np.result_type(1, np.int8) == np.int8 and np.result_type(True) == bool
assert np.random.default_rng(0).integers(0, 2**40, 2, dtype=int).dtype == np.int64
assert np.random.default_rng(0).integers(0, 10, 3, dtype="int").tolist() == np.random.default_rng(0).integers(0, 10, 3).tolist() == [8, 6, 5]

# Masked arrays, and columns of texts.
lone = np.ma.array([2**31 - 1, 5], mask=[False, True])
for made in (
    np.ma.masked_array([1]), np.ma.MaskedArray([1]), np.ma.zeros(1, dtype=int), np.ma.ones(1, int), np.ma.empty(1, dtype="int"),
    np.ma.identity(2, dtype=int), np.ma.masked_all(1, dtype=int), np.ma.add([2**31 - 1], [1]) - 1, np.ma.vander([1, 2]), lone + 1,
    lone.argsort(), lone.argmin(), lone.reshape(1, 2).count(axis=0), np.ma.count(lone.reshape(1, 2), axis=0), *lone.nonzero(),
    np.ma.argmax([1, 2]), np.ma.array([1.5]).astype(int), np.ma.array([1.5], dtype=int),
):
    assert made.dtype == np.int64, (made, made.dtype)
assert np.ma.multiply([10**5], [10**5])[0] == np.ma.dot([[10**5]], [[10**5]])[0, 0] == 10**10
assert np.ma.array([(1, 2.5)], dtype=[("a", int), ("b", float)]).dtype["a"] == np.int64
assert repr(np.ma.array(np.int32([1, 2]), mask=[0, 1])).endswith("fill_value=np.int64(999999),\n            dtype=int32)")
table = np.genfromtxt(["a,b,c", "1,5000000000,0.5"], delimiter=",", dtype=None, names=True)
assert [table.dtype[name] for name in "abc"] == [np.int64, np.int64, float] and table["b"] == 5 * 10**9
assert np.ma.array([3, 1, 3]).view([("a", int)]).dtype["a"] == np.array([1], dtype=np.long).dtype == np.dtype(np.long) == np.int64
assert np.ma.array([(1, 2)], dtype=[("a", int), ("b", int)]).view([("a", "int"), ("b", float)]).shape == (1,)
assert np.array([1], dtype=np.ulong).dtype == np.uint64

# Arguments by name, and dtypes that are told as int.
for made in (
    np.asarray(a=[1]), np.asanyarray(a=[1], dtype=int), np.zeros_like(a=[1]), np.full_like(a=[1], fill_value=3),
    np.ones_like(a=[1.5], dtype=int), np.empty_like(prototype=[1]), np.repeat(a=[1], repeats=2), np.arange(start=0, stop=5),
    np.arange(0, stop=5, step=2), np.arange(stop=3), np.arange(0, 5, 1, int), np.arange(0, 5, 1, None), np.full(2, [3]),
    np.full((2, 2), range(2)), np.append(arr=[1], values=3), np.diff(a=[1, 2]), np.insert(arr=[1], obj=0, values=5),
    np.stack(arrays=([1], [2])), np.vstack(tup=([1], [2])), np.unique(ar=[1, 2]), np.sort(a=[2, 1]), np.tile(A=[1], reps=2),
    np.roll(a=[1, 2], shift=1), np.clip(a=[1, 2], a_min=0, a_max=1), np.concatenate(([1], [2]), dtype=int),
    np.random.randint(0, 5, 3, "int"), np.percentile([1, 2, 3], 50, method="nearest"),
):
    assert made.dtype == np.int64, (made, made.dtype)
assert np.full(2, [2**40]).tolist() == [2**40] * 2 and np.full(2, 2.5).dtype == float and np.arange(0, stop=2.5).dtype == float
most = np.array([2**31 - 1, 1])
for total in (
    most.sum(dtype=int), most.sum(dtype="int"), np.sum(most, dtype=int), np.add.reduce(most, dtype=int), np.nansum(most, dtype=int),
    most.cumsum(dtype=int)[-1], np.cumsum(most, dtype=int)[-1], np.add(most[0], [1], dtype=int)[0], np.einsum("i->", most, dtype=int),
    np.trace(np.diag(most), dtype=int), np.nancumsum(most, dtype=int)[-1], np.sum(a=[2**31 - 1], initial=1),
):
    assert total == 2**31 and total.dtype == np.int64, (total, total.dtype)
assert most.prod(dtype=int) == np.prod(most, dtype=int) == 2**31 - 1 and np.vectorize(lambda x: x * 2**31)([1])[0] == 2**31
assert np.promote_types("int", "i2") == np.int64 and np.can_cast("i8", "int") and np.iinfo("int").max == 2**63 - 1
assert np.sum(np.float32([0.5]), dtype=np.float32).dtype == np.float32 and np.add(1, 2, dtype="f4").dtype == np.float32

# What pandas takes a program's lists for: labels of 64 bits, in what it makes of them and in what it says.
series = pd.Series([1, 2, 3])
assert series.groupby([0, 0, 1]).sum().index.dtype == series.to_frame().groupby([0, 0, 1]).sum().index.dtype == np.int64
try:
    series.to_frame().loc[[7, 9, 12]]
except KeyError as e:
    assert "Index([7, 9, 12], dtype='int64')" in str(e), e
else:
    raise AssertionError("there are no such labels")

# Narrow where the program says so.
into = np.zeros(2, np.int32)
for made in (
    np.indices((2, 3), dtype=np.int32), np.trace([[1, 2], [3, 4]], dtype=np.int32), np.cumulative_sum([1, 2], dtype=np.int32),
    np.take([1, 2], [0, 1], out=into), np.concatenate(([1], [2]), dtype=np.int32), np.add([1], [2], dtype=np.int32),
    np.sum([1, 2], dtype=np.int32), np.zeros_like([1], dtype=np.int32), np.full(2, [3], np.int32), np.arange(3, dtype=np.int32),
    np.fromfunction(lambda i: i, (2,), dtype=np.int32), np.linspace(0, 4, 5, dtype=np.int32), np.eye(2, dtype="i4"),
    np.stack(([1], [2]), dtype=np.int32), np.random.randint(0, 5, 2, np.int32),
    np.random.default_rng(0).integers(0, 5, 2, dtype=np.int32), np.ma.zeros(2, dtype=np.int32), np.ma.array([1], dtype=np.int32),
):
    assert made.dtype == np.int32, (made, made.dtype)
assert np.take([1, 2], [0, 1], out=into) is into and np.indices((2,)).dtype == np.indices((2,), dtype=int).dtype == np.int64
for made in (*pd.RangeIndex(3).join(pd.Index([2, 5]), how="outer", return_indexers=True)[1:], pd.Index([3, 1]).sort_values(return_indexer=True)[1]):
    assert made.dtype == np.int64, (made, made.dtype)
for dtype in (int, "int64", np.int64, np.dtype("i8")):
    assert np.array([1]).dtype == dtype and pd.Series([1]).dtype == dtype and not np.float64(1).dtype == dtype
unsorted = np.array([3, 1, 2])
for order in (unsorted.argsort(), np.argsort(unsorted).tolist(), np.argsort(unsorted).astype(np.int32)):
    assert np.searchsorted(unsorted, [2, 4], sorter=order).tolist() == unsorted.searchsorted([2, 4], sorter=order).tolist() == [1, 3]
assert pd.Series(unsorted).searchsorted(2, sorter=unsorted.argsort()) == 1

# Files of numbers: int is 64 bits wide, and a dtype may be an array itself.
np.arange(12, dtype="i8").tofile("numbers.bin")
assert np.fromfile("numbers.bin", int).tolist() == np.fromfile("numbers.bin", dtype="int").tolist() == list(range(12))
assert np.fromfile("numbers.bin", "(3,2)i8").shape == (2, 3, 2) and np.fromfile("numbers.bin", "(3,2)i8", count=1).shape == (1, 3, 2)
for wrong, told in ((dict(dtype=object), ValueError), (dict(sep=",", offset=1), TypeError)):
    try:
        np.fromfile("numbers.bin", **wrong)
    except told:
        pass
    else:
        raise AssertionError(wrong)

# pandas knows numpy's functions as numpy has them.
floats = pd.Series([1.0, 2.0])
assert floats.apply([np.sum, np.prod]).to_dict() == {"sum": 3, "prod": 2} and floats.apply({"a": np.sum, "b": np.max}).to_dict() == {"a": 3, "b": 2}
assert floats.to_frame("x").agg({"x": [np.min, np.nanmax]})["x"].tolist() == [1, 2]
table = np.genfromtxt(["1,,3", "4,5,6"], dtype=int, delimiter=",", converters={1: lambda text: int(text or -9)})
assert table.dtype == np.int64 and table.tolist() == [[1, -9, 3], [4, 5, 6]], table
columns = np.genfromtxt(["1 2.5", "3 4.5"], dtype=None, unpack=True)
assert [column.dtype for column in columns] == [np.int64, float]

# Who asks what a function takes is shown the one that numpy wrote in Python.
import inspect

for place in (np, np.linalg, np.fft, np.char, np.strings):
    for name, function in vars(place).items():
        assert type(getattr(function, "__wrapped__", None)) is not type(np.mean), name
assert "dtype" in inspect.getfullargspec(np.sum.__wrapped__).args
