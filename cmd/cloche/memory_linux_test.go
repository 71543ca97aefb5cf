package main

import (
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/runtimes"
)

// beyondCap is how much memory of the host's one run may take besides its linear memory and what an idle process has:
// up to 100 MiB for the machine's stack of a guest in deep recursion, and frames, displayed values and copies of them.
const beyondCap = 256 << 20

// TestHostMemoryIsBounded runs programs that make the host hold as much as they can, each in a process of its own, and
// looks how much memory that took at most.
func TestHostMemoryIsBounded(t *testing.T) {
	dir, err := runtimes.DefaultCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	const memory = 300 << 20
	ready := readyLanguages(t, dir)
	for language, programs := range map[string]map[string]string{
		engine.Python: {
			"recursion": "import sys; sys.setrecursionlimit(10**6)\ndef f(n): return f(n + 1) + 1\nf(0)",
			"memory":    "keep = []\nwhile True: keep.append(b'x' * (1 << 20))",
			"output":    "import os\nfor i in range(500): os.write(1, b'x' * 1_000_000); os.write(2, b'y' * 1_000_000)",
			"display":   "from IPython.display import display, HTML\nfor i in range(40): display(HTML('x' * 3_000_000))",
			"files":     "import os\nfor i in range(20000):\n    try: open('/tmp/' + 'n' * 200 + str(i), 'w').close()\n    except OSError: break\nfor i in range(20): os.listdir('/tmp')",
			"requests":  "import _host\nb = bytes(250 << 20)\nfor i in range(8): _host.call(b)",
			"frames":    "import _host\nb = b'\\x10' + bytes(63 << 20)\nfor i in range(8): _host.call(b)",
			"holes":     "for i in range(8):\n    with open(f'hole{i}', 'wb') as f: f.truncate(1 << 40)",
		},
		engine.JavaScript: {
			"recursion": "function f(n) { return f(n + 1) + 1 } f(0)",
			"memory":    "const keep = []; for (;;) keep.push(new Uint8Array(1e6).fill(7))",
			"codecs":    "const b = Buffer.alloc(30e6); for (const c of ['hex', 'base64', 'latin1', 'utf16le']) { try { b.toString(c).length } catch {} }",
			"letters":   "const b = Buffer.alloc(30e6, 0xb0); for (let i = 0; i < 4; i++) { for (const c of ['latin1', 'utf8']) { try { b.toString(c).length } catch {} } try { new TextDecoder('ibm866').decode(b.subarray(i)).length } catch {} try { new TextDecoder('ibm866').decode(b.subarray(i, 15e6)).length } catch {} }",
			"stars":     "const fs = require('fs'); fs.mkdirSync('node_modules/p', { recursive: true }); fs.writeFileSync('node_modules/p/package.json', JSON.stringify({ exports: { './*': './' + '*'.repeat(2e5) } })); require('p/' + 'a'.repeat(4000))",
			"captures":  "'a'.repeat(4e6).split(new RegExp('^' + '(?=([^b]+)$)'.repeat(240) + 'a', 'g')).length",
			"output":    "for (let i = 0; i < 500; i++) process.stdout.write('z'.repeat(1e6))",
		},
		engine.TypeScript: {
			"syntax": "const a: any = 1;\n",
		},
	} {
		if !slices.Contains(ready, engine.RuntimeOf(language)) {
			t.Logf("%s is not set up: run make setup", language)
			continue
		}
		least := peak(t, dir, language, "1")
		for name, code := range programs {
			if got := peak(t, dir, language, "--memory", "300MiB", code); got > least+memory+beyondCap {
				t.Errorf("%s, %s: %d MiB at the most, an idle process has %d, its memory %d", language, name, got>>20, least>>20, memory>>20)
			} else {
				t.Logf("%s, %s: %d MiB more than an idle process", language, name, (got-least)>>20)
			}
		}
	}
}

// peak is the most memory that a process had resident while it ran the code, which comes last.
func peak(t *testing.T, cache, language string, args ...string) int64 {
	t.Helper()
	last := len(args) - 1
	args = append([]string{"run", "--lang", language, "--timeout", "20s"}, append(args[:last:last], "-c", args[last])...)
	cmd := exec.Command("cloche", args...)
	cmd.Env = append(os.Environ(), runtimes.CacheEnv+"="+cache)
	_ = cmd.Run() // how it ends is not the matter here
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok || cmd.ProcessState.ExitCode() == exitTrouble || cmd.ProcessState.ExitCode() == exitUsage {
		t.Fatalf("%q: %v", args, cmd.ProcessState)
	}
	return usage.Maxrss << 10
}
