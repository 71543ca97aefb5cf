package main

import (
	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/hostfuncs/mcptools"
)

// startTools starts what the policy's [tools] names, before the second wall stands, behind which nothing can be started.
// Call the function at the end.
func (p effective) startTools(a *app) (*hostfuncs.Registry, func() error, error) {
	if p.tools == nil {
		return nil, func() error { return nil }, nil
	}
	reg := &hostfuncs.Registry{}
	servers, err := mcptools.Start(a.ctx, p.tools, reg, a.err)
	if err != nil {
		return nil, nil, err
	}
	return reg, servers.Close, nil
}
