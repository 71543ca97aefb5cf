"""Uses Cloche through E2B's own SDK, which is pointed at localhost:49999 by E2B_DEBUG=true."""

import base64

from e2b_code_interpreter import Sandbox

sandbox = Sandbox.create()

# Values, and variables that stay.
sandbox.run_code("x = 20")
execution = sandbox.run_code("x += 1; x * 2")
assert execution.text == "42", execution
assert execution.error is None and execution.results[0].is_main_result, execution
first = execution.execution_count
assert sandbox.run_code("1").execution_count == first + 1

# Output, as it comes.
seen = []
execution = sandbox.run_code("import sys\nprint('out')\nprint('err', file=sys.stderr)", on_stdout=seen.append)
assert "".join(execution.logs.stdout) == "out\n" and "".join(execution.logs.stderr) == "err\n", execution.logs
assert [m.line for m in seen] == ["out\n"] and seen[0].timestamp > 1e18, seen

# Errors.
execution = sandbox.run_code("def f():\n    raise ValueError('no')\nf()")
assert execution.error.name == "ValueError" and execution.error.value == "no", execution.error
assert "line 2, in f" in execution.error.traceback, execution.error.traceback
assert not execution.logs.stderr, execution.logs

# Charts and tables.
execution = sandbox.run_code("import matplotlib.pyplot as plt\nplt.plot([1, 2], [3, 4])\nplt.show()")
assert base64.b64decode(execution.results[0].png).startswith(b"\x89PNG"), execution
execution = sandbox.run_code("import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['x', 'y']})")
assert execution.results[0].data == {"a": [1, 2], "b": ["x", "y"]}, execution.results[0].data
assert "<table" in execution.results[0].html

# The environment of one program.
code = "import os; os.environ.get('WHO')"
assert sandbox.run_code(code, envs={"WHO": 'me "é"'}).text == "'me \"é\"'"
assert sandbox.run_code(code).text is None or sandbox.run_code(code).text == "None"

# Other languages.
assert sandbox.run_code("const a: number[] = [1, 2]; a.length", language="typescript").text == "2"
sandbox.run_code("globalThis.b = 5", language="javascript")
assert sandbox.run_code("b + 1", language="js").text == "6"
try:
    sandbox.run_code("1", language="r")
    raise AssertionError("R is not offered")
except Exception as e:
    assert "not offered" in str(e), e

# Contexts.
context = sandbox.create_code_context(cwd="/tmp/work")
assert context.cwd == "/tmp/work" and context.language == "python", context
sandbox.run_code("y = 1", context=context)
assert sandbox.run_code("import os; y, os.getcwd()", context=context).text == "(1, '/tmp/work')"
assert sandbox.run_code("y").error.name == "NameError"
assert context.id in [c.id for c in sandbox.list_code_contexts()]
sandbox.restart_code_context(context)
assert sandbox.run_code("y", context=context).error.name == "NameError"
sandbox.remove_code_context(context)
try:
    sandbox.run_code("1", context=context)
    raise AssertionError("the context was removed")
except Exception as e:
    assert "not found" in str(e), e

# A client that does not wait.
try:
    sandbox.run_code("import time\nkept = 1\nwhile True: time.sleep(0.01)", timeout=0.5)
    raise AssertionError("a loop without end ended")
except Exception as e:
    assert "timed out" in str(e), e
assert sandbox.run_code("kept").text == "1"
print("all is well")
