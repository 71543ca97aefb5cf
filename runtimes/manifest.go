package runtimes

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	manifestName   = "manifest.json"
	manifestFormat = 1
	// maxManifestBytes bounds what is read as a manifest; an entry has a handful of files.
	maxManifestBytes = 1 << 20
)

// manifest says what a cache entry consists of.
type manifest struct {
	Format int            `json:"format"`
	Name   string         `json:"name"`
	Key    string         `json:"key"`
	Made   time.Time      `json:"made"`
	Files  []manifestFile `json:"files"`
}

type manifestFile struct {
	Path    string `json:"path"` // below the entry, with slashes
	Bytes   int64  `json:"bytes"`
	ModTime int64  `json:"mtime_ns"`
	SHA256  string `json:"sha256"`
}

// writeManifest makes the files below dir permanent and writes down what they are.
func writeManifest(dir string, e Entry) error {
	m := manifest{Format: manifestFormat, Name: e.Name, Key: e.Key, Made: time.Now().UTC().Truncate(time.Second)}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return syncDir(name)
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		f, err := describe(name)
		if err != nil {
			return err
		}
		f.Path = filepath.ToSlash(rel)
		m.Files = append(m.Files, f)
		return nil
	})
	if err != nil {
		return err
	}
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	name := filepath.Join(dir, manifestName)
	if err := os.WriteFile(name, append(b, '\n'), 0o600); err != nil {
		return err
	}
	if err := syncFile(name); err != nil {
		return err
	}
	return syncDir(dir)
}

// describe syncs and hashes a file. After a power failure, a file that was not synced may have its size and
// time but not its bytes, and the cheap check would believe it.
func describe(name string) (manifestFile, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return manifestFile{}, err
	}
	if !info.Mode().IsRegular() {
		return manifestFile{}, fmt.Errorf("%s is not a regular file", filepath.Base(name))
	}
	if checksModes && info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(name, info.Mode().Perm()&0o700); err != nil {
			return manifestFile{}, err
		}
	}
	if err := syncFile(name); err != nil {
		return manifestFile{}, err
	}
	sum, err := HashFile(name)
	if err != nil {
		return manifestFile{}, err
	}
	return manifestFile{Bytes: info.Size(), ModTime: info.ModTime().UnixNano(), SHA256: sum}, nil
}

func readManifest(dir string) (*manifest, error) {
	f, err := os.Open(filepath.Join(dir, manifestName))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxManifestBytes))
	if err != nil {
		return nil, err
	}
	var m manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("%s: %w", manifestName, err)
	}
	if m.Format != manifestFormat {
		return nil, fmt.Errorf("%s has format %d", manifestName, m.Format)
	}
	for _, f := range m.Files {
		if !filepath.IsLocal(filepath.FromSlash(f.Path)) {
			return nil, fmt.Errorf("%s names the path %q", manifestName, f.Path)
		}
	}
	return &m, nil
}

// verifyEntry checks that the folder holds the entry and all its files as they were written. Files in e.Hot
// are hashed, the others only when size or time differ, or deep is set.
func verifyEntry(dir string, e Entry, euid int, deep bool) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder", filepath.Base(dir))
	}
	m, err := readManifest(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("it has no %s", manifestName) // not "the entry does not exist"
		}
		return err
	}
	if m.Name != e.Name || m.Key != e.Key {
		return fmt.Errorf("%s speaks of another entry", manifestName)
	}
	for _, f := range m.Files {
		if err := f.verify(dir, euid, deep || slices.Contains(e.Hot, f.Path)); err != nil {
			return err
		}
	}
	for _, hot := range e.Hot {
		if !slices.ContainsFunc(m.Files, func(f manifestFile) bool { return f.Path == hot }) {
			return fmt.Errorf("file %s is missing", hot)
		}
	}
	return nil
}

func (f manifestFile) verify(dir string, euid int, hash bool) error {
	name := filepath.Join(dir, filepath.FromSlash(f.Path))
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("file %s is missing", f.Path)
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("file %s is not a regular file", f.Path)
	case info.Size() != f.Bytes:
		return fmt.Errorf("file %s has %d bytes, had %d", f.Path, info.Size(), f.Bytes)
	}
	if uid, ok := ownerOf(info); ok && uid != euid {
		return fmt.Errorf("file %s belongs to user %d", f.Path, uid)
	}
	if perm := info.Mode().Perm(); checksModes && perm&0o022 != 0 {
		return fmt.Errorf("file %s has mode %#o", f.Path, perm)
	}
	if !hash && info.ModTime().UnixNano() == f.ModTime {
		return nil
	}
	sum, err := HashFile(name)
	if err != nil {
		return err
	}
	if sum != f.SHA256 {
		return fmt.Errorf("file %s has sha256 %s, had %s", f.Path, sum, f.SHA256)
	}
	return nil
}

// HashFile is the SHA-256 of a file, in hexadecimal.
func HashFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func syncFile(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
