package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cloche-dev/cloche/engine/memimage"
	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/wasi/vfs"
)

// A template is an interpreter in which a program has run already: what it imported, read and defined is there in every
// sandbox that starts from it. It is kept as a snapshot file in the cache folder. A process that uses it makes an
// image of the interpreter's and the snapshot's pages, in memory, so that sandboxes start from it as from the
// interpreter itself.
const (
	templateDir    = "templates"
	templateSuffix = ".snapshot"
)

var templateName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// ErrNoTemplate is wrapped, beside [ErrInvalid], when a template was not built.
var ErrNoTemplate = errors.New("there is no such template")

// Template describes one that was built.
type Template struct {
	Name     string    `json:"name"`
	Language string    `json:"language"`
	Packages []string  `json:"packages,omitempty"`
	Made     time.Time `json:"made"`
	// MemoryBytes is what it holds beyond the interpreter's own image.
	MemoryBytes uint64 `json:"memory_bytes"`
	// Problem is why it cannot be used, such as another build of the interpreter: build it again. Empty: it can.
	Problem string `json:"problem,omitempty"`
}

// templates are those that an engine has open.
type templates struct {
	// mu is held while one is loaded, so that it happens once.
	mu   sync.Mutex
	open map[string]*loaded

	// folder is where they are, found and made once: behind a second wall a process cannot make one any more.
	folderMu sync.Mutex
	folder   string
}

func checkTemplateName(name string) error {
	if !templateName.MatchString(name) {
		return invalid("template name %q: use up to 63 small letters, digits, - and _, such as data", name)
	}
	return nil
}

// templateFolder is where templates are, made if it is missing.
func (e *Engine) templateFolder() (string, error) {
	t := &e.templates
	t.folderMu.Lock()
	defer t.folderMu.Unlock()
	if t.folder != "" {
		return t.folder, nil
	}
	cache, err := runtimes.OpenCache(e.cfg.Cache)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache.Dir(), templateDir)
	if err := errors.Join(cache.Close(), os.MkdirAll(dir, 0o700)); err != nil {
		return "", err
	}
	t.folder = dir
	return dir, nil
}

// PrepareBuild does ahead what [Engine.BuildTemplate] does before and after it runs the program: the key of snapshots is read or made,
// and so is the folder of templates, which it returns. It is for programs that give up the rights to do so.
func (e *Engine) PrepareBuild() (folder string, err error) {
	if _, err := e.snapshotKey(); err != nil {
		return "", err
	}
	return e.templateFolder()
}

// BuildTemplate runs a program in a sandbox of o and keeps what it leaves as a template, in the place of an earlier one of
// that name. An engine that has used the earlier one goes on with that until it is closed: states of sessions may lie over it. The options that are kept with it are Language and Packages; Network and Tools are for the building alone, and
// there can be no Mounts or Shared. A program that does not end well makes no template: its Result says why.
func (e *Engine) BuildTemplate(ctx context.Context, name string, o Options, t Turn) (*Result, error) {
	if err := checkTemplateName(name); err != nil {
		return nil, err
	}
	if len(o.Mounts)+len(o.Shared) > 0 {
		return nil, invalid("a template cannot have mounts or shared folders: copy files in")
	}
	o.HistoryBytes = -1
	s, err := e.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	res, err := s.Run(ctx, t)
	if err != nil || res.Status != StatusOK {
		return res, err
	}
	if settle := settleTurn[s.Info().Language]; settle != "" {
		last, err := s.Run(ctx, Turn{Code: settle})
		if err = errors.Join(err, errOf(last)); err != nil {
			return res, fmt.Errorf("settle the template: %w", err)
		}
	}
	sn, err := s.Snapshot(ctx)
	if err != nil {
		return res, err
	}
	defer sn.Close()
	sn.opts = Options{Language: o.Language, Packages: o.Packages, Template: o.Template}
	dir, err := e.templateFolder()
	if err != nil {
		return res, err
	}
	if err := sn.WriteFile(filepath.Join(dir, name+templateSuffix)); err != nil {
		return res, fmt.Errorf("template %s: %w", name, err)
	}
	return res, nil
}

func errOf(r *Result) error {
	if r == nil {
		return nil
	}
	return r.Err()
}

// settleTurn is what an interpreter does last in a template.
var settleTurn = map[string]string{Python: "__import__('sys').modules['_cloche.state'].settle()"}

// Templates lists what was built, by name.
func (e *Engine) Templates() ([]Template, error) {
	dir, err := e.templateFolder()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	out := []Template{}
	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name(), templateSuffix)
		if !ok || !templateName.MatchString(name) {
			continue
		}
		t := Template{Name: name}
		if f, err := e.readTemplate(name); err != nil {
			t.Problem = err.Error()
		} else {
			o := f.Options.options()
			t.Language, t.Packages, t.Made, t.MemoryBytes = o.language(), o.Packages, f.Made, f.PageBytes
		}
		out = append(out, t)
	}
	return out, nil
}

