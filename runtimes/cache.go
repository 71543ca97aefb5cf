package runtimes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Cache is the folder that keeps what a setup made: fetched artifacts, machine code, memory images.
//
// Its files are trusted like the program itself, so it is private: mode 0700 and owned by the user, or it is
// not used at all. Each entry is a folder named for what it is and the key of all that it was made from:
//
//	<dir>/artifact-python-1f0e…/    files of the entry, and manifest.json with the SHA-256 of each
//	<dir>/.tmp-<entry>-<random>/    an entry being built; renamed into place when it is complete
//	<dir>/.lock-<entry>             held while the entry is built (one builder at a time, others wait)
//	<dir>/.used-<entry>             held, shared, by every process that uses the entry; its time is the last use
//
// An entry is never changed in place. A Cache may be used from several goroutines, and several processes may
// use the same folder.
type Cache struct {
	dir  string
	euid int

	mu   sync.Mutex
	used map[string]*fileLock // by entry folder name
}

// CacheEnv is the environment variable that names another cache folder.
const CacheEnv = "CLOCHE_CACHE"

// DefaultCacheDir is the folder that OpenCache uses when it is given none: that of CLOCHE_CACHE, else cloche
// in the user's cache folder.
func DefaultCacheDir() (string, error) {
	if dir := os.Getenv(CacheEnv); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder: %w; set %s to name one", err, CacheEnv)
	}
	return filepath.Join(dir, "cloche"), nil
}

// OpenCache opens the cache in dir ("" for [DefaultCacheDir]), and makes the folder when there is none. A
// folder that others than the user own or can enter is refused.
func OpenCache(dir string) (*Cache, error) {
	if dir == "" {
		d, err := DefaultCacheDir()
		if err != nil {
			return nil, err
		}
		dir = d
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open the cache: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, fmt.Errorf("make the cache folder: %w", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make the cache folder: %w", err)
	}
	c := &Cache{dir: dir, euid: os.Geteuid(), used: map[string]*fileLock{}}
	if err := c.check(); err != nil {
		return nil, err
	}
	return c, nil
}

// Dir is the cache folder, as an absolute path.
func (c *Cache) Dir() string { return c.dir }

// Close ends the use of all entries. Until then, no other process removes what this one uses.
func (c *Cache) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, l := range c.used {
		l.unlock()
		delete(c.used, name)
	}
	return nil
}

// Lock takes a file for this process alone until it is closed, or the process ends, however that happens.
func Lock(name string) (io.Closer, error) {
	l, err := tryLock(name)
	if err != nil {
		return nil, err
	}
	if l == nil {
		return nil, errors.New("another process uses it")
	}
	return l.f, nil
}

// CheckPrivate says what is wrong with a file or folder that must be the user's own: another owner, or a mode that lets
// others in. Where the system has neither it finds nothing.
func CheckPrivate(info fs.FileInfo) error {
	if uid, ok := ownerOf(info); ok && uid != os.Geteuid() {
		return fmt.Errorf("it belongs to user %d, not to this program's user %d", uid, os.Geteuid())
	}
	if perm := info.Mode().Perm(); checksModes && perm&0o077 != 0 {
		return fmt.Errorf("its mode %#o lets others in: make it the owner's alone (chmod go= does)", perm)
	}
	return nil
}

