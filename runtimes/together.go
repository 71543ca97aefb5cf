package runtimes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// smallArtifact is the size in bytes up to which the download takes less time than the start of its client.
const smallArtifact = 4 << 20

// Artifacts is [Cache.Artifact] for several: the small ones that are missing are downloaded by one run of each ecosystem's
// client. It returns the folders by name.
func (c *Cache) Artifacts(ctx context.Context, names []string, p Progress) (dirs map[string]string, err error) {
	if p == nil {
		p = Silent{}
	}
	var all []Artifact
	missing := map[string][]Artifact{} // by ecosystem
	for _, name := range names {
		a, err := LookupArtifact(name)
		if err != nil {
			return nil, err
		}
		all = append(all, a)
		folder := a.entry().folder()
		_, err = os.Lstat(filepath.Join(c.dir, folder)) // one that is damaged is artifact's to see
		if a.Bytes <= smallArtifact && errors.Is(err, fs.ErrNotExist) && !inBundle(bundled, folder) {
			missing[a.Ecosystem] = append(missing[a.Ecosystem], a)
		}
	}
	for _, ecosystem := range slices.Sorted(maps.Keys(missing)) {
		if err := c.together(ctx, missing[ecosystem], p); err != nil {
			return nil, err
		}
	}
	dirs = map[string]string{}
	for _, a := range all {
		if dirs[a.Name], err = c.artifact(ctx, a, p); err != nil {
			return nil, err
		}
	}
	return dirs, nil
}

// together fetches artifacts of one ecosystem by one run of its client.
func (c *Cache) together(ctx context.Context, list []Artifact, p Progress) (err error) {
	if len(list) < 2 {
		return nil // one is fetched as it always is
	}
	tmp, err := os.MkdirTemp(c.dir, ".tmp-together-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	p.Stage(fmt.Sprintf("download %d packages from %s", len(list), clients[list[0].Ecosystem].registry), 0)
	out, err := downloadInto(ctx, tmp, p, list...)
	p.End()
	if err != nil {
		return fmt.Errorf("fetch %d packages: %w", len(list), err)
	}
	for _, a := range list {
		e := a.entry()
		e.Build = func(_ context.Context, dir string, p Progress) error {
			if err := extract(a, filepath.Join(out, a.File), dir, p); err != nil {
				return fmt.Errorf("unpack %s: %w", a.File, err)
			}
			return nil
		}
		if _, err := c.Ensure(ctx, e, p); err != nil {
			return err
		}
	}
	return nil
}
