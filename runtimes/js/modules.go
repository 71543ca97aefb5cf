package js

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/cloche-dev/cloche/engine/vm"
)

// builtins are the node: modules, which the image holds ready. Each has an object of its name in guest/modules.js.
var builtins = []string{
	"assert", "assert/strict", "buffer", "console", "crypto", "events", "fs", "fs/promises", "module", "os", "path", "path/posix",
	"perf_hooks", "process", "querystring", "readline", "readline/promises", "stream", "stream/consumers", "stream/promises", "stream/web", "string_decoder", "test",
	"timers", "timers/promises", "tty", "url", "util", "util/types", "zlib", "async_hooks", "worker_threads", "child_process",
	"http", "https", "diagnostics_channel",
	// Of these nothing can be used, but much imports them.
	"cluster", "dgram", "dns", "dns/promises", "http2", "inspector", "net", "tls", "v8", "vm",
	"constants", "domain", "inspector/promises", "path/win32", "punycode", "repl", "sys", "trace_events",
}

// refused are node: modules that cannot be here, with the reason.
var refused = map[string]string{
	"wasi":   "WebAssembly is not available to programs",
	"sqlite": "it is not available in JavaScript; Python has sqlite3",
}

// maxSource bounds a module's source in bytes.
const maxSource = 16 << 20

// notFound says why a module is not there, in Node's words.
type notFound struct{ code, message string }

func (e *notFound) Error() string { return e.message }

// builtin is the name of a node: module that a specifier means, "" if it means none.
func builtin(spec string) string {
	name, isNode := strings.CutPrefix(spec, "node:")
	if slices.Contains(builtins, name) && (isNode || name != "test") { // which has no other name than node:test
		return "node:" + name
	}
	return ""
}

// resolve finds the file that a specifier means in a file of the program, or the builtin. kind is "import" or
// "require".
func (s *turn) resolve(base, spec, kind string) (string, error) {
	code := "ERR_MODULE_NOT_FOUND"
	if kind == "require" {
		code = "MODULE_NOT_FOUND"
	}
	if found := builtin(spec); found != "" {
		return found, nil
	}
	name, isNode := strings.CutPrefix(spec, "node:")
	if why, ok := refused[name]; ok {
		return "", &notFound{code, "Cannot use module '" + spec + "' in this sandbox: " + why}
	}
	if isNode {
		return "", &notFound{"ERR_UNKNOWN_BUILTIN_MODULE", "No such built-in module: " + spec}
	}
	if !strings.HasPrefix(base, "/") {
		base = s.file()
	}
	base = versionSuffix.ReplaceAllString(base, "")
	importer := strings.TrimPrefix(base, s.env.dir()+"/")
	if i := strings.IndexByte(spec, ':'); i > 1 {
		scheme := spec[:i]
		if scheme != "file" {
			return "", &notFound{"ERR_UNSUPPORTED_ESM_URL_SCHEME", "Cannot import '" + spec + "': only files of the sandbox and node: modules can be imported"}
		}
		spec = strings.TrimPrefix(spec, "file://")
	}
	files := s.env.files()
	if strings.HasPrefix(spec, "/") || strings.HasPrefix(spec, "./") || strings.HasPrefix(spec, "../") || spec == "." || spec == ".." {
		target := spec
		if !strings.HasPrefix(spec, "/") {
			target = path.Join(path.Dir(base), spec)
		}
		if found := findFile(files, path.Clean(target)); found != "" {
			return found, nil
		}
		return "", &notFound{code, "Cannot find module '" + spec + "' imported from " + importer}
	}
	if found, err := (&packages{files: files, kind: kind, from: base}).find(path.Dir(base), spec); err != nil {
		return "", err
	} else if found != "" {
		return found, nil
	}
	if kind == "require" {
		return "", &notFound{code, "Cannot find module '" + spec + "' imported from " + importer}
	}
	return "", &notFound{code, "Cannot find package '" + spec + "' imported from " + importer}
}

// extensions are tried for a path without one: generated code leaves them out as often as not.
var extensions = []string{"", ".js", ".mjs", ".cjs", ".ts", ".mts", ".json", manifestFile, "/index.js", "/index.mjs", "/index.ts"}

func isFile(files Files, p string) bool {
	info, err := files.Stat(p, true)
	return err == nil && !info.Mode.IsDir()
}

func findFile(files Files, p string) string {
	for _, ext := range extensions {
		if !isFile(files, p+ext) {
			continue
		}
		if ext == manifestFile {
			m, _ := readManifest(files, p)
			if main := mainOf(files, m); main != "" {
				return main
			}
			continue
		}
		return p + ext
	}
	return ""
}

