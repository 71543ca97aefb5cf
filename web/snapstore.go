package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/engine/durable"
)

// With Config.SnapshotDir, a snapshot is two files there: ID.cloche, the engine's, and ID.json, what the server
// knows of it. The second is written last and removed first, so that it names whole ones only.
const (
	snapshotSuffix = ".cloche"
	aboutSuffix    = ".json"
)

var snapshotID = regexp.MustCompile(`^snap_[a-z0-9]{26}$`)

// storedSnapshot is what ID.json holds.
type storedSnapshot struct {
	Key  string       `json:"key"`
	Info SnapshotInfo `json:"info"`
}

// engine is the snapshot for use: one of an earlier process is read when it is first asked for.
func (sn *snapshot) engine(e *engine.Engine) (*engine.Snapshot, error) {
	sn.mu.Lock()
	defer sn.mu.Unlock()
	if sn.eng != nil {
		return sn.eng, nil
	}
	f, err := os.Open(sn.file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	eng, err := e.ReadSnapshot(f)
	if err != nil {
		return nil, err
	}
	sn.eng = eng
	return eng, nil
}

// write keeps a snapshot for later processes, if there is a folder for that.
func (r *snapshots) write(sn *snapshot) error {
	if r.dir == "" {
		return nil
	}
	sn.file = filepath.Join(r.dir, sn.info.ID+snapshotSuffix)
	if err := sn.eng.WriteFile(sn.file); err != nil {
		return err
	}
	b, err := json.Marshal(storedSnapshot{Key: sn.key.Name, Info: sn.info})
	if err == nil {
		err = durable.Write(r.about(sn.info.ID), func(w io.Writer) error {
			_, err := w.Write(b)
			return err
		})
	}
	if err != nil {
		return errors.Join(err, r.forget(sn))
	}
	return nil
}

func (r *snapshots) about(id string) string { return filepath.Join(r.dir, id+aboutSuffix) }

// forget removes a snapshot's files.
func (r *snapshots) forget(sn *snapshot) error {
	if r.dir == "" {
		return nil
	}
	var errs []error
	for _, name := range []string{r.about(sn.info.ID), filepath.Join(r.dir, sn.info.ID+snapshotSuffix)} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// open makes the folder, finds the snapshots of earlier processes, and removes what they left half written or half removed. Those
// whose key is gone stay there.
func (r *snapshots) open(dir string, keys keyring, log *slog.Logger) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("folder of snapshots: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("folder of snapshots: %w", err)
	}
	r.dir = dir
	if err := durable.Clean(dir); err != nil {
		return fmt.Errorf("folder of snapshots: %w", err)
	}
	named := map[string]bool{}
	for _, e := range entries {
		named[e.Name()] = true
	}
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), snapshotSuffix); ok && snapshotID.MatchString(id) && !named[id+aboutSuffix] {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return fmt.Errorf("folder of snapshots: %w", err)
			}
		}
		id, ok := strings.CutSuffix(e.Name(), aboutSuffix)
		if !ok || !snapshotID.MatchString(id) {
			continue
		}
		var about storedSnapshot
		b, err := os.ReadFile(r.about(id))
		if err == nil {
			err = json.Unmarshal(b, &about)
		}
		k := keys.named(about.Key)
		if err != nil || k == nil || about.Info.ID != id {
			log.Warn("a stored snapshot is not offered", "class", "operation", "snapshot", id, "error", err)
			continue
		}
		r.all[id] = &snapshot{info: about.Info, key: k, file: filepath.Join(dir, id+snapshotSuffix)}
		r.held[k]++
		r.bytes[k] += about.Info.weight()
	}
	return nil
}
