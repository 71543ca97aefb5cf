# The smaller packages, one real thing each.
import attrs
import charset_normalizer
import dateutil.parser
import formulaic
import jinja2
import more_itertools
import patsy
import pandas as pd
import regex
import tabulate
import tomllib
import toolz
import tqdm
import yaml

assert yaml.safe_load("a: [1, {b: null}]") == {"a": [1, {"b": None}]}
assert yaml.safe_dump({"ü": 1}, allow_unicode=True) == "ü: 1\n"
assert jinja2.Template("{% for x in xs %}{{ x }},{% endfor %}").render(xs=[1, 2]) == "1,2,"
assert tabulate.tabulate([["a", 1]], headers=["k", "v"], tablefmt="github").startswith("| k")
assert pd.DataFrame({"a": [1]}).to_markdown(index=False).startswith("|   a |")
assert regex.findall(r"\p{Han}+", "abc 中文 d") == ["中文"]
assert str(dateutil.parser.parse("3 Feb 2024 10:00")) == "2024-02-03 10:00:00"
assert charset_normalizer.from_bytes("Größe, Straße, Übermaß, schön und ärgerlich".encode("cp1252")).best() is not None
assert list(more_itertools.chunked(range(5), 2)) == [[0, 1], [2, 3], [4]]
assert toolz.pipe(3, lambda x: x + 1, str) == "4"
assert formulaic.model_matrix("a", pd.DataFrame({"a": [1.0, 2.0]})).shape == (2, 2)
assert patsy.dmatrix("a", {"a": [1.0, 2.0]}).shape == (2, 2)
assert tomllib.loads("a = [1]") == {"a": [1]}
assert sum(tqdm.tqdm(range(4), disable=True)) == 6


@attrs.define
class Point:
    x: int
    y: int = 0


assert Point(1) == Point(1, 0)
