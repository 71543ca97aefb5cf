package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/runtimes"
)

// outFolder is where a run's files and charts go. All names in it are the guest's and hostile: they are written
// through os.Root, which no name or link leads out of.
type outFolder struct {
	root    *os.Root
	figures int
	written map[string]bool // names that this process wrote
	left    uint64          // bytes that may still be written
	mounted []limits.Mount  // whose files are the host's: they are where they belong
}

// openOut opens the folder, into which at most that many bytes will be written: a program can make files of any
// size, since holes cost it nothing, and none of them may fill the host's disk.
func openOut(dir string, most uint64) (*outFolder, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	return &outFolder{root: root, written: map[string]bool{}, left: most}, nil
}

// leaveMounted tells that files in these mounts are not to be written.
func (o *outFolder) leaveMounted(mounts []limits.Mount) {
	for _, m := range mounts {
		if m.Mode == limits.ReadWrite {
			o.mounted = append(o.mounted, m)
		}
	}
}

func (o *outFolder) onHost(guest string) bool {
	return slices.ContainsFunc(o.mounted, func(m limits.Mount) bool { return m.GuestHolds(guest) })
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
		if c.Op == "deleted" || o.onHost(c.Path) {
			continue
		}
		if err := o.copy(files, c); !c.Link { // a link is worth a copy of the file that it leads to, if it leads to one
			note(err)
		}
	}
	if res.MoreFilesChanged {
		note(errors.New("the program changed more files than are known by name, and so written"))
	}
	for _, png := range res.Charts() {
		note(o.write(o.nextFigure(), bytes.NewReader(png)))
	}
	return errors.Join(errs...)
}

func (o *outFolder) copy(files *engine.Files, c engine.FileChange) error {
	if c.Bytes > o.left {
		return o.tooMuch(c.Path)
	}
	r, err := files.Open(c.Path)
	if err != nil {
		return err
	}
	defer r.Close()
	return o.write(outName(c.Path), r)
}

func (o *outFolder) tooMuch(name string) error {
	return fmt.Errorf("%s is more than the %s that may still be written: raise --disk", name, limits.ApproxSize(o.left))
}

// maxOutErrors bounds what is said about a program that made thousands of files.
const maxOutErrors = 10

// outName is where a guest's file goes: files under /data, the working folder, by their name there, others
// by their whole path.
func outName(guest string) string {
	if rest, ok := strings.CutPrefix(guest, runtimes.WorkDir+"/"); ok {
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

// write makes a file of what r gives. Nothing is left of one that has more bytes than may be written.
func (o *outFolder) write(name string, r io.Reader) error {
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
	n, err := io.Copy(f, io.LimitReader(r, int64(o.left)+1))
	if err == nil && uint64(n) > o.left {
		err = o.tooMuch(name)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, o.root.Remove(name))
	}
	o.left -= uint64(n)
	o.written[name] = true
	return nil
}
