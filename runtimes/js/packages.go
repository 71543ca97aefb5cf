package js

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// npm packages in the sandbox's files are found by Node's rules (nodejs.org/api/esm.html#resolution-algorithm-specification and
// modules.html#all-together): the node_modules of the importing file's folder and those above it, the fields "exports",
// "imports" and "main" of package.json, a package by its own name. A path may lack its extension in an import, too.

const manifestFile = "/package.json" // of a folder

// Bounds of what is read for one name, which takes up to 50 ms with them: the bytes of a package.json (a larger one counts as
// absent), how deep conditions nest in it, each level of which is read again, and how many values are looked at. The largest known
// has 200 KB and nests four levels.
const (
	maxManifest   = 512 << 10
	maxConditions = 6
	maxTargets    = 1000
)

// manifest is what package.json says.
type manifest struct {
	dir, name, main  string
	kind             string // "type": of .js files, module or commonjs
	exports, imports json.RawMessage
}

// readManifest reads dir's package.json. Without one, and for what is not understood in it, the fields are empty.
func readManifest(files Files, dir string) (m manifest, found bool) {
	b, err := readText(files, path.Join(dir, manifestFile), maxManifest)
	if err != nil {
		return manifest{dir: dir}, false
	}
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(b, &fields)
	for name, to := range map[string]any{"name": &m.name, "type": &m.kind, "main": &m.main, "exports": &m.exports, "imports": &m.imports} {
		_ = json.Unmarshal(fields[name], to)
	}
	m.dir = dir
	return m, true
}

func (m manifest) hasExports() bool { return len(m.exports) > 0 && string(m.exports) != "null" }

// scopeOf is the package that a file in dir belongs to.
func scopeOf(files Files, dir string) (m manifest, found bool) {
	for ; path.Base(dir) != "node_modules"; dir = path.Dir(dir) {
		if m, found = readManifest(files, dir); found || dir == "/" || dir == "." {
			return m, found
		}
	}
	return manifest{}, false
}

// packages resolves the name of a package in a file's import.
type packages struct {
	files Files
	kind  string // import or require
	from  string // the importing file
	seen  int    // values of "exports" and "imports" that were looked at
}

// find is the file that a bare specifier means ("lodash", "lodash/fp", "@scope/name", "#internal") in dir, "" if there is none.
func (p *packages) find(dir, spec string) (string, *notFound) {
	if strings.HasPrefix(spec, "#") {
		return p.internal(dir, spec)
	}
	name, sub := splitSpecifier(spec)
	if name == "" {
		return "", nil
	}
	if own, ok := scopeOf(p.files, dir); ok && own.name == name && own.hasExports() {
		return p.exported(own, sub)
	}
	for ; ; dir = path.Dir(dir) {
		if path.Base(dir) != "node_modules" {
			root := path.Join(dir, "node_modules", name)
			if info, err := p.files.Stat(root, true); err == nil && info.Mode.IsDir() {
				m, _ := readManifest(p.files, root)
				return p.inside(m, sub)
			}
		}
		if dir == "/" || dir == "." {
			return "", nil
		}
	}
}

// splitSpecifier gives the package's name and what is asked of it: "." or "./x".
func splitSpecifier(spec string) (name, sub string) {
	n := strings.IndexByte(spec, '/')
	if strings.HasPrefix(spec, "@") && n > 0 {
		if m := strings.IndexByte(spec[n+1:], '/'); m >= 0 {
			n += 1 + m
		} else {
			n = -1
		}
	}
	if n < 0 {
		return spec, "."
	}
	return spec[:n], strings.TrimSuffix("."+spec[n:], "/")
}

// inside is the file of a package that "name" (sub ".") or "name/x" (sub "./x") means.
func (p *packages) inside(m manifest, sub string) (string, *notFound) {
	if m.hasExports() {
		return p.exported(m, sub)
	}
	if sub != "." {
		return findFile(p.files, path.Join(m.dir, sub)), nil
	}
	return mainOf(p.files, m), nil
}

// mainOf is the file that a package or folder without exports is.
func mainOf(files Files, m manifest) string {
	if m.main != "" {
		if found := findEntry(files, path.Join(m.dir, m.main)); found != "" {
			return found
		}
	}
	return findEntry(files, path.Join(m.dir, "index"))
}

// exported is what the field "exports" gives for sub: a path, conditions, or subpaths of these.
func (p *packages) exported(m manifest, sub string) (string, *notFound) {
	where := path.Join(m.dir, manifestFile)
	targets, isObject := members(m.exports)
	if !isObject || len(targets) == 0 || !strings.HasPrefix(targets[0].key, ".") {
		targets = []member{{".", m.exports}}
	}
	t := p.match(targets, sub, m, false)
	switch {
	case t.file != "":
		return findEntry(p.files, t.file), nil
	case sub == ".":
		return "", &notFound{"ERR_PACKAGE_PATH_NOT_EXPORTED", `No "exports" main defined in ` + where}
	}
	return "", &notFound{"ERR_PACKAGE_PATH_NOT_EXPORTED", "Package subpath '" + sub + `' is not defined by "exports" in ` + where}
}

