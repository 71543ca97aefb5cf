package main

import (
	"encoding/json"
	"errors"
	"runtime/debug"
	"strings"

	"github.com/cloche-dev/cloche/runtimes"
)

// sbomCmd is for make dist.
type sbomCmd struct{}

func (sbomCmd) Help() string {
	return `Prints what this program is made of, and what it fetches, as a CycloneDX 1.5 bill of materials.

` + exitHelpOther
}

type sbom struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type     string    `json:"type"`
	Name     string    `json:"name"`
	Version  string    `json:"version,omitempty"`
	PURL     string    `json:"purl,omitempty"`
	Scope    string    `json:"scope,omitempty"`
	Licences []licence `json:"licenses,omitempty"`
	Hashes   []hash    `json:"hashes,omitempty"`
}

type licence struct {
	Expression string `json:"expression"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

// Run prints it.
func (sbomCmd) Run(a *app) error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return errors.New("this program was built without build information")
	}
	b := sbom{Format: "CycloneDX", Spec: "1.5", Version: 1, Metadata: metadata{component{
		Type: "application", Name: "cloche", Version: version(), Licences: []licence{{"Apache-2.0"}},
	}}}
	b.Components = append(b.Components, component{
		Type: "library", Name: "std", Version: strings.TrimPrefix(info.GoVersion, "go"), PURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"),
	})
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		b.Components = append(b.Components, component{Type: "library", Name: d.Path, Version: d.Version, PURL: "pkg:golang/" + d.Path + "@" + d.Version})
	}
	for _, art := range runtimes.Artifacts() {
		b.Components = append(b.Components, component{
			Type: "library", Name: art.Package, Version: art.Version, Scope: "required",
			PURL:     "pkg:" + art.Ecosystem + "/" + strings.ReplaceAll(art.Package, "@", "%40") + "@" + art.Version,
			Licences: []licence{{art.Licence}}, Hashes: []hash{{"SHA-256", art.SHA256}},
		})
	}
	enc := json.NewEncoder(a.out)
	enc.SetIndent("", "  ")
	return enc.Encode(b)
}
