# Attempts: to fill the host's memory, and the reader's screen, with output: both streams, by print and by descriptor, and
#   displayed values without number and of great size.
# Stopped by: the limits on output and results: what is more is counted and dropped.
# run: status=ok,error timeout=60s output=10000B results=100000B host_calls=500
import os, sys
from IPython.display import display, HTML

for _ in range(200):
    sys.stdout.write("o" * 100_000 + "\n")
    sys.stderr.write("e" * 100_000 + "\n")
    os.write(1, b"\xff\x00\x1b[2J" * 1000)
    os.write(2, b"\x9b" * 1000)
for n in range(2000):
    try:
        display(HTML("<b>" + "x" * n * 10 + "</b>"))
    except BaseException as e:
        if n < 400:
            print("BROKEN:", n, e, file=sys.stderr)
sys.stdout.write("\ud800")
sys.stdout.flush()
"v" * 10_000_000
