package engine_test

import (
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/runtimes/python/wheeltest"
)

// TestPackages adds packages from a folder in place of PyPI: what they need comes along, what is linked in already does not,
// and what has compiled parts is refused, or an older version of it taken where something else needs it.
func TestPackages(t *testing.T) {
	eng := testEngine(t)
	dir := t.TempDir()
	wheeltest.Write(t, dir, "clochetest_top", "py3-none-any", "Requires-Dist: clochetest-below\nRequires-Dist: pandas>=2\nRequires-Dist: numpy\n", map[string]string{
		"clochetest_top/__init__.py":                "import clochetest_below, pandas\nvalue = clochetest_below.value + 1\nfrom importlib.resources import files\ntext = files(__name__).joinpath('data.txt').read_text()\n",
		"clochetest_top/data.txt":                   "from a file",
		"clochetest_top-1.0.data/purelib/moved.py":  "here = True\n",
		"clochetest_top-1.0.data/scripts/script.sh": "rm -rf /\n",
	})
	wheeltest.Write(t, dir, "clochetest_below", "py3-none-any", "", map[string]string{"clochetest_below.py": "value = 41\n"})
	wheeltest.Write(t, dir, "clochetest_native", "cp39-abi3-manylinux_2_17_x86_64", "", map[string]string{"clochetest_native.abi3.so": "\x7fELF"})
	// What needs one that newer versions of have compiled parts, and others on other systems.
	wheeltest.Write(t, dir, "clochetest_chooses", "py3-none-any", "Requires-Dist: clochetest-turned\nRequires-Dist: clochetest-absent; sys_platform != 'wasi'\n"+
		"Requires-Dist: clochetest-absent; python_version < '3.15' or platform_machine == 'x86_64'\n", map[string]string{"clochetest_chooses.py": "from clochetest_turned import version"})
	wheeltest.Write(t, dir, "clochetest_turned", "py3-none-any", "", map[string]string{"clochetest_turned.py": "version = 1"})
	for _, version := range []string{"2.0", "3.0"} {
		wheeltest.WriteVersion(t, dir, "clochetest_turned", version, "py3-none-linux_x86_64", "", map[string]string{"clochetest_turned.py": "version = " + version[:1]})
	}
	wheeltest.Write(t, dir, "clochetest_insists", "py3-none-any", "Requires-Dist: clochetest-turned>1\n", nil)
	wheeltest.Write(t, dir, "clochetest_compiled", "py3-none-any", "", map[string]string{
		"clochetest_compiled/__init__.py":                     "",
		"clochetest_compiled/works.py":                        "def fails():\n    raise ValueError\n",
		"clochetest_compiled/broken.py":                       "print 'hello'\n",
		"clochetest_compiled/own.py":                          "value = 1\n",
		"clochetest_compiled/__pycache__/own.cpython-315.pyc": "no magic number",
	})
	t.Setenv("PIP_NO_INDEX", "1")
	t.Setenv("PIP_FIND_LINKS", dir)
	cache, err := runtimes.DefaultCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	wheeltest.Forget(t, cache, "clochetest")

	res := ok(t, engine.Job{
		Packages: []string{"clochetest-top==1.0"},
		Code: `import clochetest_top, moved, importlib.metadata, os, sys
print(clochetest_top.value, clochetest_top.text, importlib.metadata.version("clochetest-top"))
print(clochetest_top.__file__, sorted(os.listdir("/usr/local/lib/cloche-packages")))
try: open(clochetest_top.__file__, "a")
except OSError as e: print(type(e).__name__)`,
	})
	if want := "42 from a file 1.0\n/usr/local/lib/cloche-packages/clochetest_top/__init__.py " +
		"['__pycache__', 'clochetest_below-1.0.dist-info', 'clochetest_below.py', 'clochetest_top', 'clochetest_top-1.0.dist-info', 'moved.py']\nOSError\n"; res.Stdout != want {
		t.Errorf("stdout %s, want %s", res.Stdout, want)
	}
	list, err := eng.PreparePackages(t.Context(), "clochetest-top==1.0", "clochetest-top==1.0")
	if err != nil || len(list) != 2 || len(list[0].SHA256) != 64 {
		t.Errorf("packages %+v, %v", list, err)
	}

	// Modules are compiled already, and say where they are from; what cannot be compiled fails where it is imported.
	res = ok(t, engine.Job{
		Packages: []string{"clochetest-compiled"},
		Code: `import importlib.machinery, traceback
compiled = []
compile_ = importlib.machinery.SourceFileLoader.source_to_code
importlib.machinery.SourceFileLoader.source_to_code = lambda self, data, path, *args, **kwargs: (compiled.append(path), compile_(self, data, path, *args, **kwargs))[1]
import clochetest_compiled.works
try: clochetest_compiled.works.fails()
except ValueError as e: print(traceback.extract_tb(e.__traceback__)[-1])
for name in ("broken", "own"):
    try: print(__import__("clochetest_compiled." + name))
    except SyntaxError as e: print(e.filename, e.lineno)
    except ImportError as e: print(e)
print(compiled)`,
	})
	if want := "<FrameSummary file /usr/local/lib/cloche-packages/clochetest_compiled/works.py, line 2 in fails>\n" +
		"/usr/local/lib/cloche-packages/clochetest_compiled/broken.py 1\n" +
		"<module 'clochetest_compiled' from '/usr/local/lib/cloche-packages/clochetest_compiled/__init__.py'>\n" +
		"['/usr/local/lib/cloche-packages/clochetest_compiled/broken.py']\n"; res.Stdout != want {
		t.Errorf("stdout %s, want %s", res.Stdout, want)
	}

	res = ok(t, engine.Job{Packages: []string{"clochetest-chooses"}, Code: "import clochetest_chooses\nprint(clochetest_chooses.version)"})
	if res.Stdout != "1\n" {
		t.Errorf("version %s, want 1", res.Stdout)
	}

	// Other sandboxes do not have them.
	res = run(t, engine.Job{Code: "import clochetest_top"})
	if res.Error == nil || res.Error.Name != "ModuleNotFoundError" || !strings.Contains(res.Error.Hint, "cloche run --package clochetest_top") {
		t.Errorf("error %+v", res.Error)
	}
	for _, tt := range []struct{ requirement, want string }{
		{"clochetest-native", "has no wheel without compiled parts"},
		{"clochetest-turned", "clochetest_turned has no wheel without compiled parts that would do"},
		{"clochetest-insists", "clochetest_turned (which clochetest_insists needs) has no wheel without compiled parts"},
		{"clochetest-absent", "clochetest-absent"},
		{"-r /etc/passwd", "it must be a name"},
		{"--index-url=http://x", "it must be a name"},
		{"./here", "it must be a name"},
		{"git+https://x/y", "it must be a name"},
		{"pandas==1.0", "pandas==1.0"},
	} {
		_, err := eng.Run(t.Context(), engine.Job{Code: "1", Packages: []string{tt.requirement}})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", tt.requirement, err, tt.want)
		}
	}
	ok(t, engine.Job{Language: engine.JavaScript, Code: "1", Packages: []string{"clochetest-absent"}})
}
