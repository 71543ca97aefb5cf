package wasi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/cloche-dev/cloche/wasi/vfs"
)

// suiteEnv names the folder that holds the public WASI test suite (its branch with prebuilt modules).
const suiteEnv = "CLOCHE_WASI_TESTSUITE"

// suiteSpec is the file beside a module of the suite.
type suiteSpec struct {
	Args     []string          `json:"args"`
	Env      map[string]string `json:"env"`
	Root     string            `json:"root"`
	ExitCode uint32            `json:"exit_code"`
	Stdout   *string           `json:"stdout"`
	Stderr   *string           `json:"stderr"`
}

// TestSuite runs the preview1 modules of the public WASI test suite, each on a copy of its files in a folder of
// the host and in memory.
func TestSuite(t *testing.T) {
	suite := os.Getenv(suiteEnv)
	if suite == "" {
		t.Skip("set " + suiteEnv + " to a checkout of the WASI test suite with its prebuilt modules")
	}
	modules, err := filepath.Glob(filepath.Join(suite, "tests", "*", "testsuite", "wasm32-wasip1", "*.wasm"))
	if err != nil || len(modules) == 0 {
		t.Fatalf("no modules under %s: %v", suite, err)
	}
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer r.Close(ctx)
	if err := Instantiate(ctx, r); err != nil {
		t.Fatal(err)
	}
	passed := map[string]int{}
	for _, module := range modules {
		name := strings.TrimSuffix(filepath.Base(module), ".wasm")
		binary, err := os.ReadFile(module)
		if err != nil {
			t.Fatal(err)
		}
		compiled, err := r.CompileModule(ctx, binary)
		if err != nil {
			t.Fatal(err)
		}
		for kind, mount := range map[string]func(t *testing.T, root string) *vfs.Namespace{"host": hostNamespace, "memory": memoryNamespace} {
			if t.Run(name+"/"+kind, func(t *testing.T) { runSuiteModule(t, r, compiled, module, mount) }) {
				passed[kind]++
			}
		}
		compiled.Close(ctx)
	}
	t.Logf("%d modules: %d pass on a host folder, %d in memory", len(modules), passed["host"], passed["memory"])
}

func runSuiteModule(t *testing.T, r wazero.Runtime, compiled wazero.CompiledModule, module string, mount func(*testing.T, string) *vfs.Namespace) {
	var spec suiteSpec
	if text, err := os.ReadFile(strings.TrimSuffix(module, ".wasm") + ".json"); err == nil {
		if err := json.Unmarshal(text, &spec); err != nil {
			t.Fatal(err)
		}
	}
	var stdout, stderr bytes.Buffer
	cfg := Config{Args: append([]string{filepath.Base(module)}, spec.Args...), Stdout: &stdout, Stderr: &stderr}
	for k, v := range spec.Env {
		cfg.Env = append(cfg.Env, k+"="+v)
	}
	slices.Sort(cfg.Env)
	if spec.Root != "" {
		cfg.FS = mount(t, filepath.Join(filepath.Dir(module), spec.Root))
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(WithState(context.Background(), s), 30*time.Second)
	defer cancel()
	instance, err := r.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		t.Fatal(err)
	}
	defer instance.Close(ctx)
	_, err = instance.ExportedFunction("_start").Call(ctx)
	code := uint32(0)
	if exit, ok := errors.AsType[*ExitError](err); ok {
		code = exit.Code
	} else if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	if code != spec.ExitCode {
		t.Errorf("exit code %d, want %d\n%s", code, spec.ExitCode, &stderr)
	}
	for _, stream := range []struct {
		name string
		got  string
		want *string
	}{{"stdout", stdout.String(), spec.Stdout}, {"stderr", stderr.String(), spec.Stderr}} {
		if stream.want != nil && stream.got != *stream.want {
			t.Errorf("%s is %q, want %q", stream.name, stream.got, *stream.want)
		}
	}
}

// memoryNamespace holds a copy of root in memory.
func memoryNamespace(t *testing.T, root string) *vfs.Namespace {
	ns := newNamespace(t, vfs.Options{})
	copyIn(t, ns, root)
	return ns
}

// copyIn copies the files below root into a namespace.
func copyIn(t testing.TB, ns *vfs.Namespace, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		rel, relErr := filepath.Rel(root, path)
		if err = errors.Join(err, relErr); err != nil || rel == "." {
			return err
		}
		guestPath := vfs.MustPath("/" + filepath.ToSlash(rel))
		if d.IsDir() {
			return ns.Mkdir(nil, guestPath)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		h, err := ns.Open(nil, guestPath, vfs.OpenWrite|vfs.OpenCreate)
		if err != nil {
			return err
		}
		_, err = h.WriteAt(content, 0)
		return errors.Join(err, h.Close())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// hostNamespace has a copy of root, in a folder of the host, mounted at "/".
func hostNamespace(t *testing.T, root string) *vfs.Namespace {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(root)); err != nil {
		t.Fatal(err)
	}
	return hostFolder(t, dir, vfs.HostDirOptions{})
}

// hostFolder mounts a folder of the host at "/", for writing.
func hostFolder(t testing.TB, dir string, o vfs.HostDirOptions) *vfs.Namespace {
	t.Helper()
	o.Write = true
	folder, err := vfs.OpenHostDir(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	template, err := vfs.NewTemplate(vfs.Config{Mounts: []vfs.Mount{{Path: "/", FS: folder, Mode: vfs.ModeReadWrite}}})
	if err != nil {
		t.Fatal(err)
	}
	ns := template.New(vfs.Options{})
	t.Cleanup(func() {
		ns.Close()
		folder.Close()
	})
	return ns
}
