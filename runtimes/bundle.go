package runtimes

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A bundle is a zip archive of cache entries that a release carries (build tag bundle), so that it downloads nothing and,
// on machines like the one it was made on, compiles nothing. Its folders are called as those of the cache, whose names hold
// the key of all that an entry was made from: what does not fit is not found, and is made as usual.
//
// It is part of the program, and trusted like it.

// WriteBundle writes the entries of these interpreters, which must be set up, and more, in a form that depends on nothing
// but their contents.
func WriteBundle(w io.Writer, c *Cache, specs []Spec, more ...Entry) error {
	entries := more
	for _, s := range specs {
		entries = append(entries, s.codeEntry(), s.imageEntry())
		for _, name := range s.Artifacts {
			a, err := LookupArtifact(name)
			if err != nil {
				return err
			}
			entries = append(entries, a.entry())
		}
	}
	z := zip.NewWriter(w)
	done := map[string]bool{}
	for _, e := range entries {
		if done[e.folder()] {
			continue
		}
		done[e.folder()] = true
		if err := c.Has(e, true); err != nil {
			return fmt.Errorf("bundle %s: %w", e.Name, err)
		}
		if err := bundleFolder(z, c.dir, e.folder()); err != nil {
			return fmt.Errorf("bundle %s: %w", e.Name, err)
		}
	}
	return z.Close()
}

// bundleFolder adds the files of an entry but its manifest, which is made where it is unpacked.
func bundleFolder(z *zip.Writer, dir, folder string) error {
	var names []string
	err := filepath.WalkDir(filepath.Join(dir, folder), func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && d.Name() != manifestName {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		w, err := z.Create(filepath.ToSlash(rel)) // without a time
		if err == nil {
			_, err = io.Copy(w, f)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// inBundle says whether an entry will come from the bundle, or from the error of reading it.
func inBundle(bundle, folder string) bool {
	if bundle == "" {
		return false
	}
	z, err := zip.NewReader(strings.NewReader(bundle), int64(len(bundle)))
	return err != nil || slices.ContainsFunc(z.File, func(f *zip.File) bool { return strings.HasPrefix(f.Name, folder+"/") })
}

// unbundle unpacks an entry into the folder to. It says whether the bundle has it.
func unbundle(bundle, folder, to string) (found bool, err error) {
	if bundle == "" {
		return false, nil
	}
	z, err := zip.NewReader(strings.NewReader(bundle), int64(len(bundle)))
	if err != nil {
		return false, fmt.Errorf("read the bundle: %w", err)
	}
	for _, f := range z.File {
		name, ok := strings.CutPrefix(f.Name, folder+"/")
		if !ok {
			continue
		}
		found = true
		if !fs.ValidPath(name) {
			return false, fmt.Errorf("the bundle has a file %q", f.Name)
		}
		if err := unpack(f, filepath.Join(to, filepath.FromSlash(name))); err != nil {
			return false, fmt.Errorf("unpack %s: %w", path.Base(name), err)
		}
	}
	return found, nil
}

func unpack(f *zip.File, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	r, err := f.Open()
	if err != nil {
		return err
	}
	w, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return errors.Join(err, r.Close())
	}
	_, err = io.Copy(w, r) // checks the CRC
	return errors.Join(err, w.Close(), r.Close())
}
