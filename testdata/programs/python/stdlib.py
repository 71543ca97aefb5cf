# A tour of the standard library, where a sandbox may differ.
import asyncio
import codecs
import datetime
import decimal
import gzip
import hashlib
import io
import json
import locale
import lzma
import os
import pathlib
import pickle
import re
import shutil
import statistics
import sys
import tarfile
import tempfile
import time
import uuid
import zipfile
import zoneinfo

# Texts of many encodings.
for name, text in {
    "gbk": "苹果", "gb18030": "苹果€", "big5": "蘋果", "shift_jis": "りんご", "euc_jp": "りんご", "euc_kr": "사과",
    "cp1252": "Größe €", "koi8_r": "яблоко", "utf-16": "🍎", "utf-8-sig": "é", "iso2022_jp": "りんご", "cp437": "é",
}.items():
    assert text.encode(name).decode(name) == text, name
    pathlib.Path("t.txt").write_text(text, encoding=name)
    assert open("t.txt", encoding=name).read() == text
assert sys.getdefaultencoding() == sys.getfilesystemencoding() == locale.getpreferredencoding() == "utf-8"
assert locale.getlocale()[1] == locale.getencoding() == "UTF-8"
assert open("t.txt", "w").encoding.lower() == "utf-8"

# Time.
assert abs(datetime.datetime.now(datetime.timezone.utc).timestamp() - time.time()) < 2
start = time.monotonic()
time.sleep(0.05)
assert 0.05 <= time.monotonic() - start < 5
new_york = zoneinfo.ZoneInfo("America/New_York")
moment = datetime.datetime(2024, 3, 10, 6, 30, tzinfo=datetime.timezone.utc)
assert moment.astimezone(new_york).isoformat() == "2024-03-10T01:30:00-05:00"
assert len(zoneinfo.available_timezones()) > 500
assert time.strftime("%Y-%m-%d %H:%M", time.gmtime(0)) == "1970-01-01 00:00"

# Files.
home = pathlib.Path.home()
assert home == pathlib.Path("/data") == pathlib.Path.cwd()
os.makedirs("sub/deep")
pathlib.Path("sub/deep/a.txt").write_text("a")
assert sorted(str(p) for p in pathlib.Path("sub").rglob("*")) == ["sub/deep", "sub/deep/a.txt"]
with zipfile.ZipFile("a.zip", "w", zipfile.ZIP_DEFLATED) as z:
    z.write("sub/deep/a.txt", "ü.txt")
assert zipfile.ZipFile("a.zip").read("ü.txt") == b"a"
shutil.make_archive("b", "gztar", "sub")
with tarfile.open("b.tar.gz") as t:
    assert "./deep/a.txt" in t.getnames()
    t.extractall("back", filter="data")
assert pathlib.Path("back/deep/a.txt").read_text() == "a"
os.symlink("sub/deep/a.txt", "link")
assert os.readlink("link") == "sub/deep/a.txt" and open("link").read() == "a"
shutil.copytree("sub", "copy")
os.rename("copy", "moved")
shutil.rmtree("moved")
assert not os.path.exists("moved")
with tempfile.NamedTemporaryFile("w+", suffix=".txt") as f:
    assert f.name.startswith("/tmp/") and os.path.exists(f.name)
with tempfile.TemporaryDirectory() as d:
    pass
assert not os.path.exists(d)
try:
    open("/etc/passwd")
except OSError:
    pass
else:
    raise AssertionError("host file")

# Packing.
for pack in (gzip, lzma):
    assert pack.decompress(pack.compress(b"x" * 1000)) == b"x" * 1000
assert hashlib.sha256(b"a").hexdigest().startswith("ca978112")
assert hashlib.md5(b"a").hexdigest().startswith("0cc175b9")
assert hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 2).hex().startswith("ae4d0c95")
assert pickle.loads(pickle.dumps({"a": decimal.Decimal("1.5")})) == {"a": decimal.Decimal("1.5")}
assert json.loads(json.dumps({"é": [1, None]})) == {"é": [1, None]}
assert uuid.uuid4() != uuid.uuid4() and uuid.uuid5(uuid.NAMESPACE_DNS, "a").version == 5
assert statistics.stdev([1, 2, 3]) == 1
assert re.sub(r"(?P<a>\d+)", r"<\g<a>>", "x12") == "x<12>"
assert codecs.encode("abc", "rot13") == "nop"

# Language.


def first[T](items: list[T]) -> T:
    return items[0]


match {"kind": "circle", "r": 2}:
    case {"kind": "circle", "r": r} if (d := r * 2) > 3:
        assert first(["x"]) == "x" and f"{'a' + "b"}" == "ab"
    case _:
        raise AssertionError
try:
    raise ExceptionGroup("g", [ValueError(1), KeyError("k")])
except* ValueError as g:
    assert len(g.exceptions) == 1
except* KeyError:
    pass
assert __name__ == "__main__" and sys.argv == ["stdlib.py"] and __file__ == "/data/stdlib.py"
assert sys.modules["__main__"].__dict__ is globals()

# ast's classes of constants, which Python had up to 3.13.
import ast


def calculate(node):
    if isinstance(node, ast.Num):
        return node.n
    if isinstance(node, ast.BinOp):
        return {ast.Add: int.__add__, ast.Mult: int.__mul__}[type(node.op)](calculate(node.left), calculate(node.right))
    raise TypeError(node)


assert calculate(ast.parse("2 + 3 * 4", mode="eval").body) == 14
nodes = [ast.parse(source, mode="eval").body for source in ("1", "'a'", "b'a'", "None", "True", "...", "x")]
kinds = (ast.Num, ast.Str, ast.Bytes, ast.NameConstant, ast.Ellipsis)
assert [[isinstance(n, k) for k in kinds].index(True) for n in nodes[:-1]] == [0, 1, 2, 3, 3, 4]
assert not any(isinstance(nodes[-1], k) for k in kinds) and ast.Str(s="q").s == ast.Num(n=3).value * "" + "q"
assert ast.dump(ast.Ellipsis()) == ast.dump(nodes[5]) and ast.dump(ast.Num(5)) == "Constant(value=5)"


class Strings(ast.NodeVisitor):
    found = []

    def visit_Str(self, node):
        self.found.append(node.s)


Strings().visit(ast.parse("f('a', 1, g('b'))"))
assert Strings.found == ["a", "b"]

# Errors of decimal have the words of the module in C.
import decimal

for wrong, name in (
    (lambda: decimal.Decimal("x"), "ConversionSyntax"), (lambda: decimal.Decimal(1) / 0, "DivisionByZero"),
    (lambda: decimal.Decimal(0) / 0, "DivisionUndefined"), (lambda: decimal.Decimal(-1).sqrt(), "InvalidOperation"),
):
    try:
        wrong()
    except decimal.DecimalException as e:
        assert str(e) == f"[<class 'decimal.{name}'>]", e
    else:
        raise AssertionError(name)
