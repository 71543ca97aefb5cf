package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/cloche-dev/cloche/engine"
)

// outFolder is where a run's files and charts go. All names in it are the guest's and hostile: they are written
// through os.Root, which no name or link leads out of.
type outFolder struct {
	root    *os.Root
	figures int
	written map[string]bool // names that this process wrote
}

func openOut(dir string) (*outFolder, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	return &outFolder{root: root, written: map[string]bool{}}, nil
}

// Close releases the folder.
func (o *outFolder) Close() error { return o.root.Close() }

// save writes the files that a run created or changed, and its charts. What cannot be written is reported, and
// the rest is written all the same.
func (o *outFolder) save(res *engine.Result, files *engine.Files) error {
	var errs []error
	note := func(err error) {
		if err != nil && len(errs) < maxOutErrors {
			errs = append(errs, fmt.Errorf("--out: %w", err))
		}
	}
	for _, c := range res.FilesChanged {
		if c.Op == "deleted" {
			continue
		}
		b, err := files.ReadFile(c.Path)
		if err != nil {
			note(fmt.Errorf("read %s from the sandbox: %w", c.Path, err))
			continue
		}
		note(o.write(outName(c.Path), b))
	}
	for _, png := range res.Charts() {
		note(o.write(o.nextFigure(), png))
	}
	return errors.Join(errs...)
}

// maxOutErrors bounds what is said about a program that made thousands of files.
const maxOutErrors = 10

// outName is where a guest's file goes: files under /data, the working folder, by their name there, others
// by their whole path.
func outName(guest string) string {
	if rest, ok := strings.CutPrefix(guest, "/data/"); ok {
		return rest
	}
	return strings.TrimPrefix(path.Clean(guest), "/")
}

// nextFigure is the next figure-N.png that the program has not itself written.
func (o *outFolder) nextFigure() string {
	for {
		o.figures++
		if name := fmt.Sprintf("figure-%d.png", o.figures); !o.written[name] {
			return name
		}
	}
}

func (o *outFolder) write(name string, b []byte) error {
	if !fs.ValidPath(name) || name == "." {
		return fmt.Errorf("the sandbox's file name %q cannot be written here", name)
	}
	if dir := path.Dir(name); dir != "." {
		if err := o.root.MkdirAll(dir, 0o777); err != nil {
			return err
		}
	}
	// A new file in the place of what is there: a link or a pipe of that name is not written through.
	if info, err := o.root.Lstat(name); err == nil && !info.IsDir() {
		if err := o.root.Remove(name); err != nil {
			return err
		}
	}
	f, err := o.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	o.written[name] = true
	return nil
}