// check refuses a cache folder that somebody else could have filled.
func (c *Cache) check() error {
	info, err := os.Stat(c.dir)
	if err != nil {
		return fmt.Errorf("open the cache: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("cache %s is not a folder: remove it, or set %s to name another place", c.dir, CacheEnv)
	}
	if uid, ok := ownerOf(info); ok && uid != c.euid {
		return fmt.Errorf("cache %s belongs to user %d and not to the user running this program (%d): "+
			"it holds machine code and is not trusted; set %s to name another folder", c.dir, uid, c.euid, CacheEnv)
	}
	if perm := info.Mode().Perm(); checksModes && perm&0o077 != 0 {
		return fmt.Errorf("cache %s has mode %#o, so that others can get at it: it holds machine code and is not trusted; "+
			"remove it, or if nobody else can have changed it run chmod 700 %s", c.dir, perm, c.dir)
	}
	return nil
}

// Entry is something that the cache can hold.
type Entry struct {
	// Name says what it is, such as "python": lower case letters, digits and "-".
	Name string
	// Key identifies everything that the entry was made from (see [Key] and [MachineKey]).
	Key string
	// Hot names files that are hashed whenever the entry is opened. The others are compared by size and time
	// of change, and hashed only when these differ: hashing costs about a second per GB (measured: 100 MB in
	// 97 ms), and what changes a file without changing its time is a failing disk, not a program. The images,
	// which become guests' memory, are worth it; [Cache.Has] can hash everything.
	Hot []string
	// Build fills dir, an empty folder. When it fails or is interrupted, nothing of it remains.
	Build func(ctx context.Context, dir string, p Progress) error
}

func (e Entry) folder() string { return e.Name + "-" + e.Key[:min(len(e.Key), 32)] }

// Find returns the folder of an entry that is there and whole, which stays until [Cache.Close].
func (c *Cache) Find(e Entry) (string, error) {
	if err := c.use(e); err != nil {
		return "", err
	}
	return filepath.Join(c.dir, e.folder()), c.Has(e, false)
}

// Ensure returns the folder of an entry, and builds it first when it is not there or is damaged. Where
// another process is building the same entry, it waits for that.
//
// The entry stays until [Cache.Close].
func (c *Cache) Ensure(ctx context.Context, e Entry, p Progress) (string, error) {
	if p == nil {
		p = Silent{}
	}
	if err := c.use(e); err != nil {
		return "", err
	}
	dir := filepath.Join(c.dir, e.folder())
	err := verifyEntry(dir, e, c.euid, false)
	if err == nil {
		return dir, nil
	}

	l, err := c.lockBuild(ctx, e, p)
	if err != nil {
		return "", fmt.Errorf("lock cache entry %s: %w", e.Name, err)
	}
	defer l.unlock()
	err = verifyEntry(dir, e, c.euid, false)
	if err == nil {
		return dir, nil // the process that we waited for has built it
	}
	if !errors.Is(err, fs.ErrNotExist) {
		p.Note(fmt.Sprintf("cache entry %s is damaged (%v): making it again", e.Name, err))
	}
	err = c.build(ctx, e, dir, p)
	p.End()
	if err != nil {
		return "", err
	}
	c.collect(e.Name, time.Now())
	return dir, nil
}

// use notes that this process uses the entry, so that no other collects it.
func (c *Cache) use(e Entry) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := filepath.Join(c.dir, ".used-"+e.folder())
	if c.used[e.folder()] == nil {
		l, err := lockShared(name)
		if err != nil {
			return fmt.Errorf("use cache entry %s: %w", e.Name, err)
		}
		c.used[e.folder()] = l
	}
	now := time.Now()
	if err := os.Chtimes(name, now, now); err != nil {
		return fmt.Errorf("use cache entry %s: %w", e.Name, err)
	}
	return nil
}

