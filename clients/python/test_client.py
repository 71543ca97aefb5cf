"""Tests the client against a server: CLOCHE_URL and CLOCHE_KEY say which."""

import logging
import math
import os
import sys

from cloche import Client, ClocheError, Tool, ToolError

with Client(os.environ["CLOCHE_URL"]) as client:
    result = client.execute("6 * 7")
    assert result.ok and result.value == "42" and result.usage["fuel"] > 0, result

    result = client.execute(
        "import matplotlib.pyplot as plt\nprint(open('in.txt').read(), factor)\nplt.plot([1, 2])\nopen('out.bin', 'wb').write(b'\\xff')",
        files={"in.txt": "text", "b.bin": b"\x00\xff"}, inputs={"factor": [1, 2]}, collect=["*.bin"], timeout=20)
    assert result.stdout == "text [1, 2]\n", result
    assert result.charts[0].startswith(b"\x89PNG"), result.results
    assert result.files == {"/data/b.bin": b"\x00\xff", "/data/out.bin": b"\xff"}, result.files
    assert [(c.path, c.op) for c in result.files_changed] == [("/data/out.bin", "created")], result.files_changed
    assert not result.more_files_changed

    result = client.execute("def f():\n  raise ValueError('no')\nf()")
    assert result.status == "error" and result.error.name == "ValueError" and result.error.line == 2, result
    assert client.execute("while True: pass", timeout=0.2).status == "timeout"
    assert client.execute("const a: number = 2; a", language="typescript").value == "2"

    events = list(client.stream("print('a')\n5"))
    assert [e.type for e in events] == ["start", "stdout", "result", "end"], events
    assert events[1].text == "a\n" and events[2].shown.main and events[3].result.value == "5", events

    for wrong, status in [(lambda: client.execute("1", language="cobol"), 400), (lambda: client.open_session("ses_none"), 404),
                          (lambda: Client(os.environ["CLOCHE_URL"], "wrong").execute("1"), 401)]:
        try:
            wrong()
            raise AssertionError(f"no error where {status} is due")
        except ClocheError as e:
            assert e.status == status and e.code and e.message and e.request_id, vars(e)

    with client.session(files={"a/b.txt": "x"}) as session:
        session.execute("n = 1")
        session.execute("n += 1")
        assert session.execute("n").value == "2"
        assert [h.turn for h in session.history()] == [0, 1, 2, 3]
        fork, = session.fork(turn=1)
        assert fork.execute("n").value == "1"
        session.rollback(1)
        assert session.execute("n").value == "1"
        snapshot = session.snapshot()
        with client.session(snapshot=snapshot.id) as restored:
            assert restored.execute("n + 10").value == "11"
        assert snapshot.id in [s.id for s in client.snapshots()]
        client.delete_snapshot(snapshot.id)
        session.write_file("ü &?.bin", b"\x00\x01")
        assert session.read_file("ü &?.bin") == b"\x00\x01" and session.read_file("/data/a/b.txt") == b"x"
        assert sorted(f.name for f in session.list_files()) == ["a", "ü &?.bin"], session.list_files()
        session.delete_file("ü &?.bin")
        assert [f.name for f in session.list_files("/data/a")] == ["b.txt"]
        assert session.interrupt() is False
        session.reset()
        assert session.execute("n").error.name == "NameError"
        assert session.id in [s.id for s in client.sessions()]
        fork.close()
    try:
        session.execute("1")
        raise AssertionError("a closed session runs")
    except ClocheError as e:
        assert e.status in (404, 410), e

    # Leaving a stream interrupts the program.
    with client.session() as session:
        for event in session.stream("import time\nprint('up', flush=True)\nwhile True: time.sleep(0.01)"):
            if event.type == "start":
                running = event.raw["execution_id"]
            if event.type == "stdout":
                try:
                    raise AssertionError(f"a run that goes on has a result: {client.result(running)}")
                except ClocheError as e:
                    assert e.code == "busy", e
                break
        for _ in range(200):
            try:
                assert session.execute("1 + 1").value == "2"
                break
            except ClocheError as e:
                assert e.status == 409, e
    assert client.runtimes()["runtimes"]

    # Tools of ours, and such whose results come later.
    asked = []

    def lookup(name):
        asked.append(name)
        if name == "nobody":
            raise ToolError("nobody of that name", "KeyError")
        return {"": object(), "odd": math.nan}.get(name, {"age": len(name)})  # JSON can write neither of the first two

    logging.getLogger("cloche").disabled = True
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    tools = [Tool("lookup", lookup, "Finds a person.", schema, timeout=10), Tool("approve")]
    ask = "import tools\nfor n in ('Ada', 'nobody', '', 'odd'):\n  try: print(tools.lookup(name=n))\n  except Exception as e: print(type(e).__name__, e)"
    for result in (client.execute(ask, tools=tools[:1]), [e.result for e in client.stream(ask, tools=tools[:1])][-1]):
        assert "{'age': 3}" in result.stdout and "nobody of that name" in result.stdout and result.stdout.count("the tool failed") == 2, result
    assert asked == ["Ada", "nobody", "", "odd"] * 2, asked
    with client.session(tools=tools) as session:
        result = session.execute("n = 5\nyes = await tools.approve.aio(total=n)\nprint(yes, tools.lookup(name='Bo'))")
        assert result.status == "suspended" and result.pending_calls[0].arguments == {"total": 5}, result
        again = client.open_session(session.id, tools)
        call, = again.pending_calls()
        assert call == result.pending_calls[0] and call.name == "approve", call
        try:
            session.execute("1")
            raise AssertionError("a suspended session runs")
        except ClocheError as e:
            assert (e.status, e.code) == (409, "suspended"), e
        result = again.resume({call.id: None})
        assert result.ok and result.stdout == "None {'age': 2}\n" and again.pending_calls() == [], result
        result = session.execute("await tools.approve.aio()")
        result = session.resume({result.pending_calls[0].id: ToolError("too much", "ValueError")})
        assert result.error.name == "ValueError" and "too much" in result.error.value, result
        session.execute("await tools.approve.aio()")
        assert session.give_up().status == "cancelled"
        assert session.execute("n").value == "5"

print("all is well", file=sys.stdout)
