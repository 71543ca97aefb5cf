package wasi

import (
	"context"
	"errors"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// ModuleName is the name under which guests import the functions of this package.
const ModuleName = "wasi_snapshot_preview1"

// stateContext carries a State down to the host functions. It is a type of its own, so that finding the State
// of a call is one comparison when no other context lies between, and a walk of a few nanoseconds else.
type stateContext struct {
	context.Context
	state *State
}

type stateKey struct{}

func (c *stateContext) Value(key any) any {
	if _, ok := key.(stateKey); ok {
		return c.state
	}
	return c.Context.Value(key)
}

// WithState returns a context for calls into an instance whose WASI functions act on s.
func WithState(ctx context.Context, s *State) context.Context { return &stateContext{ctx, s} }

// StateFrom returns the State that [WithState] put into ctx, nil if there is none.
func StateFrom(ctx context.Context) *State {
	if c, ok := ctx.(*stateContext); ok {
		return c.state
	}
	s, _ := ctx.Value(stateKey{}).(*State)
	return s
}

// errNoState is a mistake of the embedder: the exported function was called without WithState.
var errNoState = errors.New("wasi: called with a context that has no State")

// hostFunction is one function of preview1. p holds its parameters; those of type i32 are in the low half.
type hostFunction func(ctx context.Context, s *State, m guestMemory, p []uint64) Errno

// Call implements api.GoModuleFunction.
func (f hostFunction) Call(ctx context.Context, mod api.Module, stack []uint64) {
	s := StateFrom(ctx)
	if s == nil {
		panic(errNoState)
	}
	if s.module != mod {
		s.module, s.memory = mod, guestMemory{mod.ExportedMemory("memory")}
	}
	if s.calls++; s.calls%callsPerLook == 0 {
		s.stopIfOver(ctx)
	}
	stack[0] = uint64(f(ctx, s, s.memory, stack))
}

// callsPerLook is after how many calls the run is asked whether it may go on. Calls may take a millisecond and cost the
// guest few instructions, so that it may not be asked in between.
const callsPerLook = 16

// exitFunction adapts proc_exit, the only function without a result.
type exitFunction struct{}

func (exitFunction) Call(ctx context.Context, mod api.Module, stack []uint64) {
	s := StateFrom(ctx)
	if s == nil {
		panic(errNoState)
	}
	procExit(ctx, s, guestMemory{}, stack)
}

const (
	i32 = api.ValueTypeI32
	i64 = api.ValueTypeI64
)

// functions is preview1, all of it.
var functions = []struct {
	name   string
	params []api.ValueType
	call   hostFunction
}{
	{"args_get", []api.ValueType{i32, i32}, argsGet},
	{"args_sizes_get", []api.ValueType{i32, i32}, argsSizesGet},
	{"environ_get", []api.ValueType{i32, i32}, environGet},
	{"environ_sizes_get", []api.ValueType{i32, i32}, environSizesGet},
	{"clock_res_get", []api.ValueType{i32, i32}, clockResGet},
	{"clock_time_get", []api.ValueType{i32, i64, i32}, clockTimeGet},
	{"fd_advise", []api.ValueType{i32, i64, i64, i32}, fdAdvise},
	{"fd_allocate", []api.ValueType{i32, i64, i64}, fdAllocate},
	{"fd_close", []api.ValueType{i32}, fdClose},
	{"fd_datasync", []api.ValueType{i32}, fdDatasync},
	{"fd_fdstat_get", []api.ValueType{i32, i32}, fdFdstatGet},
	{"fd_fdstat_set_flags", []api.ValueType{i32, i32}, fdFdstatSetFlags},
	{"fd_fdstat_set_rights", []api.ValueType{i32, i64, i64}, fdFdstatSetRights},
	{"fd_filestat_get", []api.ValueType{i32, i32}, fdFilestatGet},
	{"fd_filestat_set_size", []api.ValueType{i32, i64}, fdFilestatSetSize},
	{"fd_filestat_set_times", []api.ValueType{i32, i64, i64, i32}, fdFilestatSetTimes},
	{"fd_pread", []api.ValueType{i32, i32, i32, i64, i32}, fdPread},
	{"fd_prestat_get", []api.ValueType{i32, i32}, fdPrestatGet},
	{"fd_prestat_dir_name", []api.ValueType{i32, i32, i32}, fdPrestatDirName},
	{"fd_pwrite", []api.ValueType{i32, i32, i32, i64, i32}, fdPwrite},
	{"fd_read", []api.ValueType{i32, i32, i32, i32}, fdRead},
	{"fd_readdir", []api.ValueType{i32, i32, i32, i64, i32}, fdReaddir},
	{"fd_renumber", []api.ValueType{i32, i32}, fdRenumber},
	{"fd_seek", []api.ValueType{i32, i64, i32, i32}, fdSeek},
	{"fd_sync", []api.ValueType{i32}, fdSync},
	{"fd_tell", []api.ValueType{i32, i32}, fdTell},
	{"fd_write", []api.ValueType{i32, i32, i32, i32}, fdWrite},
	{"path_create_directory", []api.ValueType{i32, i32, i32}, pathCreateDirectory},
	{"path_filestat_get", []api.ValueType{i32, i32, i32, i32, i32}, pathFilestatGet},
	{"path_filestat_set_times", []api.ValueType{i32, i32, i32, i32, i64, i64, i32}, pathFilestatSetTimes},
	{"path_link", []api.ValueType{i32, i32, i32, i32, i32, i32, i32}, pathLink},
	{"path_open", []api.ValueType{i32, i32, i32, i32, i32, i64, i64, i32, i32}, pathOpen},
	{"path_readlink", []api.ValueType{i32, i32, i32, i32, i32, i32}, pathReadlink},
	{"path_remove_directory", []api.ValueType{i32, i32, i32}, pathRemoveDirectory},
	{"path_rename", []api.ValueType{i32, i32, i32, i32, i32, i32}, pathRename},
	{"path_symlink", []api.ValueType{i32, i32, i32, i32, i32}, pathSymlink},
	{"path_unlink_file", []api.ValueType{i32, i32, i32}, pathUnlinkFile},
	{"poll_oneoff", []api.ValueType{i32, i32, i32, i32}, pollOneoff},
	{"proc_raise", []api.ValueType{i32}, procRaise},
	{"sched_yield", nil, schedYield},
	{"random_get", []api.ValueType{i32, i32}, randomGet},
	{"sock_accept", []api.ValueType{i32, i32, i32}, notSocket},
	{"sock_recv", []api.ValueType{i32, i32, i32, i32, i32, i32}, notSocket},
	{"sock_send", []api.ValueType{i32, i32, i32, i32, i32}, notSocket},
	{"sock_shutdown", []api.ValueType{i32, i32}, sockShutdown},
}

// Instantiate registers the host module in r. Once per wazero.Runtime; it serves all instances in it.
func Instantiate(ctx context.Context, r wazero.Runtime) error {
	b := r.NewHostModuleBuilder(ModuleName)
	for _, f := range functions {
		b = b.NewFunctionBuilder().WithGoModuleFunction(f.call, f.params, []api.ValueType{i32}).Export(f.name)
	}
	b = b.NewFunctionBuilder().WithGoModuleFunction(exitFunction{}, []api.ValueType{i32}, nil).Export("proc_exit")
	_, err := b.Instantiate(ctx)
	return err
}