// findEntry is findFile for what a package.json names, but asks no package.json again, as Node does: it might be the same one.
func findEntry(files Files, p string) string {
	for _, ext := range extensions {
		if ext != manifestFile && isFile(files, p+ext) {
			return p + ext
		}
	}
	return ""
}

// readText reads a whole file of at most max bytes.
func readText(files Files, name string, max int64) (b []byte, err error) {
	err = withFile(files, name, os.O_RDONLY, func(f File) error {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if info.Mode&fs.ModeType != 0 {
			return errCode("EISDIR")
		}
		if info.Size > max {
			return errCode("EFBIG")
		}
		b = make([]byte, info.Size)
		n, err := f.ReadAt(b, 0)
		if b = b[:n]; int64(n) == info.Size {
			return nil
		}
		return err
	})
	return b, err
}

// resolveOp answers opResolve.
func (in *interp) resolveOp(s *turn, a arguments) uint64 {
	kind := a.text(2, maxName)
	found, err := s.resolve(a.text(0, maxPath), a.text(1, maxPath), kind)
	if err == nil {
		return in.box(in.newString("=" + found))
	}
	e := err.(*notFound)
	return in.box(in.newString("!" + e.code + " " + e.message))
}

// hostModuleNormalize is env.host_module_normalize(base, specifier): the address of the module's name, which
// the interpreter frees, or 0 with an exception.
func hostModuleNormalize(ctx context.Context, g vm.Guest, stack []uint64) {
	s := turnOf(ctx)
	in := &interp{ctx, g, s.boot}
	base, spec := in.cString(uint32(stack[0]), maxPath), in.cString(uint32(stack[1]), maxPath)
	if s.ended() {
		stack[0] = in.unwind()
		return
	}
	if s.probing {
		stack[0] = in.heapText(spec)
		return
	}
	if !s.modules {
		in.settleModules()
	}
	s.modules = true
	found, err := s.resolve(base, spec, "import")
	if err != nil {
		e := err.(*notFound)
		stack[0] = in.throw("Error", e.message, e.code)
		return
	}
	name, thrown := in.versionOf(s, found)
	if thrown {
		stack[0] = 0
		return
	}
	stack[0] = in.heapText(name)
}

// versionOf is the name under which the interpreter is to know a file as it is now: its path at first, and
// with a suffix when it has changed since, so that a session can mend a module and import it again.
func (in *interp) versionOf(s *turn, file string) (name string, thrown bool) {
	if strings.HasPrefix(file, "node:") {
		return file, false
	}
	info, err := s.env.files().Stat(file, true)
	if err != nil {
		return file, false // loading it will say so
	}
	stamp := fmt.Sprint(info.Inode, " ", info.Size, " ", info.Modified.UnixNano())
	p, st := in.newString(file), in.newString(stamp)
	if p.exception() || st.exception() {
		return "", true
	}
	v := in.invoke(in.b.Funcs["moduleName"], p, st)
	in.free(p)
	in.free(st)
	if v.exception() {
		return "", true
	}
	name, ok := in.stringOf(v, maxPath)
	in.free(v)
	return name, !ok
}

// versionSuffix is what the guest's moduleName adds.
var versionSuffix = regexp.MustCompile(`\?v=[0-9]+$`)

// heapText puts text and a NUL on the guest's heap; 0 with an exception when memory is short.
func (in *interp) heapText(text string) uint64 {
	p, ok := in.alloc(len(text) + 1)
	if !ok {
		return in.noMemory()
	}
	b := in.view(p, uint32(len(text)+1))
	b[copy(b, text)] = 0
	return uint64(p)
}

// hostModuleLoad is env.host_module_load(name, address for the length): the address of the module's source,
// which the interpreter frees, or 0 with an exception.
func hostModuleLoad(ctx context.Context, g vm.Guest, stack []uint64) {
	s := turnOf(ctx)
	in := &interp{ctx, g, s.boot}
	name, lengthAt := in.cString(uint32(stack[0]), maxPath), uint32(stack[1])
	if s.ended() {
		stack[0] = in.unwind()
		return
	}
	src, thrown := in.moduleSource(s, name)
	if thrown {
		stack[0] = 0
		return
	}
	if stack[0] = in.heapText(src); stack[0] != 0 {
		if !g.Memory().WriteUint32(lengthAt, uint32(len(src))) {
			fault("address %#x is out of bounds", lengthAt)
		}
	}
}

