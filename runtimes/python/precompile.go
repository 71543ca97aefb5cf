package python

import (
	"archive/zip"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/wasi"
	"github.com/cloche-dev/cloche/wasi/vfs"
)

//go:embed precompile.py
var precompileSource string

const (
	// cacheTag is the interpreter's sys.implementation.cache_tag, part of the names of its bytecode's files.
	cacheTag = "cpython-315"
	// precompileShards is in how many sandboxes modules are compiled. What they cost later must not depend on the machine, and
	// what is compiled in one sandbox could.
	precompileShards = 4
	// precompileFuel and precompileBytes are what each of them may take: some minutes, and half a million lines or so.
	precompileFuel  = 1 << 40
	precompileBytes = 1 << 30
	// maxBytecode bounds the bytecode of one module.
	maxBytecode = 16 << 20
)

// precompile compiles the modules of an archive, which is mounted at PackagesDir, in sandboxes of their own: most of the time that an
// import takes is the compiler's. It returns bytecode by where it belongs in the archive. Nothing of the packages runs; who gets
// hold of the compiler by what it compiles has the bytecode of packages that sandboxes run as they are anyway.
func precompile(ctx context.Context, baked *runtimes.Baked, site vfs.FS, names []string) (map[string][]byte, error) {
	shards := make([][]string, precompileShards)
	for i, name := range names {
		shards[i%precompileShards] = append(shards[i%precompileShards], name)
	}
	made := make([][][]byte, len(shards))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, shard := range shards {
		group.Go(func() (err error) {
			made[i], err = precompileShard(ctx, baked, site, shard)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	bytecode := map[string][]byte{}
	for i, shard := range made {
		for k, b := range shard {
			if b != nil {
				bytecode[cachePath(shards[i][k])] = b
			}
		}
	}
	return bytecode, nil
}

// cachePath is where the interpreter looks for the bytecode of a module.
func cachePath(name string) string {
	dir, file := path.Split(name)
	return dir + "__pycache__/" + strings.TrimSuffix(file, ".py") + "." + cacheTag + ".pyc"
}

// precompileShard returns the bytecode of each name; nil for what was not compiled.
func precompileShard(ctx context.Context, baked *runtimes.Baked, site vfs.FS, names []string) (bytecode [][]byte, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	asked, err := json.Marshal(map[string]any{"folder": PackagesDir, "names": names})
	if err != nil {
		return nil, err
	}
	template, err := baked.Template.With(vfs.Mount{Path: PackagesDir, FS: site})
	if err != nil {
		return nil, err
	}
	files := template.New(vfs.Options{Bytes: maxSiteBytes})
	state, err := wasi.New(wasi.Config{
		FS: files, Args: Spec().Args, Env: Spec().Env, AbsoluteLinks: true, Stdin: bytes.NewReader(asked), Stdout: io.Discard, Stderr: io.Discard,
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, state.Close(), files.Close()) }()
	if err := state.RestoreDescriptors(baked.Descriptors); err != nil {
		return nil, err
	}
	inst, err := baked.Module.New(ctx, baked.State, precompileBytes)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, inst.Close(context.WithoutCancel(ctx))) }()
	entropy := rand.NewChaCha8([32]byte{}) // the same bytecode everywhere
	turn := &runtimes.Turn{Source: precompileSource, Name: "precompile.py", First: true, Entropy: func(n int) []byte {
		b := make([]byte, n)
		_, _ = entropy.Read(b) // cannot fail
		return b
	}}
	meter := vm.Meter{Budget: precompileFuel, Check: func(ctx context.Context, _ vm.Guest) error { return ctx.Err() }}
	// However it ends: what was not compiled by then is compiled where it is imported.
	_ = inst.Run(wasi.WithState(ctx, state), &meter, func(ctx context.Context) error {
		_, err := baked.Driver.Turn(ctx, inst, baked.Info, turn)
		return err
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	bytecode = make([][]byte, len(names))
	for i := range names {
		if b, err := files.ReadFile(fmt.Sprintf("%s/%d.pyc", runtimes.WorkDir, i), maxBytecode); err == nil {
			bytecode[i] = b
		}
	}
	return bytecode, nil
}

// withBytecode copies an archive of packages and adds the bytecode of their modules.
func withBytecode(ctx context.Context, baked *runtimes.Baked, from, to string) (err error) {
	site, err := openSite(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, site.Close()) }()
	z, err := zip.NewReader(site.archive, site.size)
	if err != nil {
		return err
	}
	var names []string
	var total uint64
	files := map[string]bool{}
	for _, f := range z.File {
		files[f.Name] = true
		total += f.UncompressedSize64
		if strings.HasSuffix(f.Name, ".py") {
			names = append(names, f.Name)
		}
	}
	bytecode, err := precompile(ctx, baked, site.fs, names)
	if err != nil {
		return err
	}
	return createZip(to, func(w *zip.Writer) error {
		for _, f := range z.File {
			if bytecode[f.Name] != nil { // a wheel's own is another interpreter's
				continue
			}
			if err := w.Copy(f); err != nil {
				return err
			}
		}
		for _, name := range slices.Sorted(maps.Keys(bytecode)) {
			if total += uint64(len(bytecode[name])); total > maxSiteBytes {
				break
			}
			if files[path.Dir(name)] { // a file in the place of the folder
				continue
			}
			if err := store(w, name, bytecode[name]); err != nil {
				return err
			}
		}
		return nil
	})
}
