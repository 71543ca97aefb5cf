package python_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/runtimes"
)

func TestLastValue(t *testing.T) {
	s := open(t)
	for _, tt := range []struct {
		name, code, text, json string
	}{
		{"number", "1 + 1", "2", "2"},
		{"text", "'a' 'b'", "'ab'", `"ab"`},
		{"none", "print", "<built-in function print>", ""},
		{"None", "None", "", ""},
		{"statement", "x = 1", "", ""},
		{"semicolon", "5;", "", ""},
		{"after a semicolon", "x = 2; x", "2", "2"},
		{"import and value", "import math; math.pi > 3", "True", "true"},
		{"block", "if True:\n    5", "", ""},
		{"call over lines", "max(\n  1,\n  3,\n)", "3", "3"},
		{"text over lines", "f'''\n{1 + 1}\n'''", `'\n2\n'`, `"\n2\n"`},
		{"text that looks like code", "'''\nx = 1\n'''", `'\nx = 1\n'`, `"\nx = 1\n"`},
		{"argument that looks like an assignment", "dict(\na=1)", "{'a': 1}", `{"a": 1}`},
		{"condition over lines", "(1\nif True else\n2)", "1", "1"},
		{"comparison", "x = 1\nx == 1", "True", "true"},
		{"keyword arguments only", "x == 1  # = comment", "True", "true"},
		{"lambda", "(lambda x=1: x)()", "1", "1"},
		{"walrus", "(y := 3)", "3", "3"},
		{"comment after", "4\n# the end\n", "4", "4"},
		{"comment with quotes", "4  # it's", "4", "4"},
		{"backslash", "1 + \\\n1", "2", "2"},
		{"decorated", "@staticmethod\ndef f(): pass", "", ""},
		{"else", "if 0:\n  1\nelse:\n  2", "", ""},
		{"only a comment", "# nothing", "", ""},
		{"nothing", "", "", ""},
		{"await", "import asyncio\nawait asyncio.sleep(0, 6)", "6", "6"},
		{"await before", "y = await asyncio.sleep(0, 7)\ny", "7", "7"},
		{"annotations of the future", "from __future__ import annotations\ndef f(a: nope): pass\nf.__annotations__", "{'a': 'nope'}", `{"a": "nope"}`},
		{"byte order mark, CRLF, tabs", "\ufeffif 1:\r\n\tz = '''a\r\nb'''\r\nz", `'a\nb'`, `"a\nb"`},
		{"not a number", "[1.5, float('nan'), {'a': float('inf')}]", "[1.5, nan, {'a': inf}]", `[1.5, null, {"a": null}]`},
		{"tuple", "(1, 'é')", "(1, 'é')", "[1, \"\\u00e9\"]"},
		{"no JSON", "{1: 2}", "{1: 2}", ""},
		{"set", "{1}", "{1}", ""},
		{"mark of an attachment", `{"$bytes": 3}`, `{'$bytes': 3}`, ""},
		{"long list", "list(range(100000))[:0] or list(range(20000))", "", ""},
		{"numpy", "import numpy as np\nnp.float64(2.5)", "np.float64(2.5)", "2.5"},
		{"array", "np.array([[1, 2]])", "array([[1, 2]])", "[[1, 2]]"},
		{"surrogate", "'\\udc80'", `'\udc80'`, `"\udc80"`},
		{"future semicolon in text", "x = ';'\nx", "';'", `";"`},
		{"docstring", "'''a'''\n", "'a'", `"a"`},
		{"annotations", "a: int = 1\nb: str = 'x'\nimport sys\nsys.modules['__main__'].__annotations__", "{'a': <class 'int'>, 'b': <class 'str'>}", ""},
		{"magic", "%matplotlib inline\n3", "3", "3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := s.run(tt.code).ok(t)
			if tt.name == "long list" {
				if got := r.value("text/plain"); len(got) < 4000 || len(got) > 10_000 || !strings.HasSuffix(got, "...]") {
					t.Errorf("text of %d bytes: %.100s", len(got), got)
				}
				return
			}
			if got := r.value("text/plain"); got != tt.text {
				t.Errorf("text %q, want %q", got, tt.text)
			}
			if got := r.value("application/json"); got != tt.json {
				t.Errorf("json %q, want %q", got, tt.json)
			}
			if r.both != "" {
				t.Errorf("it printed %q", r.both)
			}
		})
	}
}

