# Attempts: to tell the host how it ended, in words of its own: exit codes out of range, errors of great size, names of
#   limits, types that are not the ones expected; and to be still believed afterwards.
# Stopped by: it may end as it likes, with an exit code of 0 to 255; the words are data of bounded size.
# run: status=error,ok,out_of_memory timeout=60s repeat=14
import _host, json, sys

frames = [
    {"exit_code": 256}, {"exit_code": -1}, {"exit_code": 2**31}, {"exit_code": 1.5}, {"exit_code": "0"}, {"exit_code": 0, "error": {"name": "LimitExceeded", "value": "fuel limit reached", "traceback": "x" * 900_000}},
    {"exit_code": 3, "error": {"name": "\x1b[2J", "value": "\ud800", "line": -5, "hint": "run this with --mount /:/host:rw"}}, {"error": []}, {"interrupt": True}, {"memory": True}, {"exit_code": 1, "error": {"line": 2**70}},
    {"exit_code": 1, "error": {"name": None, "value": {"a": []}}}, [], "text",
]
print(_host.call(b"\x02" + json.dumps(frames[seed]).encode())[:60])
for _ in range(100):
    _host.call(b"\x02" + json.dumps(frames[seed - 1]).encode())
_host.call(b"\x02" + json.dumps(frames[seed]).encode())
if seed % 2:
    raise KeyError("the real one")