// internal is what the field "imports" of a file's own package gives for a specifier that begins with "#".
func (p *packages) internal(dir, spec string) (string, *notFound) {
	m, _ := scopeOf(p.files, dir)
	targets, there := members(m.imports)
	if p.kind == "require" && !there {
		return "", nil
	}
	switch t := p.match(targets, spec, m, true); {
	case t.file != "":
		return findEntry(p.files, t.file), nil
	case t.spec != "":
		if found := builtin(t.spec); found != "" {
			return found, nil
		}
		return p.find(m.dir, t.spec)
	}
	within := ""
	if m.dir != "" {
		within = " in package " + path.Join(m.dir, manifestFile)
	}
	return "", &notFound{"ERR_PACKAGE_IMPORT_NOT_DEFINED", `Package import specifier "` + spec + `" is not defined` + within + " imported from " + p.from}
}

// target is what a value of "exports" or "imports" gives: a file, or a specifier of another package. With neither, what was asked
// for is excluded (null, or no valid path) if that is decided, and else up to the conditions that follow.
type target struct {
	file, spec string
	decided    bool
}

// match looks key up in the subpaths of "exports" or "imports": itself, or the pattern ("./lib/*.js") with the longest part before its star.
func (p *packages) match(targets []member, key string, m manifest, internal bool) target {
	var best member
	var star string
	length := -1
	for _, t := range targets {
		if t.key == key && !strings.Contains(key, "*") {
			return p.target(t.value, "*", m, internal, maxConditions) // a star in its target is none
		}
		before, after, ok := strings.Cut(t.key, "*")
		if !ok || strings.Contains(after, "*") || len(key) < len(t.key) || !strings.HasPrefix(key, before) || !strings.HasSuffix(key, after) {
			continue
		}
		// Of two of the same length before the star, the longer one.
		if l := len(before); l > length || l == length && len(t.key) > len(best.key) {
			best, star, length = t, key[len(before):len(key)-len(after)], l
		}
	}
	if length < 0 {
		return target{}
	}
	return p.target(best.value, star, m, internal, maxConditions)
}

// target reads a value: a path, conditions in the order of their preference, alternatives, or null for what is excluded.
func (p *packages) target(v json.RawMessage, star string, m manifest, internal bool, depth int) target {
	if p.seen++; depth == 0 || len(v) == 0 || p.seen > maxTargets {
		return target{}
	}
	switch v[0] {
	case '"':
		var text string
		_ = json.Unmarshal(v, &text)
		if len(text)+strings.Count(text, "*")*len(star) > maxPath { // no path is as long, and thousands of stars are gigabytes
			return target{decided: true}
		}
		text = strings.ReplaceAll(text, "*", star)
		if inside, ok := strings.CutPrefix(text, "./"); ok && !leads(inside) {
			return target{file: path.Join(m.dir, inside), decided: true}
		} else if internal && text != "" && !strings.HasPrefix(text, ".") && !strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "#") {
			return target{spec: text, decided: true}
		}
		return target{decided: true} // an invalid one
	case '[':
		var list []json.RawMessage
		_ = json.Unmarshal(v, &list)
		decided := len(list) == 0
		for _, v := range list {
			t := p.target(v, star, m, internal, depth-1)
			if t.file != "" || t.spec != "" {
				return t
			}
			decided = decided || t.decided
		}
		return target{decided: decided}
	case 'n': // null
		return target{decided: true}
	}
	conditions, _ := members(v)
	for _, c := range conditions {
		switch c.key {
		case p.kind, "node", "default":
			if t := p.target(c.value, star, m, internal, depth-1); t.decided {
				return t
			}
		}
	}
	return target{}
}

// leads says whether a path of a target leads elsewhere than straight down in its package.
func leads(p string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(p, func(r rune) bool { return r == '/' || r == '\\' }), func(part string) bool {
		return part == "." || part == ".." || strings.EqualFold(part, "node_modules")
	})
}

// member is one of an object's.
type member struct {
	key   string
	value json.RawMessage
}

// members are those of a JSON object in their order, which decides between conditions.
func members(v json.RawMessage) (list []member, isObject bool) {
	d := json.NewDecoder(bytes.NewReader(v))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, false
		}
		m := member{key: key.(string)}
		if d.Decode(&m.value) != nil {
			return nil, false
		}
		list = append(list, m)
	}
	return list, true
}
