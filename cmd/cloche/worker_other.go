//go:build !linux

package main

import "github.com/cloche-dev/cloche/web"

var errNoWorkers = usagef("worker processes need Linux: leave out [workers]")

func (*app) openFront(*web.Settings, web.Config, bool) (*backend, error) { return nil, errNoWorkers }

type (
	workerCmd  struct{}
	spawnerCmd struct{}
)

func (workerCmd) Run() error  { return errNoWorkers }
func (spawnerCmd) Run() error { return errNoWorkers }
