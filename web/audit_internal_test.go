package web

import (
	"errors"
	"strings"
	"testing"
)

// disk is a file on a disk that has room for some bytes.
type disk struct {
	strings.Builder
	room int
}

func (d *disk) Write(p []byte) (int, error) {
	n := min(d.room, len(p))
	d.room -= n
	d.Builder.Write(p[:n])
	if n < len(p) {
		return n, errors.New("no space left")
	}
	return n, nil
}

func (*disk) Close() error { return nil }

// TestAuditAfterAFullDisk: what runs is written again when there is room again, each record in a line of its own.
func TestAuditAfterAFullDisk(t *testing.T) {
	d := &disk{room: 1 << 20}
	a := &audit{file: d}
	told := 0
	add := func(id string) {
		if a.add(AuditRecord{ID: id}) != nil {
			told++
		}
	}
	add("one")
	for range 2 {
		d.room = 10
		add("lost")
		add("lost")
		d.room = 1 << 20
		add("another")
	}
	var whole []string
	for line := range strings.Lines(d.String()) {
		if strings.HasSuffix(line, "}\n") {
			whole = append(whole, line)
		}
	}
	if len(whole) != 3 || told != 2 {
		t.Errorf("it was told %d times, and the file is\n%s", told, d)
	}
}