// RemoveTemplate removes a template. Sandboxes that started from it go on.
func (e *Engine) RemoveTemplate(name string) error {
	if err := checkTemplateName(name); err != nil {
		return err
	}
	dir, err := e.templateFolder()
	if err != nil {
		return err
	}
	err = os.Remove(filepath.Join(dir, name+templateSuffix))
	if errors.Is(err, fs.ErrNotExist) {
		return noTemplate(name)
	}
	return err
}

func noTemplate(name string) error {
	return fmt.Errorf("%w: template %q: %w; cloche template list tells which there are", ErrInvalid, name, ErrNoTemplate)
}

func (e *Engine) readTemplate(name string) (*snapFile, error) {
	dir, err := e.templateFolder()
	if err != nil {
		return nil, err
	}
	file, err := os.Open(filepath.Join(dir, name+templateSuffix))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noTemplate(name)
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	key, err := e.snapshotKey()
	if err != nil {
		return nil, err
	}
	f, err := readSnapshot(file, key)
	if err != nil {
		return nil, fmt.Errorf("template %s: %w", name, err)
	}
	return f, nil
}

// interpreter is what a sandbox of o starts from, and o with what its template brings.
func (e *Engine) interpreter(ctx context.Context, o Options) (*loaded, Options, error) {
	l, err := e.language(o.Language)
	if err != nil {
		return nil, o, err
	}
	base, err := l.load(ctx)
	if err != nil || o.Template == "" {
		return base, o, err
	}
	if err := checkTemplateName(o.Template); err != nil {
		return nil, o, err
	}
	e.templates.mu.Lock()
	defer e.templates.mu.Unlock()
	t := e.templates.open[o.Template]
	if t == nil {
		if t, err = e.loadTemplate(l, base, o.Template); err != nil {
			return nil, o, err
		}
		if e.templates.open == nil {
			e.templates.open = map[string]*loaded{}
		}
		e.templates.open[o.Template] = t
	}
	if t.Driver != base.Driver {
		return nil, o, invalid("template %s is of %s, not of %s", o.Template, t.Driver.Language(), o.language())
	}
	for _, p := range t.packages {
		if !slices.Contains(o.Packages, p) {
			o.Packages = append(slices.Clone(o.Packages), p)
		}
	}
	return t, o, nil
}

// PrepareTemplate loads a template and opens its packages, along with those that jobs add to them, so that the first job
// that starts from it does not wait, and opens no file.
func (e *Engine) PrepareTemplate(ctx context.Context, language, name string, packages ...string) error {
	_, o, err := e.interpreter(ctx, Options{Language: language, Template: name, Packages: packages})
	if err != nil {
		return err
	}
	_, err = e.packages.mount(ctx, o)
	return err
}

// loadTemplate makes an image of the interpreter's and the template's pages.
func (e *Engine) loadTemplate(l *language, base *loaded, name string) (_ *loaded, err error) {
	f, err := e.readTemplate(name)
	if err != nil {
		return nil, err
	}
	o := f.Options.options()
	if rt, err := knownRuntime(o.Language); err != nil || rt != base.Driver.Language() {
		return nil, invalid("template %s is of %s, not of %s", name, o.language(), base.Driver.Language())
	}
	st, err := f.open(base)
	if err != nil {
		return nil, fmt.Errorf("template %s: build it again: %w", name, err)
	}
	defer st.release()
	memory := make([]byte, st.vm.Memory.Size())
	copy(memory, base.State.Image.Bytes())
	err = st.vm.Memory.Each(func(offset uint64, data []byte) error { copy(memory[offset:], data); return nil })
	if err != nil {
		return nil, err
	}
	baked := *base.Baked
	baked.Descriptors = st.descriptors
	baked.ID = runtimes.Key(base.ID, name, f.Made.String())
	if baked.State, err = base.Module.State(st.vm.Globals); err != nil {
		return nil, err
	}
	files, err := base.Template.Import(bytes.NewReader(st.exported), vfs.Options{})
	if err != nil {
		return nil, fmt.Errorf("template %s: %w", name, err)
	}
	if baked.State.Image, err = memimage.FromBytes(memory); err != nil {
		return nil, err
	}
	t := newLoaded(&baked, l.cfg)
	t.packages, t.template, t.base = o.Packages, true, base.ID
	if files.Usage() != (vfs.Usage{}) {
		t.files = files
	}
	return t, nil
}

// close frees the templates. Their instances must have been given back.
func (t *templates) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var errs []error
	for _, l := range t.open {
		l.pool.Close()
		errs = append(errs, l.State.Image.Close())
	}
	t.open = nil
	return errors.Join(errs...)
}
