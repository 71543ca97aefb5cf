package main

import (
	"errors"

	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/hostfuncs/mailbox"
	"github.com/cloche-dev/cloche/hostfuncs/mcptools"
)

// startTools starts what the policy's [tools] names, before the second wall stands, behind which nothing can be started, and
// offers the channels of its [mailbox]. Call the function at the end.
func (p effective) startTools(a *app) (*hostfuncs.Registry, func() error, error) {
	stop := func() error { return nil }
	if p.tools == nil && len(p.mailbox) == 0 {
		return nil, stop, nil
	}
	reg := &hostfuncs.Registry{}
	if p.tools != nil {
		servers, err := mcptools.Start(a.ctx, p.tools, reg, a.err)
		if err != nil {
			return nil, nil, err
		}
		stop = servers.Close
	}
	hub, err := mailbox.New(p.mailbox...)
	if err == nil {
		err = hub.Offer(reg, nil)
	}
	if err != nil {
		return nil, nil, errors.Join(usageError{err}, stop())
	}
	return reg, stop, nil
}
