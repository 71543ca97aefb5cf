# What programs do to the standard streams.
# stdin: 2
# stdin: año
# stdin: 日本語
# stdout: two 2
# stdout: <written>
# stdout: wrapped
# stdout: still here
import contextlib
import io
import os
import sys

assert sys.stdin.encoding == sys.stdout.encoding == "utf-8"
assert not sys.stdout.isatty() and sys.stdout.fileno() == 1
print("two", int(input()))
assert sys.stdin.readline() == "año\n"
assert list(sys.stdin) == ["日本語\n"]
assert sys.stdin.read() == ""
try:
    input()
except EOFError:
    pass
else:
    raise AssertionError("more input")

sys.stdout.buffer.write(b"<written>\n")
try:
    print("a\ud800")
except UnicodeEncodeError:
    pass
else:
    raise AssertionError("a lone surrogate was printed")

# A wrapper that takes the raw stream along when it goes.
sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8")
print("wrapped")
sys.stdout.flush()
sys.stdout = sys.__stdout__
print("still here")

with contextlib.redirect_stdout(io.StringIO()) as caught:
    print("caught")
assert caught.getvalue() == "caught\n"
assert os.get_terminal_size.__name__ if hasattr(os, "get_terminal_size") else True
