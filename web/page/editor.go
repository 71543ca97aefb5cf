package page

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/cloche-dev/cloche/runtimes"
)

//go:embed editor/editor.js
var editorSource string

// packages are the artifacts that the editor is bundled from, by the name under which they are imported. Each has one
// member in JavaScript.
var packages = map[string]string{
	"@codemirror/autocomplete":    "codemirror-autocomplete",
	"@codemirror/commands":        "codemirror-commands",
	"@codemirror/lang-javascript": "codemirror-javascript",
	"@codemirror/lang-python":     "codemirror-python",
	"@codemirror/language":        "codemirror-language",
	"@codemirror/lint":            "codemirror-lint",
	"@codemirror/state":           "codemirror-state",
	"@codemirror/streamparser":    "codemirror-streamparser",
	"@codemirror/view":            "codemirror-view",
	"@lezer/common":               "lezer-common",
	"@lezer/highlight":            "lezer-highlight",
	"@lezer/javascript":           "lezer-javascript",
	"@lezer/lr":                   "lezer-lr",
	"@lezer/python":               "lezer-python",
	"@marijn/find-cluster-break":  "find-cluster-break",
	"crelt":                       "crelt",
	"style-mod":                   "style-mod",
	"w3c-keyname":                 "w3c-keyname",
}

// bundleRevision changes when the way the editor is bundled does.
const bundleRevision = "1"

// editorFile is the bundle's name in its cache entry, and its path on the page.
const editorFile = "editor.js"

// entry is the bundle as the cache holds it.
func entry(c *runtimes.Cache) runtimes.Entry {
	parts := []string{bundleRevision, editorSource}
	for _, name := range names() {
		a, err := runtimes.LookupArtifact(packages[name])
		if err != nil {
			panic(err) // the lock file is part of the program
		}
		parts = append(parts, name, a.Key())
	}
	return runtimes.Entry{
		Name: "editor", Key: runtimes.Key(parts...), Hot: []string{editorFile},
		Build: func(ctx context.Context, dir string, p runtimes.Progress) error {
			return bundle(ctx, c, filepath.Join(dir, editorFile), p)
		},
	}
}

// Entry is the editor as the cache holds it, for releases that carry it.
func Entry(c *runtimes.Cache) runtimes.Entry { return entry(c) }

func names() []string {
	var list []string
	for name := range packages {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// Setup makes sure that the code editor is in the cache: it fetches the packages and bundles them. It says whether
// there was anything to do.
func Setup(ctx context.Context, c *runtimes.Cache, p runtimes.Progress) (done bool, err error) {
	e := entry(c)
	if c.Has(e, false) == nil {
		return false, nil
	}
	if _, err := c.Ensure(ctx, e, p); err != nil {
		return false, fmt.Errorf("set up the playground's editor: %w", err)
	}
	return true, nil
}

// bundle writes the editor and all that it imports as one module.
func bundle(ctx context.Context, c *runtimes.Cache, to string, p runtimes.Progress) error {
	var artifacts []string
	for _, name := range names() {
		artifacts = append(artifacts, packages[name])
	}
	dirs, err := c.Artifacts(ctx, artifacts, p)
	if err != nil {
		return err
	}
	files := map[string]string{}
	var licences strings.Builder
	for _, name := range names() {
		a, err := runtimes.LookupArtifact(packages[name])
		if err != nil {
			return err
		}
		for _, m := range a.Members {
			file := filepath.Join(dirs[a.Name], m.Base())
			if strings.HasSuffix(m.Path, ".js") {
				files[name] = file
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			fmt.Fprintf(&licences, "%s %s\n\n%s\n", a.Package, a.Version, text)
		}
	}
	p.Stage("bundle the editor", 0)
	// Only files that were compared with the lock are read: whatever else is imported is an error.
	only := api.Plugin{Name: "pinned", Setup: func(b api.PluginBuild) {
		b.OnResolve(api.OnResolveOptions{Filter: `.*`}, func(args api.OnResolveArgs) (api.OnResolveResult, error) {
			if args.Kind == api.ResolveEntryPoint {
				return api.OnResolveResult{}, nil
			}
			file, ok := files[args.Path]
			if !ok {
				return api.OnResolveResult{}, fmt.Errorf("%s is not pinned in artifacts.lock", args.Path)
			}
			return api.OnResolveResult{Path: file}, nil
		})
	}}
	r := api.Build(api.BuildOptions{
		Stdin:  &api.StdinOptions{Contents: editorSource, Sourcefile: editorFile, Loader: api.LoaderJS},
		Bundle: true, Format: api.FormatESModule, Target: api.ES2022, Plugins: []api.Plugin{only},
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true, LegalComments: api.LegalCommentsNone,
		Charset: api.CharsetUTF8,
	})
	if len(r.Errors) > 0 {
		var errs []error
		for _, m := range r.Errors {
			errs = append(errs, errors.New(m.Text))
		}
		return fmt.Errorf("bundle the editor: %w", errors.Join(errs...))
	}
	text := "/*!\n" + strings.ReplaceAll(licences.String(), "*/", "* /") + "*/\n" + string(r.OutputFiles[0].Contents)
	return os.WriteFile(to, []byte(text), 0o600)
}
