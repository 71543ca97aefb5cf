package engine

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/cloche-dev/cloche/runtimes"
)

const (
	// keyFile is in the store folder or else in the cache folder, for the owner alone.
	keyFile  = "snapshot.key"
	keyBytes = 32
)

// keyring holds the key that snapshots are authenticated with, once it was needed.
type keyring struct {
	mu  sync.Mutex
	key []byte
}

// snapshotKey is the deployment's key: the configured one, or that of the key file, which is made when there is none.
func (e *Engine) snapshotKey() ([]byte, error) {
	e.keys.mu.Lock()
	defer e.keys.mu.Unlock()
	if e.keys.key != nil {
		return e.keys.key, nil
	}
	if len(e.cfg.SnapshotKey) > 0 {
		e.keys.key = bytes.Clone(e.cfg.SnapshotKey)
		return e.keys.key, nil
	}
	dir := e.cfg.Store
	if dir == "" {
		cache, err := runtimes.OpenCache(e.cfg.Cache)
		if err != nil {
			return nil, err
		}
		dir = cache.Dir()
		if err := cache.Close(); err != nil {
			return nil, err
		}
	}
	key, err := loadKey(filepath.Join(dir, keyFile))
	if err != nil {
		return nil, fmt.Errorf("key of snapshots: %w", err)
	}
	e.keys.key = key
	return key, nil
}

// PrepareSessions does ahead what the first session and the first snapshot of a process do once: the memory for frozen
// pages is opened, the key of snapshots is read or made. It is for programs that give up the rights to do so.
func (e *Engine) PrepareSessions(ctx context.Context) error {
	if _, err := e.snapshotKey(); err != nil {
		return err
	}
	s, err := e.Open(ctx, Options{Language: JavaScript})
	if err != nil {
		return err
	}
	return s.Close()
}

// loadKey reads a key file or makes it.
func loadKey(name string) ([]byte, error) {
	key, err := readKey(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	key = make([]byte, keyBytes)
	_, _ = rand.Read(key) // cannot fail
	temp, err := os.CreateTemp(filepath.Dir(name), keyFile+"-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(temp.Name())
	_, err = temp.WriteString(hex.EncodeToString(key) + "\n")
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return nil, err
	}
	// A link fails where a rename would replace: of two processes that make the key at once, one wins.
	if err := os.Link(temp.Name(), name); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return readKey(name)
}

// readKey refuses a key that others can read or write.
func readKey(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := runtimes.CheckPrivate(info); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	text, err := io.ReadAll(io.LimitReader(f, 1<<10))
	if err != nil {
		return nil, err
	}
	key, err := hex.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil || len(key) != keyBytes {
		return nil, fmt.Errorf("%s does not hold a key of %d bytes in hexadecimal digits", name, keyBytes)
	}
	return key, nil
}
