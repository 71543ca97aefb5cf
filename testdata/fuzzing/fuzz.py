"""Fuzzes for some minutes those targets that have had the least, and adds to record.tsv what each has had.

    python3 testdata/fuzzing/fuzz.py --minutes 20 [-- FLAGS OF GO TEST]
    python3 testdata/fuzzing/fuzz.py --list    # every target and what it has had, the next to be fuzzed first

A day's worth is put together out of runs of any length: a run goes on where the last one ended. Time is that of the
processors, which says the same on a busy machine as on an idle one; the build does not count.
"""

import argparse
import datetime
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
RECORD = HERE / "record.tsv"
HEAD = "target\tcpu_s\texecutions\tfailures\tcommit\tdate\n"
SLICE = 120  # seconds at a target before it is the next one's turn


def targets():
    """Every fuzz target, as "package name"."""
    for file in sorted(pathlib.Path().rglob("*_test.go")):
        for name in re.findall(r"^func (Fuzz\w+)\(", file.read_text(), re.M):
            yield f"./{file.parent} {name}"


def read():
    """What each target has had: a list of the record's columns after its name."""
    rows = [line.split("\t") for line in RECORD.read_text().splitlines()[1:]]
    return {row[0]: [int(row[1]), int(row[2]), int(row[3]), *row[4:]] for row in rows}


def write(had):
    RECORD.write_text(HEAD + "".join("\t".join(map(str, [t, *row])) + "\n" for t, row in sorted(had.items())))


def output(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout.strip()


def children():
    """Seconds of processor time that ended child processes took."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def fuzz(target, seconds, flags, folder):
    """Fuzzes a target, with its package's test binary in a folder, built when it is not there yet.

    Gives its processor time in seconds, its executions, and whether an input failed.
    """
    package, name = target.split()
    cache = pathlib.Path(output("go", "env", "GOCACHE"), "fuzz", output("go", "list", package))
    binary = pathlib.Path(folder, f"{package.replace('/', '_')}.test")
    if not binary.exists():
        subprocess.run(["go", "test", *flags, "-c", "-fuzz", ".", "-o", binary, package], check=True)
    before = children()
    # Little time goes into making a find small: by default that is most of a short run.
    ran = subprocess.run(
        [binary, "-test.run", "^$", "-test.fuzz", f"^{name}$", "-test.fuzztime", f"{seconds}s",
         "-test.fuzzminimizetime", "20x", "-test.fuzzcachedir", cache],
        cwd=package, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    done = re.findall(r"execs: (\d+)", ran.stdout)
    # On a busy machine Go may take the end of the time for a failure (golang/go#75804), of which there is no input.
    late = re.search(r"^--- FAIL: .*\n    context deadline exceeded\nFAIL\n", ran.stdout, re.M)
    failed = ran.returncode != 0 and not late
    if failed or not done:
        sys.stdout.write(ran.stdout)
    return round(children() - before), int(done[-1]) if done else 0, failed


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--minutes", type=float, default=20, help="how long to fuzz (20)")
    args.add_argument("--list", action="store_true", help="say what each target has had, and fuzz nothing")
    args.add_argument("flags", nargs="*", help="flags of go test")
    args = args.parse_args()

    had = {target: [0, 0, 0, "", ""] for target in targets()}
    had.update((target, row) for target, row in read().items() if target in had)
    least_first = lambda: sorted(had, key=lambda target: had[target][0])
    if args.list:
        for target in least_first():
            print(target, had[target][0])
        return

    failed, end = [], time.monotonic() + args.minutes * 60
    commit = output("git", "rev-parse", "--short", "HEAD")
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < end:
            target = next((t for t in least_first() if t not in failed), None)
            if target is None:
                break
            seconds = max(1, min(SLICE, round(end - time.monotonic())))
            cpu, executions, failure = fuzz(target, seconds, args.flags, folder)
            if failure:
                failed.append(target)
            row = had[target]
            had[target] = [row[0] + cpu, row[1] + executions, row[2] + failure, commit, datetime.date.today().isoformat()]
            write(had)
            print(f"{target}: {cpu} s, {executions:,} executions{', FAILED' if failure else ''}", flush=True)
    hours = sum(row[0] for row in had.values()) / 3600
    print(f"{len(had)} targets have had {hours:.1f} hours, each at least {had[least_first()[0]][0]} s")
    if failed:
        sys.exit("failed: " + ", ".join(failed))


main()