// lockBuild takes the lock under which an entry is built.
func (c *Cache) lockBuild(ctx context.Context, e Entry, p Progress) (*fileLock, error) {
	name := filepath.Join(c.dir, ".lock-"+e.folder())
	for told := false; ; {
		l, err := tryLock(name)
		if l != nil || err != nil {
			return l, err
		}
		if !told {
			p.Note(fmt.Sprintf("another process is setting up %s: waiting for it", e.Name))
			told = true
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// build makes the entry beside its place and renames it there. Preconditions: the entry's lock is held.
func (c *Cache) build(ctx context.Context, e Entry, dir string, p Progress) (err error) {
	prefix := ".tmp-" + e.folder() + "-"
	// With the lock held, a folder of this name belongs to a builder that was killed.
	if err := removeMatching(c.dir, prefix); err != nil {
		return fmt.Errorf("clean the cache: %w", err)
	}
	tmp, err := os.MkdirTemp(c.dir, prefix+"*")
	if err != nil {
		return fmt.Errorf("make a cache entry: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(tmp))
		}
	}()
	found, err := unbundle(bundled, e.folder(), tmp)
	if err == nil && !found {
		err = e.Build(ctx, tmp, p)
	}
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if err := writeManifest(tmp, e); err != nil {
		return fmt.Errorf("write cache entry %s: %w", e.Name, err)
	}
	// A damaged entry makes room. Processes that still use its files have them open or mapped.
	old := filepath.Join(c.dir, prefix+"old")
	if err := os.Rename(dir, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replace cache entry %s: %w", e.Name, err)
	}
	if err := os.Rename(tmp, dir); err != nil {
		return fmt.Errorf("put cache entry %s into place: %w", e.Name, err)
	}
	if err := syncDir(c.dir); err != nil {
		return fmt.Errorf("put cache entry %s into place: %w", e.Name, err)
	}
	return os.RemoveAll(old)
}

func removeMatching(dir, prefix string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), prefix) {
			if err := os.RemoveAll(filepath.Join(dir, f.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// Entries of one name that are kept, and how long an entry is kept after its last use. Two versions of the
// program that are used in turn must not make each other's entries again and again.
const (
	keepEntries = 3
	keepFor     = 30 * 24 * time.Hour
)

// collect removes entries called name that nobody uses: all but the few used last, and those not used for
// long. What cannot be removed is left for the next time.
func (c *Cache) collect(name string, now time.Time) {
	entries, err := c.Entries()
	if err != nil {
		return
	}
	entries = slices.DeleteFunc(entries, func(e EntryInfo) bool { return e.Name != name })
	slices.SortFunc(entries, func(a, b EntryInfo) int { return b.LastUse.Compare(a.LastUse) })
	for i, e := range entries {
		if i < keepEntries && now.Sub(e.LastUse) < keepFor {
			continue
		}
		c.remove(e)
	}
}

// remove deletes an entry unless a process uses or builds it.
func (c *Cache) remove(e EntryInfo) {
	build, err := tryLock(filepath.Join(c.dir, ".lock-"+e.Folder))
	if build == nil || err != nil {
		return
	}
	defer build.unlock()
	used, err := tryLock(filepath.Join(c.dir, ".used-"+e.Folder))
	if used == nil || err != nil {
		return
	}
	defer used.unlock()
	// Renamed first: whoever opens the entry now finds all of it or nothing.
	doomed := filepath.Join(c.dir, ".tmp-"+e.Folder+"-old")
	if os.Rename(filepath.Join(c.dir, e.Folder), doomed) != nil {
		return
	}
	os.RemoveAll(doomed)
	// The lock files stay: removing one that another process is about to lock would give two holders.
}

// EntryInfo describes an entry that is in the cache.
type EntryInfo struct {
	Name, Key string
	Folder    string // its name in the cache folder
	Bytes     int64
	Made      time.Time
	LastUse   time.Time
}

// Entries lists the complete entries of the cache, by folder name.
func (c *Cache) Entries() ([]EntryInfo, error) {
	files, err := os.ReadDir(c.dir)
	if err != nil {
		return nil, fmt.Errorf("list the cache: %w", err)
	}
	var entries []EntryInfo
	for _, f := range files {
		if !f.IsDir() || strings.HasPrefix(f.Name(), ".") {
			continue
		}
		m, err := readManifest(filepath.Join(c.dir, f.Name()))
		if err != nil {
			// Damaged, or not ours. The name is all that is known.
			name, key := splitFolder(f.Name())
			entries = append(entries, EntryInfo{Name: name, Key: key, Folder: f.Name()})
			continue
		}
		e := EntryInfo{Name: m.Name, Key: m.Key, Folder: f.Name(), Made: m.Made, LastUse: m.Made}
		for _, file := range m.Files {
			e.Bytes += file.Bytes
		}
		if info, err := os.Stat(filepath.Join(c.dir, ".used-"+f.Name())); err == nil && info.ModTime().After(e.LastUse) {
			e.LastUse = info.ModTime()
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func splitFolder(folder string) (name, key string) {
	i := strings.LastIndexByte(folder, '-')
	if i < 0 {
		return folder, ""
	}
	return folder[:i], folder[i+1:]
}

// Has says whether an entry is in the cache, without building it: nil, an error for which errors.Is finds
// fs.ErrNotExist, or what is wrong with it. The check is that of [Cache.Ensure]; with deep, every file is hashed.
func (c *Cache) Has(e Entry, deep bool) error {
	return verifyEntry(filepath.Join(c.dir, e.folder()), e, c.euid, deep)
}
