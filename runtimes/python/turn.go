package python

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/runtimes"
)

// guestOutcome is how the guest's turn runner tells that a turn ended otherwise than well.
type guestOutcome struct {
	ExitCode  int                  `json:"exit_code"`
	Error     *runtimes.GuestError `json:"error"`
	Interrupt bool                 `json:"interrupt"` // a KeyboardInterrupt
	Memory    bool                 `json:"memory"`    // a MemoryError
	Refused   bool                 `json:"refused"`   // the source was not run
	Suspended bool                 `json:"suspended"` // the turn is not over
}

// Turn runs t.Source in g.
func (d *Driver) Turn(ctx context.Context, g vm.Guest, info runtimes.BootInfo, t *runtimes.Turn) (runtimes.Outcome, error) {
	image, err := d.decode(info)
	if err != nil {
		return runtimes.Outcome{}, err
	}
	r := &run{turn: t, twisters: image.Twisters}
	if r.frame, err = turnFrame(t); err != nil {
		return runtimes.Outcome{}, err
	}
	if t.First && !t.Renew && t.Seed == nil && t.Entropy != nil {
		mem := g.Memory()
		for i := range image.Twisters {
			if !image.Twisters[i].renew(mem, t.Entropy) {
				return runtimes.Outcome{}, errors.New("python: renew random generators")
			}
		}
	}
	ctx = context.WithValue(ctx, runKey{}, r)
	result, err := g.Call(ctx, expCallNoArgs, uint64(image.Turn))
	if err != nil {
		return runtimes.Outcome{}, err
	}
	if uint32(result) != image.None {
		// An exception left the turn runner itself: an interrupt in its last steps, or no memory for them.
		if _, err := g.Call(ctx, expErrClear); err != nil {
			return runtimes.Outcome{}, err
		}
		if r.outcome == nil {
			r.outcome, r.unreported = unreported(r.interrupted)
		}
	}
	return r.result(), nil
}

// unreported stands in for an outcome that the guest could not tell, and what it was if there was no memory.
func unreported(interrupted bool) (*guestOutcome, *runtimes.GuestError) {
	if interrupted {
		return &guestOutcome{ExitCode: 130, Interrupt: true, Error: &runtimes.GuestError{Name: "KeyboardInterrupt"}}, nil
	}
	return &guestOutcome{ExitCode: 1, Error: &runtimes.GuestError{
			Name: "SystemError", Value: "the program broke what its interpreter needs to report how it ended",
		}}, &runtimes.GuestError{
			Name: "MemoryError", Value: "no memory was left to report how the program ended",
		}
}

func (r *run) result() runtimes.Outcome {
	o := r.outcome
	if o == nil {
		return runtimes.Outcome{State: r.state}
	}
	var suspended json.RawMessage
	if o.Suspended {
		suspended = json.RawMessage("{}") // all that the turn has is in memory
	}
	return runtimes.Outcome{
		Suspended:   suspended,
		State:       r.state,
		ExitCode:    o.ExitCode & 0xff,
		Error:       o.Error,
		Interrupted: o.Interrupt && r.interrupted,
		OutOfMemory: o.Memory,
		Refused:     o.Refused,
		Unreported:  r.unreported,
	}
}

// Flags of a turn's frame; see guest/turns.py.
const (
	flagFirst   = 1
	flagSession = 2
	flagRest    = 4
	flagRenew   = 8
	flagResume  = 16
)

const maxName = 4096 // bytes of a turn's file name

// turnFrame lays t out for the guest (little endian): 0 for granted, flags u8, length of the name u16, length of the
// source u32, name, source, and JSON with what is rarely there.
func turnFrame(t *runtimes.Turn) ([]byte, error) {
	if len(t.Name) == 0 || len(t.Name) > maxName {
		return nil, fmt.Errorf("python: turn name of %d bytes, want 1 to %d", len(t.Name), maxName)
	}
	var flags byte
	if t.First {
		flags |= flagFirst
	}
	if t.Session {
		flags |= flagSession
	}
	if t.Renew && t.Seed == nil {
		flags |= flagRenew
	}
	if t.Resume != nil {
		return append([]byte{0, flags | flagResume, byte(len(t.Name)), byte(len(t.Name) >> 8), 0, 0, 0, 0}, t.Name...), nil
	}
	var rest []byte
	paths := t.Paths
	if !t.First {
		paths = nil
	}
	if len(t.Args) > 0 || len(t.Env) > 0 || len(t.Inputs) > 0 || len(paths) > 0 || len(t.Deny) > 0 || (t.Seed != nil && t.First) || t.Tools {
		flags |= flagRest
		extra := struct {
			Args   []string                   `json:"args,omitempty"`
			Env    map[string]string          `json:"env,omitempty"`
			Inputs map[string]json.RawMessage `json:"inputs,omitempty"`
			Seed   *uint64                    `json:"seed,omitempty"`
			Tools  bool                       `json:"tools,omitempty"`
			Paths  []string                   `json:"paths,omitempty"`
			Deny   []string                   `json:"deny,omitempty"`
		}{t.Args, t.Env, t.Inputs, nil, t.Tools, paths, t.Deny}
		if t.First {
			extra.Seed = t.Seed
		}
		var err error
		if rest, err = json.Marshal(extra); err != nil {
			return nil, fmt.Errorf("python: inputs: %w", err)
		}
	}
	b := make([]byte, 0, 8+len(t.Name)+len(t.Source)+len(rest))
	b = append(b, 0, flags)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(t.Name)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(t.Source)))
	b = append(b, t.Name...)
	b = append(b, t.Source...)
	return append(b, rest...), nil
}
