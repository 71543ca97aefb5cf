package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/runtimes"
)

// RuntimeList answers GET /v1/runtimes: what there is, and what this key may have of it.
type RuntimeList struct {
	Runtimes []RuntimeInfo `json:"runtimes"`
	// Limits hold where a request does not say, MaxLimits are the most that it may ask for.
	Limits    Limits `json:"limits"`
	MaxLimits Limits `json:"max_limits"`
	// Network are the patterns that a request may ask for.
	Network []string `json:"network"`
	// Mounts are the folders that a session may ask for.
	Mounts []MountRequest `json:"mounts"`
}

// RuntimeInfo is one interpreter.
type RuntimeInfo struct {
	Name      string   `json:"name"`
	Languages []string `json:"languages"`
	Package   string   `json:"package"`
	Version   string   `json:"version"`
	Licence   string   `json:"licence"`
}

func (s *Server) runtimes(x *exchange, _ echo.Context) error {
	p := x.key.Policy
	list := RuntimeList{Limits: limitsOf(p.Limits), MaxLimits: limitsOf(p.Max), Network: []string{}, Mounts: []MountRequest{}}
	for _, a := range runtimes.Artifacts() {
		info := RuntimeInfo{Name: a.Name, Package: a.Package, Version: a.Version, Licence: a.Licence}
		switch {
		case a.Name == "python":
			info.Languages = []string{engine.Python}
		case a.Name == "quickjs":
			info.Languages = []string{engine.JavaScript, engine.TypeScript}
		default:
			continue // a font, or the page's editor
		}
		list.Runtimes = append(list.Runtimes, info)
	}
	if p.Network != nil {
		for _, pattern := range p.Network.Allow {
			list.Network = append(list.Network, pattern.String())
		}
	}
	for _, m := range p.Mounts {
		list.Mounts = append(list.Mounts, MountRequest{Path: m.Guest, Mode: string(m.Mode)})
	}
	return x.reply(http.StatusOK, list)
}