func TestValueForms(t *testing.T) {
	s := open(t)
	s.run("import pandas as pd, numpy as np, sympy, matplotlib.pyplot as plt, PIL.Image\nfrom IPython.display import *").ok(t)
	for _, tt := range []struct {
		name, code string
		want       map[string]string // MIME type to what it contains
	}{
		{"frame", `pd.DataFrame({"x": [0.0, np.nan, np.inf], "y": ["a", None, "c"], "z": pd.array([1, None, 3], dtype="Int64"), "t": pd.to_datetime(["2024-01-01"] * 3)})`, map[string]string{
			"text/plain": "<NA>", "text/html": "<table", "application/vnd.dataframe+json": `[[0.0, "a", 1, "2024-01-01T00:00:00"], [null, null, null, "2024-01-01T00:00:00"], ["inf", "c", 3, "2024-01-01T00:00:00"]]`,
		}},
		{"frame's shape", `pd.DataFrame({"a": range(1000)})`, map[string]string{
			"text/plain": "[1000 rows x 1 columns]", "text/html": "1000 rows", "application/vnd.dataframe+json": `"row_count": 1000`,
		}},
		{"series", `pd.Series([1, 2])`, map[string]string{"text/plain": "dtype: int64"}},
		{"formula", `sympy.symbols("x")**2`, map[string]string{"text/plain": "x**2", "text/latex": "x^{2}"}},
		{"picture", `PIL.Image.new("RGB", (2, 2))`, map[string]string{"text/plain": "PIL.Image", "image/png": "\x89PNG"}},
		{"figure", `f = plt.figure(); f.text(0, 0, "a"); f`, map[string]string{"text/plain": "<Figure size 640x480 with 0 Axes>", "image/png": "\x89PNG"}},
		{"blank figure", `plt.figure()`, map[string]string{"text/plain": "<Figure size 640x480 with 0 Axes>"}},
		{"markdown", `Markdown("# a")`, map[string]string{"text/plain": "Markdown", "text/markdown": "# a"}},
		{"html", `HTML("<b>x</b>")`, map[string]string{"text/plain": "HTML", "text/html": "<b>x</b>"}},
		{"svg", `SVG("<svg/>")`, map[string]string{"text/plain": "SVG", "image/svg+xml": "<svg/>"}},
		{"json", `JSON({"a": [1]})`, map[string]string{"text/plain": "JSON", "application/json": `{"a": [1]}`}},
		{"own html", "class A:\n    def _repr_html_(self): return '<i>'\n    def __repr__(self): return 'A!'\nA()", map[string]string{"text/plain": "A!", "text/html": "<i>"}},
		{"own bundle", "class B:\n    def _repr_mimebundle_(self, include=None, exclude=None): return {'text/plain': 'own', 'image/png': 'iVBORw0KGgo='}, {}\nB()", map[string]string{"text/plain": "own", "image/png": "\x89PNG\r\n"}},
		{"what is no MIME type", "class M:\n    def _repr_mimebundle_(self, **kw): return {'nonsense': 'x', 'a/b c': 'y', 3: 4, 'text/x-own': 'z', **{f'x/{i}': 'x' for i in range(100)}}\n    def __repr__(self): return 'M!'\nr = M()._repr_mimebundle_()\ndisplay(M(), include=['text/plain', 'text/x-own'])", nil},
		{"class", "A", map[string]string{"text/plain": "A'>"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := s.run(tt.code).ok(t)
			if r.stderr != "" {
				t.Errorf("stderr %q", r.stderr)
			}
			if len(r.shown) != 1 {
				t.Fatalf("%d things shown, want 1", len(r.shown))
			}
			if tt.want == nil {
				if got := r.shown[0].Data; len(got) != 2 || got["text/x-own"] != "z" {
					t.Errorf("shown %v", got)
				}
				return
			}
			for mime := range r.shown[0].Data {
				if _, ok := tt.want[mime]; !ok {
					t.Errorf("unexpected %s: %.100q", mime, r.value(mime))
				}
			}
			for mime, want := range tt.want {
				if got := r.value(mime); !strings.Contains(got, want) {
					t.Errorf("%s: %.300q does not contain %q", mime, got, want)
				}
			}
		})
	}
	if r := s.run("class C:\n    def _repr_html_(self): 1/0\nC()").ok(t); !strings.Contains(r.stderr, "ZeroDivisionError") || r.value("text/plain") == "" {
		t.Errorf("a form that fails: stderr %q, value %q", r.stderr, r.value("text/plain"))
	}
}