// moduleSource is a file as the source of an ES module. thrown: an exception is pending instead.
func (in *interp) moduleSource(s *turn, name string) (src string, thrown bool) {
	name = versionSuffix.ReplaceAllString(name, "")
	b, err := readText(s.env.files(), name, maxSource)
	if err != nil {
		in.throw("Error", "Cannot read module '"+name+"': "+errorCode(err), errorCode(err))
		return "", true
	}
	src = string(validUTF8(b))
	switch path.Ext(name) {
	case ".json":
		return in.moduleBy("jsonModule", src, name)
	case ".ts", ".mts", ".cts", ".tsx":
		if src, err = in.strip(src, name); err != nil {
			in.throw("SyntaxError", err.Error(), "")
			return "", true
		}
	default:
		if formatOfSource(s.env.files(), name, src, in.look) == "commonjs" {
			return in.moduleBy("commonModule", name, name)
		}
	}
	if in.reveal(src, nodeNames) {
		return "", true
	}
	if strings.Contains(src, "import.meta") && !strings.HasPrefix(src, "#!") {
		meta, _ := json.Marshal(map[string]string{"url": "file://" + name, "filename": name, "dirname": path.Dir(name)})
		src = "Object.assign(import.meta, " + string(meta) + "); " + src // on the first line, so that lines keep their numbers
	}
	return src, false
}

// formatOf says how a file is loaded: as "module", "commonjs" or "json". pause is called now and then.
func formatOf(files Files, name string, pause func()) string {
	if path.Ext(name) == ".json" {
		return "json"
	}
	b, err := readText(files, name, maxSource)
	if err != nil {
		return "commonjs" // loading it will say so
	}
	return formatOfSource(files, name, string(b), pause)
}

// formatOfSource follows Node's rules (nodejs.org/api/packages.html#determining-module-system): the suffix, "type" in the package.json
// of the file's package, and without these what the source says.
func formatOfSource(files Files, name, src string, pause func()) string {
	switch path.Ext(name) {
	case ".cjs":
		return "commonjs"
	case ".mjs", ".ts", ".mts", ".cts", ".tsx":
		return "module"
	}
	if m, _ := scopeOf(files, path.Dir(name)); m.kind == "module" || m.kind == "commonjs" {
		return m.kind
	}
	mentions := func(name string) bool { return strings.Contains(src, name) }
	if slices.ContainsFunc(commonNames, mentions) && !scanModule(src, pause).isModule {
		return "commonjs"
	}
	return "module"
}

// commonNames are those that a file may have only in CommonJS.
var commonNames = []string{"exports", "require", "module", "__filename", "__dirname"}

// moduleList tells where the interpreter's modules are: a list from Head on, in which each has its link at Link. At Status is Evaluated
// when a module has been evaluated, at Async is 1 while it waits for one that awaits.
type moduleList struct {
	Head, Link, Status, Async uint32
	Evaluated                 byte
}

// maxModules bounds how many modules are looked at.
const maxModules = 1 << 16

// settleModules tells the interpreter what it forgets: that a module above one that awaited no longer waits when it has been evaluated. Who
// imported it once more would never be answered.
func (in *interp) settleModules() {
	l := in.b.Modules
	n := 0
	for at := in.u32(l.Head + 4); at != l.Head && n < maxModules; at = in.u32(at + 4) {
		module := at - l.Link
		if in.view(module+l.Status, 1)[0] == l.Evaluated {
			in.put(module+l.Async, []byte{0})
		}
		n++
	}
	in.charge(int64(n))
}

// evaluate answers opEvaluate, for require of an ES module. The interpreter can link a module only while no other is being loaded or
// evaluated, and gives up otherwise.
func (in *interp) evaluate(s *turn, a arguments) uint64 {
	file := a.text(0, maxPath)
	if s.modules {
		return in.throw("Error", "require() of ES Module "+file+" is not supported while ES modules are loaded. Use import instead.", "ERR_REQUIRE_ESM")
	}
	defer func() { s.modules = false }()
	spec, _ := json.Marshal(file)
	v := in.eval("import * as m from "+string(spec)+`; globalThis[Symbol.for("cloche.give")](m)`, "cloche:require", evalModule)
	if v.exception() {
		return 0
	}
	defer in.free(v)
	switch in.call32("JS_PromiseState", uint64(in.b.Ctx), uint64(v)) {
	case promisePending:
		return in.throw("Error", "require() cannot be used on an ESM graph with top-level await. Use import() instead.", "ERR_REQUIRE_ASYNC_MODULE")
	case promiseRejected:
		in.call("JS_Throw", uint64(in.b.Ctx), in.call("JS_PromiseResult", uint64(in.b.Ctx), uint64(v)))
		in.forget(s, v)
		return 0
	}
	return in.undefined()
}

// moduleBy lets the guest make the source of a module that is not written as one.
func (in *interp) moduleBy(fn, arg, name string) (src string, thrown bool) {
	a, n := in.newString(arg), in.newString(name)
	if a.exception() || n.exception() {
		return "", true
	}
	v := in.invoke(in.b.Funcs[fn], a, n)
	in.free(a)
	in.free(n)
	if v.exception() {
		return "", true
	}
	src, ok := in.stringOf(v, maxSource)
	in.free(v)
	return src, !ok
}
