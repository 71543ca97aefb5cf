package engine

import (
	"context"

	"github.com/cloche-dev/cloche/hostfuncs"
)

// displays collects what a turn shows, up to a number of bytes. What does not fit is dropped as a whole and
// counted, and the program goes on.
type displays struct {
	limit  uint64
	events *events

	shown       []hostfuncs.Display
	kept, total uint64
}

// handle answers [hostfuncs.OpDisplay].
func (d *displays) handle(_ context.Context, payload []byte) ([]byte, error) {
	shown, err := hostfuncs.DecodeDisplay(payload)
	if err != nil {
		return nil, hostfuncs.Refuse("ValueError", "%v", err)
	}
	size := uint64(len(payload))
	d.total += size
	if d.kept+size <= d.limit {
		d.kept += size
		d.add(shown)
		return nil, nil
	}
	// A picture or table that is too large is worth less than knowing that it was there.
	text, ok := shown.Data["text/plain"].(string)
	if room := d.limit - d.kept; ok && uint64(len(text)) <= room {
		d.kept += uint64(len(text))
		d.add(hostfuncs.Display{Main: shown.Main, Data: map[string]any{"text/plain": text}})
	}
	return nil, nil
}

func (d *displays) add(shown hostfuncs.Display) {
	d.shown = append(d.shown, shown)
	d.events.emit(Event{Type: EventResult, Display: &shown})
}

func (d *displays) cut() *Cut {
	if d.kept == d.total {
		return nil
	}
	return &Cut{KeptBytes: d.kept, TotalBytes: d.total}
}
