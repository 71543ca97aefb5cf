package runtimes

import (
	"archive/zip"
	"errors"
	"strings"
	"time"
)

// SetUser makes the cache believe that the program runs as another user.
func (c *Cache) SetUser(uid int) error {
	c.euid = uid
	return c.check()
}

// Collect runs the collection of old entries as if it were another time.
func (c *Cache) Collect(name string, now time.Time) { c.collect(name, now) }

// FolderOf is the name of an entry's folder.
func FolderOf(e Entry) string { return e.folder() }

// Bundle is a bundle of one entry of a cache.
func Bundle(c *Cache, e Entry) (string, error) {
	var b strings.Builder
	z := zip.NewWriter(&b)
	err := errors.Join(bundleFolder(z, c.dir, e.folder()), z.Close())
	return b.String(), err
}

// SetBundle makes the program carry a bundle, and returns what it carried before.
func SetBundle(bundle string) (before string) {
	before, bundled = bundled, bundle
	return before
}

// Folders are those in the cache of all that an interpreter is made of and made into.
func (s Spec) Folders() (folders []string) {
	for _, name := range s.Artifacts {
		a, err := LookupArtifact(name)
		if err != nil {
			panic(err)
		}
		folders = append(folders, a.entry().folder())
	}
	return append(folders, s.codeEntry().folder(), s.imageEntry().folder())
}
