package js

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// textFiles are files by name, to be read only.
type textFiles struct {
	Files
	text map[string]string
}

func (f textFiles) Stat(name string, _ bool) (FileInfo, error) {
	if text, ok := f.text[name]; ok {
		return FileInfo{Size: int64(len(text))}, nil
	}
	for file := range f.text {
		if strings.HasPrefix(file, strings.TrimSuffix(name, "/")+"/") {
			return FileInfo{Mode: fs.ModeDir}, nil
		}
	}
	return FileInfo{}, errCode("ENOENT")
}

func (f textFiles) Open(name string, _ int) (File, error) {
	info, err := f.Stat(name, true)
	return textFile{info: info, Reader: strings.NewReader(f.text[name])}, err
}

type textFile struct {
	File
	*strings.Reader
	info FileInfo
}

func (f textFile) ReadAt(p []byte, at int64) (int, error) { return f.Reader.ReadAt(p, at) }
func (f textFile) Stat() (FileInfo, error)                { return f.info, nil }
func (textFile) Close() error                             { return nil }

func TestPackages(t *testing.T) {
	files := textFiles{text: map[string]string{
		"/data/package.json":                     `{"name": "own", "exports": {"./util": "./lib/util.js"}, "imports": {"#cfg": "./lib/config.js", "#dep": {"node": "dep/sub"}, "#fs": "fs", "#in/*": "./lib/*.js", "#null": null}}`,
		"/data/lib/util.js":                      "",
		"/data/lib/config.js":                    "",
		"/data/node_modules/dep/package.json":    `{"main": "lib/main", "module": "es.js"}`,
		"/data/node_modules/dep/lib/main.js":     "",
		"/data/node_modules/dep/es.js":           "",
		"/data/node_modules/dep/sub.js":          "",
		"/data/node_modules/@s/p/package.json":   `{"exports": {"require": "./c.cjs", "import": "./m.mjs", "default": "./never.js"}}`,
		"/data/node_modules/@s/p/c.cjs":          "",
		"/data/node_modules/@s/p/m.mjs":          "",
		"/data/node_modules/order/package.json":  `{"exports": [{"default": "./first.js", "import": "./second.js"}, "./third.js"]}`,
		"/data/node_modules/order/first.js":      "",
		"/data/node_modules/pat/package.json":    `{"exports": {".": "./i.js", "./*": "./src/*.js", "./secret/*": null, "./f/*.js": "./src/f/*.js", "./up": "./../up.js"}}`,
		"/data/node_modules/pat/i.js":            "",
		"/data/node_modules/pat/src/a.js":        "",
		"/data/node_modules/pat/src/secret/b.js": "",
		"/data/node_modules/pat/src/f/c.js":      "",
		"/data/node_modules/up.js":               "",
		"/data/node_modules/odd/package.json":    `{"exports": 5, "main": 6, "name": [`,
		"/data/node_modules/deep/package.json":   `{"exports": ` + strings.Repeat(`{"import": `, 5000) + `"./x.js"` + strings.Repeat("}", 5001),
		"/data/node_modules/many/package.json":   `{"exports": [` + strings.Repeat("{}, ", 100_000) + `"./x.js"]}`,
		"/data/node_modules/many/x.js":           "",
		"/node_modules/top/index.js":             "",
	}}
	for _, c := range []struct{ spec, kind, want string }{
		{"dep", "import", "/data/node_modules/dep/lib/main.js"},
		{"dep/sub", "import", "/data/node_modules/dep/sub.js"},
		{"dep/", "require", "/data/node_modules/dep/lib/main.js"},
		{"@s/p", "import", "/data/node_modules/@s/p/m.mjs"},
		{"@s/p", "require", "/data/node_modules/@s/p/c.cjs"},
		{"order", "import", "/data/node_modules/order/first.js"},
		{"pat", "import", "/data/node_modules/pat/i.js"},
		{"pat/a", "import", "/data/node_modules/pat/src/a.js"},
		{"pat/f/c.js", "require", "/data/node_modules/pat/src/f/c.js"},
		{"pat/secret/b", "import", `ERR_PACKAGE_PATH_NOT_EXPORTED Package subpath './secret/b' is not defined by "exports" in /data/node_modules/pat/package.json`},
		{"pat/up", "import", `ERR_PACKAGE_PATH_NOT_EXPORTED Package subpath './up' is not defined by "exports" in /data/node_modules/pat/package.json`},
		{"own/util", "import", "/data/lib/util.js"},
		{"own", "import", `ERR_PACKAGE_PATH_NOT_EXPORTED No "exports" main defined in /data/package.json`},
		{"#cfg", "require", "/data/lib/config.js"},
		{"#dep", "import", "/data/node_modules/dep/sub.js"},
		{"#fs", "import", "node:fs"},
		{"#in/util", "import", "/data/lib/util.js"},
		{"#null", "import", `ERR_PACKAGE_IMPORT_NOT_DEFINED Package import specifier "#null" is not defined in package /data/package.json imported from /data/src/x.js`},
		{"odd", "import", ""},
		{"deep", "import", `ERR_PACKAGE_PATH_NOT_EXPORTED No "exports" main defined in /data/node_modules/deep/package.json`},
		{"many", "import", `ERR_PACKAGE_PATH_NOT_EXPORTED No "exports" main defined in /data/node_modules/many/package.json`},
		{"top", "import", "/node_modules/top/index.js"},
		{"nowhere", "import", ""},
		{"@s", "import", ""},
	} {
		got, err := (&packages{files: files, kind: c.kind, from: "/data/src/x.js"}).find("/data/src", c.spec)
		if err != nil {
			got = err.code + " " + err.message
		}
		if got != c.want {
			t.Errorf("%s %s: %q, want %q", c.kind, c.spec, got, c.want)
		}
	}
}

