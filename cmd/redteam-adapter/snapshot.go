package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cloche-dev/cloche/engine"
)

// snapshot writes a session's state to a file below the base.
func (r *request) snapshot(ctx context.Context, s *engine.Session, name string) error {
	if s == nil {
		return errors.New("snapshot of a session that was not opened")
	}
	sn, err := s.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer sn.Close()
	name = filepath.Join(r.Base, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return sn.WriteFile(name)
}

// restore makes a session of a snapshot file, which the operation may spoil first.
func (r *request) restore(ctx context.Context, eng *engine.Engine, s step) (*engine.Session, error) {
	file, err := os.ReadFile(filepath.Join(r.Base, s.File))
	if err != nil {
		return nil, err
	}
	o := r.options(s)
	switch s.Op {
	case "restore", "restore-other-language": // the step's language says it
	case "restore-flipped":
		file[len(file)/2] ^= 1
	case "restore-cut":
		file = file[:len(file)-1]
	case "restore-grown":
		file = append(file, 0)
	case "restore-other-version":
		version := file[8:12] // after the magic
		binary.LittleEndian.PutUint32(version, binary.LittleEndian.Uint32(version)+1)
	default:
		return nil, fmt.Errorf("operation %q is none of the features", s.Op)
	}
	sn, err := eng.ReadSnapshot(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	defer sn.Close()
	if s.Op == "restore-other-language" && o.Language == sn.Options().Language {
		o.Language = map[string]string{engine.Python: engine.JavaScript, engine.JavaScript: engine.Python}[o.Language]
	}
	return eng.RestoreWith(ctx, sn, o)
}
