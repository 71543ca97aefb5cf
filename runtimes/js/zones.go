package js

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/cloche-dev/cloche/runtimes"
)

// zones are the time zones of a pinned copy of the IANA database. The host's own are not looked at, so that a program
// finds the same ones on every machine, and learns nothing of this one.
type zones struct {
	files map[string]*zip.File // by name in lower case

	mu    sync.Mutex
	known map[string]*time.Location // those that were asked for; nil: it is no zone
}

// open reads what the driver needs of its artifacts.
func (d *Driver) open(dirs map[string]string) error {
	a, err := runtimes.LookupArtifact("tzdata")
	if err != nil {
		return err
	}
	b, err := os.ReadFile(filepath.Join(dirs[a.Name], a.File))
	if err != nil {
		return err
	}
	z, err := newZones(b)
	if err != nil {
		return fmt.Errorf("%s: %w", a.File, err)
	}
	d.zones.Store(z)
	return nil
}

// newZones reads a wheel of the package tzdata.
func newZones(wheel []byte) (*zones, error) {
	archive, err := zip.NewReader(bytes.NewReader(wheel), int64(len(wheel)))
	if err != nil {
		return nil, err
	}
	z := &zones{files: map[string]*zip.File{}, known: map[string]*time.Location{}}
	for _, f := range archive.File {
		if name, ok := strings.CutPrefix(f.Name, "tzdata/zoneinfo/"); ok {
			z.files[strings.ToLower(name)] = f
		}
	}
	return z, nil
}

// location is the zone of a name, whatever its case, or nil.
func (z *zones) location(name string) *time.Location {
	if z == nil {
		return nil
	}
	f := z.files[strings.ToLower(name)]
	if f == nil {
		return nil
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	l, ok := z.known[f.Name]
	if !ok {
		l = load(f)
		z.known[f.Name] = l
	}
	return l
}

// load reads a zone; nil when f is another file of the package.
func load(f *zip.File) *time.Location {
	r, err := f.Open()
	if err != nil {
		return nil
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		return nil
	}
	l, err := time.LoadLocationFromTZData(strings.TrimPrefix(f.Name, "tzdata/zoneinfo/"), b)
	if err != nil {
		return nil
	}
	return l
}

// location is the program's time zone: the sandbox's, or that of the variable TZ, or UTC.
func (s *turn) location() *time.Location {
	if s.here == nil {
		switch l := s.zones.location(s.Env["TZ"]); {
		case s.env.Location != nil:
			s.here = s.env.Location
		case l != nil:
			s.here = l
		default:
			s.here = time.UTC
		}
	}
	return s.here
}