func TestDisplay(t *testing.T) {
	r := once(t, "print('a')\ndisplay(1, 'b')\ndisplay({'text/html': '<b>'}, raw=True)\nprint('c')\n3").ok(t)
	var got []string
	for _, d := range r.shown {
		b, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(b))
	}
	want := []string{
		`{"data":{"application/json":1,"text/plain":"1"}}`,
		`{"data":{"application/json":"b","text/plain":"'b'"}}`,
		"{\"data\":{\"text/html\":\"\\u003cb\\u003e\"}}",
		`{"data":{"application/json":3,"text/plain":"3"},"main":true}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
	if r.stdout != "a\nc\n" {
		t.Errorf("stdout %q", r.stdout)
	}
}

// sizes are the widths and heights of the pictures that a turn showed.
func (r result) sizes(t *testing.T) [][2]int {
	t.Helper()
	var all [][2]int
	for _, d := range r.shown {
		if b, ok := d.Data["image/png"].([]byte); ok {
			c, err := png.DecodeConfig(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, [2]int{c.Width, c.Height})
		}
	}
	return all
}

func TestFigures(t *testing.T) {
	s := open(t)
	for _, tt := range []struct {
		name, code string
		charts     int
	}{
		{"shown", "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nprint('done')", 1},
		{"nothing", "print('no plot')", 0},
		{"left open", "plt.plot([2, 1])\nNone", 1},
		{"handed over once", "plt.show()", 0},
		{"as value", "fig, ax = plt.subplots()\nax.plot([1])\nfig", 1},
		{"axes as value", "import pandas as pd\npd.DataFrame({'a': [1, 2]}).plot()", 1},
		{"closed", "plt.plot([1]); plt.close()", 0},
		{"its own show", "f = plt.figure()\nf.gca()\nf.show()", 1},
		{"opened before one that pandas opens", "plt.figure(figsize=(10, 6))\npd.DataFrame({'a': [1, 2]}).plot()\nplt.show()", 1},
		{"opened before an error", "plt.figure()\n1/0", 0},
		{"with an error", "plt.plot([1])\n1/0", 1},
		{"two", "plt.figure(figsize=(4, 3))\nplt.plot([1])\nplt.show()\nplt.figure(figsize=(8, 3))\nplt.plot([2])\nplt.show()", 2},
		{"two open", "plt.figure(figsize=(4, 3))\nplt.plot([1])\nplt.figure(figsize=(8, 3))\nplt.plot([2]);", 2},
		{"seaborn", "import seaborn as sns\nsns.barplot(x=['a', 'b'], y=[1, 2])", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := s.run(tt.code)
			sizes := r.sizes(t)
			if len(sizes) != tt.charts {
				t.Errorf("%d charts, want %d", len(sizes), tt.charts)
			}
			if tt.charts == 2 && sizes[0][0] >= sizes[1][0] {
				t.Errorf("widths %v: not in the order in which they were drawn", sizes)
			}
			if !strings.HasSuffix(tt.name, "an error") && r.stderr != "" {
				t.Errorf("stderr %q", r.stderr)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	s := open(t)
	s.write("data.csv", "Sales ,b\n1,2\n")
	for _, tt := range []struct {
		name, code  string
		want        runtimes.GuestError // without its traceback
		says, hides []string            // in the traceback
	}{
		{"innermost line", "def f(a):\n    return 1 / a\n\nf(0)", runtimes.GuestError{Name: "ZeroDivisionError", Value: "division by zero", Line: 2},
			[]string{"Traceback (most recent call last):\n  File \"turn-", ", line 4, in <module>\n    f(0)\n", "    return 1 / a\n"}, nil},
		{"syntax", "print('no')\nx = [1, 2\ny = 3", runtimes.GuestError{Name: "SyntaxError", Value: "'[' was never closed", Line: 2},
			[]string{"line 2\n    x = [1, 2\n        ^\nSyntaxError: '[' was never closed\n"}, []string{"Traceback"}},
		{"tabs", "def f():\n    a = 1\n\treturn a\n", runtimes.GuestError{Name: "TabError", Value: "inconsistent use of tabs and spaces in indentation", Line: 3}, nil, nil},
		{"cause", "try:\n    int('x')\nexcept ValueError as e:\n    raise KeyError('k') from e", runtimes.GuestError{Name: "KeyError", Value: "'k'", Line: 4},
			[]string{"ValueError: invalid literal", "direct cause of the following exception"}, nil},
		{"context", "try:\n    int('x')\nexcept ValueError:\n    raise KeyError('k')", runtimes.GuestError{Name: "KeyError", Value: "'k'", Line: 4},
			[]string{"During handling of the above exception"}, nil},
		{"group", "raise ExceptionGroup('g', [ValueError(1), TypeError('t')])", runtimes.GuestError{Name: "ExceptionGroup", Value: "g (2 sub-exceptions)", Line: 1},
			[]string{"Exception Group Traceback", "| ValueError: 1", "| TypeError: t"}, nil},
		{"note", "e = ValueError('v')\ne.add_note('a note')\nraise e", runtimes.GuestError{Name: "ValueError", Value: "v", Line: 3}, []string{"ValueError: v\na note\n"}, nil},
		{"suggestion", "value = 1\nvalu", runtimes.GuestError{Name: "NameError", Value: "name 'valu' is not defined", Line: 2}, []string{"Did you mean: 'value'?"}, nil},
		{"in a coroutine", "import asyncio\nasync def f():\n    1 / 0\nawait f()", runtimes.GuestError{Name: "ZeroDivisionError", Value: "division by zero", Line: 3}, []string{"await f()"}, []string{"asyncio"}},
		{"repr", "class R:\n    def __repr__(self):\n        raise ValueError('no')\nR()", runtimes.GuestError{Name: "ValueError", Value: "no", Line: 3}, nil, nil},
		{"its own str fails", "class E(Exception):\n    def __str__(self): 1/0\nraise E", runtimes.GuestError{Name: "E", Value: "<exception str() failed>", Line: 3}, nil, nil},
		{"recursion", "def f(): f()\nf()", runtimes.GuestError{Name: "RecursionError", Value: "maximum recursion depth exceeded", Line: 1, Hint: "Calls are nested too deeply (the limit here is 1,000): check the end of the recursion, or use a loop."},
			[]string{"[Previous line repeated 99"}, nil},
		{"two functions", "def a(n): b(n)\ndef b(n): a(n)\na(1)", runtimes.GuestError{Name: "RecursionError", Value: "maximum recursion depth exceeded", Line: 1, Hint: "Calls are nested too deeply (the limit here is 1,000): check the end of the recursion, or use a loop."},
			[]string{"more frames ...]"}, nil},
		{"missing module", "import torch.nn", runtimes.GuestError{Name: "ModuleNotFoundError", Value: "No module named 'torch'", Line: 1,
			Hint: "torch is not installed and cannot be, neither from inside the sandbox nor by the host, since it has compiled parts; use scikit-learn or numpy instead."}, []string{"No module named 'torch'\n"}, []string{"site-packages"}},
		{"missing file", "open('dat.csv')", runtimes.GuestError{Name: "FileNotFoundError", Value: "[Errno 2] No such file or directory: 'dat.csv'", Line: 1,
			Hint: "The working folder /data holds 'data.csv'; 'data.csv' is closest."}, nil, nil},
		{"missing column", "import pandas as pd\npd.read_csv('data.csv')['Sales']", runtimes.GuestError{Name: "KeyError", Value: "'Sales'", Line: 2,
			Hint: "The frame has the columns 'Sales ', 'b'; 'Sales ' is closest."}, nil, nil},
		{"read-only", "open('/usr/local/lib/python315.zip/x', 'w')", runtimes.GuestError{Name: "OSError", Value: "[Errno 30] Read-only file system: '/usr/local/lib/python315.zip/x'", Line: 1,
			Hint: "/usr/local/lib/python315.zip/x is read-only; write under /data (kept) or /tmp."}, nil, nil},
		{"no input", "input('name? ')", runtimes.GuestError{Name: "EOFError", Value: "EOF when reading a line", Line: 1,
			Hint: "The program asked for input and standard input is at its end: give the run an input (cloche run --stdin FILE, or stdin in a request), or take the value from a variable."}, nil, nil},
		{"not UTF-8", "b'\\xe9t\\xe9'.decode()", runtimes.GuestError{Name: "UnicodeDecodeError", Value: "'utf-8' codec can't decode byte 0xe9 in position 0: invalid continuation byte", Line: 1,
			Hint: "The bytes are not utf-8: try encoding='gbk', 'cp1252', 'latin-1' or 'utf-16', or find it with charset_normalizer.from_path()."}, nil, nil},
		{"shell", "!apt-get install x", runtimes.GuestError{Name: "SyntaxError", Value: "invalid syntax", Line: 1,
			Hint: "Lines with ! run a shell, which the sandbox does not have: use Python's own modules."}, nil, nil},
		{"pip", "!pip install nothing_of_that_name", runtimes.GuestError{Name: "ModuleNotFoundError", Value: "No module named 'nothing_of_that_name'", Line: 1,
			Hint: "nothing_of_that_name is not installed and cannot be installed from inside the sandbox; there are numpy, pandas, scipy, sklearn, statsmodels, matplotlib, seaborn, sympy, networkx, PIL, openpyxl, xlsxwriter, lxml, bs4, yaml, jinja2, pypdf, reportlab, sqlite3 and the standard library, or have the host add it (cloche run --package nothing_of_that_name, or packages in its policy)."}, nil, nil},
		{"thread", "import _thread\n_thread.start_new_thread(print, ())", runtimes.GuestError{Name: "RuntimeError", Value: "can't start new thread: threads are not available in this sandbox", Line: 2,
			Hint: "Use concurrent.futures, whose pools run their work in line, or call the function directly."}, nil, nil},
		{"surrogate", "print('before')\nprint('a' + chr(0xD800))", runtimes.GuestError{Name: "UnicodeEncodeError", Value: "'utf-8' codec can't encode character '\\ud800' in position 1: surrogates not allowed", Line: 2}, nil, nil},
		{"long text", "raise ValueError('x' * 1000000)", runtimes.GuestError{Name: "ValueError", Line: 1}, []string{"characters left out"}, nil},
		{"a module of old", "import imghdr", runtimes.GuestError{Name: "ModuleNotFoundError", Value: "No module named 'imghdr'", Line: 1,
			Hint: "imghdr is no longer a part of Python; use PIL.Image.open(path).format instead."}, nil, nil},
		{"a folder of another place", "open('/content/q', 'w')", runtimes.GuestError{Name: "FileNotFoundError", Value: "[Errno 2] No such file or directory: '/content/q'", Line: 1,
			Hint: "There is no folder '/content'; what is written to /data is kept. The working folder /data holds 'data.csv'."}, nil, nil},
		{"an alarm", "import signal\nsignal.alarm(1)", runtimes.GuestError{Name: "AttributeError", Value: "module 'signal' has no attribute 'alarm'", Line: 2,
			Hint: "No signals come in this sandbox: look at time.monotonic() as you go, or use asyncio.timeout(); the host's own time limit holds."}, nil, nil},
		{"a second descriptor", "import os\nos.dup2(1, 2)", runtimes.GuestError{Name: "OSError", Value: "[Errno 58] a file has one descriptor in this sandbox", Line: 2,
			Hint: "Redirect sys.stdout and sys.stderr (contextlib.redirect_stdout) in place of descriptors: pytest.main(['--capture=sys']) does so."}, nil, nil},
		{"a package that an older version has in Python", "import pydantic", runtimes.GuestError{Name: "ModuleNotFoundError", Value: "No module named 'pydantic'", Line: 1,
			Hint: "pydantic is not installed and cannot be installed from inside the sandbox; use dataclasses instead, or have the host add it (cloche run --package 'pydantic<2', or packages in its policy)."}, nil, nil},
		{"a module of Unix", "import resource", runtimes.GuestError{Name: "ModuleNotFoundError", Value: "No module named 'resource'", Line: 1,
			Hint: "resource needs an operating system, which this sandbox does not have; use tracemalloc, for memory, instead."}, nil, nil},
		{"pip", "import pip", runtimes.GuestError{Name: "ModuleNotFoundError", Value: "No module named 'pip'", Line: 1,
			Hint: "Nothing can be installed from inside the sandbox; there are numpy, pandas, scipy, sklearn, statsmodels, matplotlib, seaborn, sympy, networkx, PIL, openpyxl, xlsxwriter, lxml, bs4, yaml, jinja2, pypdf, reportlab, sqlite3 and the standard library."}, nil, nil},
		{"source nested too deeply", "eval('(' * 200000)", runtimes.GuestError{Name: "MemoryError", Value: "Parser stack overflowed - Python source too complex to parse", Line: 1, Hint: "The source is nested too deeply to be parsed."}, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := s.run(tt.code)
			if r.Error == nil || r.ExitCode != 1 || r.OutOfMemory || r.Interrupted {
				t.Fatalf("outcome %+v", r.Outcome)
			}
			got := *r.Error
			got.Traceback = ""
			if tt.name == "long text" {
				if len(got.Value) > 20_000 {
					t.Errorf("value of %d bytes", len(got.Value))
				}
				got.Value = ""
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			for _, want := range tt.says {
				if !strings.Contains(r.Error.Traceback, want) {
					t.Errorf("the traceback does not contain %q:\n%s", want, r.Error.Traceback)
				}
			}
			for _, no := range append(tt.hides, "<cloche") {
				if strings.Contains(r.Error.Traceback, no) {
					t.Errorf("the traceback contains %q:\n%s", no, r.Error.Traceback)
				}
			}
			if !strings.HasSuffix(r.stderr, r.Error.Traceback) {
				t.Errorf("stderr %q does not end with the traceback", r.stderr)
			}
		})
	}
}

func TestExit(t *testing.T) {
	s := open(t)
	for _, tt := range []struct {
		code   string
		want   int
		stderr string
	}{
		{"import sys\nsys.exit(3)", 3, ""},
		{"sys.exit()", 0, ""},
		{"sys.exit('bye')", 1, "bye\n"},
		{"exit()", 0, ""},
		{"quit(4)", 4, ""},
		{"raise SystemExit(259)", 3, ""},
		{"import asyncio\nasync def f(): sys.exit(5)\nasyncio.run(f())", 5, ""},
		{"1 + 1", 0, ""},
	} {
		r := s.run(tt.code)
		if r.ExitCode != tt.want || r.Error != nil || r.stderr != tt.stderr {
			t.Errorf("%q: exit code %d, error %v, stderr %q", tt.code, r.ExitCode, r.Error, r.stderr)
		}
	}
	r := once(t, "import atexit\natexit.register(print, 'at exit')\nprint('last', end='')")
	if r.stdout != "lastat exit\n" {
		t.Errorf("stdout %q", r.stdout)
	}
}

func TestSession(t *testing.T) {
	s := open(t)
	s.run("import os\nx = [1]\ndef f(): return x\nos.makedirs('sub')\nopen('mod.py', 'w').write('n = 42')\nNone").ok(t)
	if r := s.run("x.append(2)\n1 / 0"); r.Error == nil {
		t.Error("no error")
	}
	if r := s.run("import mod\nos.chdir('sub')\nprint(f(), mod.n, __name__, __file__, os.path.basename(os.getcwd()))").ok(t); r.stdout != "[1, 2] 42 __main__ /data/turn-3.py sub\n" {
		t.Errorf("stdout %q", r.stdout)
	}
	if r := s.run("def g(): return 1 / 0"); r.Error != nil {
		t.Error(r.Error)
	}
	r := s.run("g()")
	if r.Error == nil || r.Error.Line != 1 || !strings.Contains(r.Error.Traceback, `File "turn-4.py", line 1, in g`) || !strings.Contains(r.Error.Traceback, "def g(): return 1 / 0") {
		t.Errorf("error in an earlier turn's function: %+v", r.Error)
	}
	// Sources that no traceback can show any more are forgotten, the others are not.
	sources := "import linecache\nlen([n for n in linecache.cache if n.startswith('turn-')])"
	before := s.run(sources).ok(t).shown
	for _, code := range []string{"y = 2", "1 + 1", "try: 1 / 0\nexcept ZeroDivisionError: pass", "z = [i for i in range(3)]", "import json; json.dumps(1)", "with open('/data/mod.py') as m: m.read()"} {
		s.run(code).ok(t)
	}
	if after := s.run(sources).ok(t).shown; !reflect.DeepEqual(before, after) {
		t.Errorf("sources kept: %v, and some turns later %v", before, after)
	}
	for _, code := range []string{
		"try: 1 / 0 # %s\nexcept ZeroDivisionError as e: kept = e", "import inspect\nkept = inspect.currentframe() # %s",
		"kept = lambda: 1 / 0 # %s", "kept = (1 / 0 for _ in range(9)) # %s", "async def kept(): 1 / 0 # %s", "class kept:\n  def __init__(self): 1 / 0 # %s",
	} {
		mark := fmt.Sprintf("the line of turn %d", s.turns+1)
		s.run(fmt.Sprintf(code, mark)).ok(t)
		r := s.run(`import traceback, types
if isinstance(kept, Exception): traceback.print_exception(kept)
elif isinstance(kept, types.FrameType): traceback.print_stack(kept)
elif isinstance(kept, types.GeneratorType): next(kept)
else:
    import inspect
    it = kept()
    if inspect.isawaitable(it): await it`)
		if !strings.Contains(r.stderr, mark) {
			t.Errorf("after %q: stderr %q", code, r.stderr)
		}
	}
	// Streams that a turn broke are whole again.
	for _, code := range []string{
		"import sys, io\nsys.stdout = io.StringIO()\nprint('lost')",
		"sys.stdout.close()", "sys.stdout.detach()\nNone", "sys.stderr = None", "sys.stdin.close()",
		"sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8')\nprint('kept')",
		"os.close(5)" + "if 0 else None",
	} {
		s.run(code)
		s.stdin = "line\n"
		if r := s.run("import sys\nprint('here', input())\nprint('there', file=sys.stderr)").ok(t); r.stdout != "here line\n" || r.stderr != "there\n" {
			t.Errorf("after %q: stdout %q, stderr %q", code, r.stdout, r.stderr)
		}
	}
	// Input that a turn did not read is not the next one's.
	s.stdin = "one\ntwo\n"
	s.run("input()").ok(t)
	s.stdin = "three\n"
	if r := s.run("print(input())").ok(t); r.stdout != "three\n" {
		t.Errorf("stdout %q", r.stdout)
	}
	// Tasks go on where a later turn awaits.
	s.run("import asyncio\nasync def later():\n    await asyncio.sleep(0.01)\n    print('task')\ntask = asyncio.ensure_future(later())\nawait asyncio.sleep(0)").ok(t)
	if r := s.run("await task").ok(t); r.stdout != "task\n" {
		t.Errorf("stdout %q", r.stdout)
	}
	// A warning is told once in a turn, and again in another.
	warn := "import warnings\nfor i in range(3): warnings.warn('old')"
	for range 2 {
		if r := s.run(warn).ok(t); strings.Count(r.stderr, "UserWarning: old") != 1 {
			t.Errorf("stderr %q", r.stderr)
		}
	}
}

func TestGiven(t *testing.T) {
	seed := uint64(42)
	const code = `import sys, os, random, numpy as np
print(sys.argv, os.environ["A"], os.environ["HOME"], n, rows, sys.path[1:3])
print(random.random(), np.random.rand())`
	turn := func() *runtimes.Turn {
		return &runtimes.Turn{
			Source: code, Name: "job.py", Args: []string{"-v", "é"}, Env: map[string]string{"A": "b c", "PYTHONPATH": "/tmp/one::/tmp/two"}, Seed: &seed,
			Inputs: map[string]json.RawMessage{"n": json.RawMessage("3"), "rows": json.RawMessage(`[{"a": null}]`)},
		}
	}
	want := "['job.py', '-v', 'é'] b c /data 3 [{'a': None}] ['/tmp/one', '/tmp/two']\n0.6394267984578837 0.3745401188473625\n"
	for range 2 {
		if r := open(t).turn(turn()).ok(t); r.stdout != want {
			t.Errorf("stdout %q, want %q", r.stdout, want)
		}
	}
}

func TestSandboxesDiffer(t *testing.T) {
	const code = `import random, uuid, os, secrets, tempfile, numpy as np
print(random.random(), random.gauss(0, 1))
print(np.random.rand(), np.random.randn())
print(np.random.default_rng().integers(2**62))
print(uuid.uuid4(), uuid.uuid1())
print(os.urandom(8).hex(), secrets.token_hex(8))
print(tempfile.mktemp())
print(random.SystemRandom().random())`
	a := strings.Split(once(t, code).ok(t).stdout, "\n")
	b := strings.Split(once(t, code).ok(t).stdout, "\n")
	for i := range len(a) - 1 {
		if a[i] == b[i] {
			t.Errorf("two sandboxes print %q", a[i])
		}
	}
	// Given seeds mean what they mean everywhere.
	r := once(t, "import random, numpy as np\nrandom.seed(42)\nnp.random.seed(0)\nprint(random.random(), np.random.rand())").ok(t)
	if r.stdout != "0.6394267984578837 0.5488135039273248\n" {
		t.Errorf("stdout %q", r.stdout)
	}
}

func TestOutputOrder(t *testing.T) {
	r := once(t, `import sys
print("a", end="")
print("b", file=sys.stderr)
print("c")
sys.stderr.write("d")
sys.stderr.flush()
print("e", flush=True)
raise SystemExit("f")`)
	if want := "ab\nc\nde\nf\n"; r.both != want {
		t.Errorf("output %q, want %q", r.both, want)
	}
	// What is longer than the host takes at once is whole.
	if r := once(t, "print('x' * 20_000_000)").ok(t); len(r.stdout) != 20_000_001 {
		t.Errorf("%d bytes, want 20,000,001", len(r.stdout))
	}
}

// TestUnnoticed: whether a program has noticed an interrupt can be told, until it has.
func TestUnnoticed(t *testing.T) {
	s := open(t)
	var told []bool
	tell := func() { told = append(told, s.baked.Driver.Unnoticed(s.inst, s.baked.Info)) }
	s.fetch = func(ctx context.Context, _ []byte) ([]byte, error) {
		if tell(); len(told) == 1 {
			if err := s.baked.Driver.Interrupt(ctx, s.inst, s.baked.Info); err != nil {
				t.Error(err)
			}
			tell()
		}
		return nil, hostfuncs.Refuse("PermissionError", "no")
	}
	r := s.run(`
from urllib.request import urlopen
for _ in range(2):
    try:
        urlopen("http://example.org/")
    except (OSError, KeyboardInterrupt) as e:
        print(type(e).__name__)`).ok(t)
	if r.stdout != "KeyboardInterrupt\nURLError\n" || !slices.Equal(told, []bool{false, true, false}) {
		t.Errorf("%q, unnoticed %v", r.stdout, told)
	}
}

func TestInterrupt(t *testing.T) {
	for _, tt := range []struct {
		name, code, stdout string
		interrupted        bool
		line               int
	}{
		{"loop", "print('start', flush=True)\nwhile True:\n    pass", "start\n", true, 0},
		{"finally", "try:\n    print('start', flush=True)\n    while True: pass\nfinally:\n    print('cleaned')", "start\ncleaned\n", true, 3},
		{"caught", "try:\n    print('start', flush=True)\n    while True: pass\nexcept KeyboardInterrupt:\n    print('caught')", "start\ncaught\n", false, 0},
		{"coroutine", "import asyncio\nasync def f():\n    try:\n        print('start', flush=True)\n        while True: await asyncio.sleep(0)\n    finally:\n        print('cancelled')\nasyncio.run(f())", "start\ncancelled\n", true, 0},
		{"busy coroutine", "import asyncio\nasync def f():\n    try:\n        print('start', flush=True)\n        while True: pass\n    finally:\n        print('cancelled')\nasyncio.run(f())", "start\ncancelled\n", true, 5},
		{"sleeping coroutine", "import asyncio\nasync def f():\n    try:\n        print('start', flush=True)\n        while True: await asyncio.sleep(0.001)\n    finally:\n        print('cancelled')\nawait f()", "start\ncancelled\n", true, 0},
		{"last value", "class R:\n    def __repr__(self):\n        print('start', flush=True)\n        while True: pass\nR()", "start\n", true, 4},
		{"raised by itself", "raise KeyboardInterrupt", "", false, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t)
			s.timeout, s.afterOutput = 300*time.Millisecond, true
			r := s.run(tt.code)
			if r.Interrupted != tt.interrupted || r.stdout != tt.stdout {
				t.Errorf("interrupted %v, stdout %q, stderr %q", r.Interrupted, r.stdout, r.stderr)
			}
			if tt.name != "caught" && (r.Error == nil || r.Error.Name != "KeyboardInterrupt" || r.ExitCode != 130) {
				t.Errorf("exit code %d, error %+v", r.ExitCode, r.Error)
			}
			if tt.line != 0 && r.Error.Line != tt.line {
				t.Errorf("line %d, want %d", r.Error.Line, tt.line)
			}
			s.timeout, s.afterOutput = 0, false
			if r := s.run("1 + 1").ok(t); r.value("text/plain") != "2" {
				t.Errorf("the next turn gives %q", r.value("text/plain"))
			}
		})
	}
}

func TestOutOfMemory(t *testing.T) {
	s := open(t)
	r := s.run("blocks = []\nwhile True:\n    blocks.append(bytearray(50_000_000))")
	if !r.OutOfMemory || r.Error == nil || r.Error.Name != "MemoryError" || r.Error.Line != 3 || r.Error.Hint == "" {
		t.Errorf("outcome %+v", r.Outcome)
	}
	if r := s.run("import numpy as np\nnp.zeros(200_000_000)"); !r.OutOfMemory || !slices.Contains([]string{"MemoryError", "_ArrayMemoryError"}, r.Error.Name) {
		t.Errorf("outcome %+v", r.Outcome)
	}
	for _, code := range []string{"bytearray(10**12)", "np.zeros(2**31)", "np.zeros((2**20, 2**20))"} {
		if r := s.run(code); !r.OutOfMemory || r.Error.Name != "MemoryError" || r.Error.Hint == "" {
			t.Errorf("%s: outcome %+v", code, r.Outcome)
		}
	}
	if r := s.run("n = len(blocks)\nblocks.clear()\nprint(n > 3, sum(range(1000)))").ok(t); r.stdout != "True 499500\n" {
		t.Errorf("stdout %q", r.stdout)
	}
}

// BenchmarkTurn is a turn in a fresh sandbox, and what it takes to get there from a used one.
func BenchmarkTurn(b *testing.B) {
	for _, code := range []string{"x=1", "1+1", "print('hi')", "import pandas as pd\nprint(pd.DataFrame({'a': range(1000)}).describe())"} {
		b.Run(strings.SplitN(code, "\n", 2)[0], func(b *testing.B) {
			s := open(b)
			var turns, resets []time.Duration
			var private, fuel uint64
			for b.Loop() {
				s.turns = 0
				start := time.Now()
				fuel = s.turn(&runtimes.Turn{Source: code}).fuel
				turn := time.Now()
				stats, err := s.inst.Reset()
				if err != nil {
					b.Fatal(err)
				}
				turns, resets, private = append(turns, turn.Sub(start)), append(resets, time.Since(turn)), stats.PrivateBytes
			}
			b.ReportMetric(0, "ns/op")
			for name, all := range map[string][]time.Duration{"turn": turns, "reset": resets} {
				slices.Sort(all)
				b.ReportMetric(float64(all[0].Microseconds()), name+"-min-us")
				b.ReportMetric(float64(all[len(all)/2].Microseconds()), name+"-p50-us")
			}
			b.ReportMetric(float64(private)/1024, "private-KiB")
			b.ReportMetric(float64(fuel), "fuel/op")
		})
	}
}