// TestPackagesOfManyStars: what stands for the stars of a path may be long, and their number large; the path must not be.
func TestPackagesOfManyStars(t *testing.T) {
	stars := strings.Repeat("*", 100_000)
	files := textFiles{text: map[string]string{
		"/data/package.json":                  `{"imports": {"#*": "` + stars + `"}}`,
		"/data/node_modules/pkg/package.json": `{"exports": {"./*": ["./` + stars + `", {"default": "./` + stars + `"}]}}`,
	}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, spec := range []string{"#", "pkg/"} {
		if found, err := (&packages{files: files, kind: "import"}).find("/data", spec+strings.Repeat("a", 2000)); found != "" || err == nil {
			t.Errorf("%.100q, %v", found, err)
		}
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 32<<20 {
		t.Errorf("it took %d MiB", (after.TotalAlloc-before.TotalAlloc)>>20)
	}
}

// TestPackagesAsNode: packages with random package.json files are found, and refused, as by Node.
func TestPackagesAsNode(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	files := textFiles{text: map[string]string{}}
	type question struct{ Kind, From, Spec string }
	var questions []question
	for n := range 200 {
		dir := fmt.Sprintf("%s/%d", root, n)
		from := dir + "/lib/main.js"
		own := dir
		if r.IntN(2) == 0 {
			own = dir + "/node_modules/pkg"
		}
		for _, name := range []string{"a.js", "b.mjs", "c.cjs", "lib/a.js", "lib/b.mjs", "lib/c.cjs", "lib/lib/a.js", "index.js"} {
			files.text[own+"/"+name] = ""
		}
		files.text[from] = ""
		files.text[dir+"/node_modules/other/index.js"] = ""
		m := map[string]json.RawMessage{"name": json.RawMessage(`"pkg"`)}
		if r.IntN(2) == 0 {
			m["main"] = json.RawMessage(`"./` + pick(r, "a", "a.js", "lib", "lib/a.js", "none") + `"`)
		}
		if r.IntN(3) > 0 {
			m["exports"] = randomTargets(r, ".", 3)
		}
		if r.IntN(2) > 0 {
			m["imports"] = randomTargets(r, "#", 3)
		}
		text, _ := json.Marshal(m)
		files.text[own+"/package.json"] = string(text)
		for _, kind := range []string{"import", "require"} {
			for _, spec := range []string{"pkg", "pkg/a", "pkg/lib/a", "pkg/a.js", "pkg/lib/a.js", "pkg/lib/b.mjs", "other", "#a", "#lib/a", "#lib/a.js", "#none"} {
				questions = append(questions, question{kind, from, spec})
			}
		}
	}
	for name, text := range files.text {
		if err := os.MkdirAll(path.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	asked, _ := json.Marshal(questions)
	cmd := exec.Command(node, "--no-deprecation", "--experimental-import-meta-resolve", "--input-type=module", "-e", `
		import { createRequire } from "node:module";
		import { readFileSync, statSync } from "node:fs";
		import { fileURLToPath, pathToFileURL } from "node:url";
		const answers = JSON.parse(readFileSync(0, "utf8")).map(({ Kind, From, Spec }) => {
			try {
				if (Kind === "require") return createRequire(From).resolve(Spec);
				const url = import.meta.resolve(Spec, pathToFileURL(From));
				return url.startsWith("node:") ? url : statSync(fileURLToPath(url), { throwIfNoEntry: false })?.isFile() ? fileURLToPath(url) : "";
			} catch (e) {
				return e.code.includes("NOT_FOUND") || e.code === "ERR_UNSUPPORTED_DIR_IMPORT" ? "" : e.code;
			}
		});
		console.log(JSON.stringify(answers));`)
	cmd.Stdin = strings.NewReader(string(asked))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var answers []string
	if err := json.Unmarshal(out, &answers); err != nil {
		t.Fatal(err)
	}
	same := map[string]int{}
	for i, q := range questions {
		want := answers[i]
		got, failed := (&packages{files: files, kind: q.Kind, from: q.From}).find(path.Dir(q.From), q.Spec)
		if failed != nil {
			got = failed.code
		}
		switch {
		case got == want:
		case want == "" && strings.HasPrefix(got, "/"): // an extension was tried, in an import too
		case want == "ERR_INVALID_PACKAGE_TARGET" && failed != nil: // ours says that nothing is there
		case want == "ERR_INVALID_URL_SCHEME": // Node's own fault, for a builtin among "imports"
		default:
			own, err := os.ReadFile(path.Dir(path.Dir(q.From)) + "/package.json")
			if err != nil {
				own, _ = os.ReadFile(path.Dir(path.Dir(q.From)) + "/node_modules/pkg/package.json")
			}
			t.Errorf("%s %s: %q, Node has %q, with %s", q.Kind, q.Spec, got, want, own)
		}
		same[strings.TrimLeft(path.Base(got), "/")]++
	}
	if len(same) < 8 || same["ERR_PACKAGE_PATH_NOT_EXPORTED"] < 100 || same["b.mjs"] < 100 {
		t.Errorf("the questions have too few answers: %v", same)
	}
}

func pick(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }

// randomTargets is a field "exports" (keys begin with ".") or "imports" ("#").
func randomTargets(r *rand.Rand, begin string, depth int) json.RawMessage {
	keys := []string{".", "./a", "./lib/*", "./*", "./lib/a", "./*.js", "./lib/*.js", "./lib/b.mjs"}
	if begin == "#" {
		keys = []string{"#a", "#lib/*", "#*", "#lib/a", "#lib/*.js"}
	} else if r.IntN(3) == 0 {
		return randomTarget(r, depth, false)
	}
	var parts []string
	for _, i := range r.Perm(len(keys))[:1+r.IntN(4)] {
		parts = append(parts, fmt.Sprintf("%q: %s", keys[i], randomTarget(r, depth, begin == "#")))
	}
	return json.RawMessage("{" + strings.Join(parts, ", ") + "}")
}

func randomTarget(r *rand.Rand, depth int, internal bool) json.RawMessage {
	n := 10
	if depth == 0 {
		n = 6
	}
	switch r.IntN(n) {
	case 0:
		return json.RawMessage("null")
	case 1:
		return json.RawMessage(`"` + pick(r, "../up.js", "./lib/../a.js", "/a.js", "./") + `"`)
	case 2:
		if internal {
			return json.RawMessage(`"` + pick(r, "other", "fs", "pkg") + `"`)
		}
		fallthrough
	case 3, 4, 5:
		return json.RawMessage(`"./` + pick(r, "a.js", "b.mjs", "c.cjs", "lib/*", "*", "lib/*.js", "*.js", "lib/b.mjs", "none.js") + `"`)
	case 6:
		var parts []string
		for range r.IntN(3) {
			parts = append(parts, string(randomTarget(r, depth-1, internal)))
		}
		return json.RawMessage("[" + strings.Join(parts, ", ") + "]")
	}
	conditions := []string{"import", "require", "node", "default", "browser", "types"}
	var parts []string
	for _, i := range r.Perm(len(conditions))[:1+r.IntN(4)] {
		parts = append(parts, fmt.Sprintf("%q: %s", conditions[i], randomTarget(r, depth-1, internal)))
	}
	return json.RawMessage("{" + strings.Join(parts, ", ") + "}")
}

// FuzzPackages: whatever package.json holds, a name is found below /data, as a builtin, or not at all.
func FuzzPackages(f *testing.F) {
	f.Add(`{"exports": {"./*": ["./src/*.js", null]}, "imports": {"#*": "pkg/*"}, "name": "own", "main": "x"}`, "pkg/a", "import")
	f.Add(`{"name": "pkg", "exports": {"import": {"node": "./a.js"}}}`, "#a", "require")
	f.Fuzz(func(t *testing.T, text, spec, kind string) {
		files := textFiles{text: map[string]string{
			"/data/package.json": text, "/data/node_modules/pkg/package.json": text, "/data/node_modules/pkg/src/a.js": "",
			"/data/x.js": "", "/secret.js": "",
		}}
		found, err := (&packages{files: files, kind: kind, from: "/data/m.js"}).find("/data", spec)
		if err != nil && found != "" || found == "/secret.js" && strings.Contains(text, "./") {
			t.Errorf("%q in %q: %q, %v", spec, text, found, err)
		}
	})
}
