"""Adapter of a suite of cases for the command line: run_cases.py --adapter cli_adapter.py:call, with $CLOCHE_BIN.

The turns of one session are the files of one `cloche run --session`, so that its limits hold for each of them.
"""

import base64
import json
import os
import subprocess
import tempfile
from pathlib import Path

CLOCHE = os.environ["CLOCHE_BIN"]
SUFFIX = {"python": ".py", "javascript": ".js"}
STATUS = {"out_of_memory": "memory", "trapped": "crash"}  # others are called the same


def call(request):
    with tempfile.TemporaryDirectory(prefix="cloche-case-") as folder:
        folder = Path(folder)
        sessions = {}
        for number, turn in enumerate(request["turns"]):
            sessions.setdefault(turn["session"], []).append((number, turn))
        outcomes, files = {}, dict(request["files"])
        for name, turns in sessions.items():
            (folder / name).mkdir()
            outcomes |= run(request, folder / name, turns, files)
    return {"turns": [outcomes[number] for number in sorted(outcomes)], "files": files}


def run(request, folder, turns, files):
    """Runs the turns of one session: their outcomes by number. What it leaves in /data goes into files."""
    out = folder / "out"
    command = [CLOCHE, "run", "--json", "--out", out, "--timeout", f"{min(turn['timeout_s'] for _, turn in turns)}s"]
    for pattern in request["allow"]:
        command += ["--allow", pattern]
    for number, (name, content) in enumerate(request["files"].items()):
        given = folder / f"given-{number}"
        given.write_bytes(content)
        command += ["--file", f"{name}={given}"]
    if "memory_mb" in request["limits"]:
        command += ["--memory", f"{request['limits']['memory_mb']}MiB"]
    if "output_bytes" in request["limits"]:
        command += ["--output", str(request["limits"]["output_bytes"])]
    if turns[0][1]["stdin"] is not None:
        (folder / "stdin").write_bytes(turns[0][1]["stdin"])
        command += ["--stdin", folder / "stdin"]
    if request["mode"] == "session":
        command.append("--session")
    for number, turn in turns:
        program = folder / f"turn{number + 1}{SUFFIX[request['language']]}"
        program.write_bytes(turn["code"].encode())
        command.append(program)
    done = subprocess.run(command, capture_output=True, timeout=sum(turn["timeout_s"] for _, turn in turns) + 60)
    results = [json.loads(line) for line in done.stdout.splitlines()]
    if len(results) != len(turns):
        raise RuntimeError(f"{len(results)} results of {len(turns)} turns: {done.stderr.decode()[-800:]}")
    for path in out.rglob("*") if out.exists() else ():
        if path.is_file():
            files[str(path.relative_to(out))] = path.read_bytes()
    return {number: outcome(result) for (number, _), result in zip(turns, results)}


def outcome(result):
    shown = [r["data"] for r in result.get("results", ())]
    values = [r["data"].get("text/plain") for r in result.get("results", ()) if r.get("main")]
    error = result.get("error")
    return {
        "exit_code": result["exit_code"],
        "status": STATUS.get(result["status"], result["status"]),
        "stdout": result["stdout"].encode(),
        "stderr": result["stderr"].encode(),
        "truncated": "truncated" in result,
        "value": values[-1] if values else None,
        "error": error and {"type": error["name"], "message": error["value"], "line": error.get("line")},
        "charts": [base64.b64decode(data["image/png"]) for data in shown if "image/png" in data],
        "wall_s": result["usage"]["wall_ms"] / 1000,
    }
