package wall

import (
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

func raise(c Config) (Report, error) {
	settle(c)
	var r Report
	for _, step := range []func(Config) (Layer, error){
		limitResources, dropCapabilities, restrictFiles, forbidDumps, filterCalls,
	} {
		l, err := step(c)
		if err != nil {
			return r, fmt.Errorf("second wall: %w", err)
		}
		r = append(r, l)
	}
	return r, nil
}

// settle lets the standard library find out what it asks the system for once.
func settle(c Config) {
	_, _ = time.Now().Local().Zone() // reads /etc/localtime
	if len(c.Connect) > 0 {
		// Whether there is IPv6 is tried by binding sockets.
		if conn, err := net.ListenPacket("udp", "127.0.0.1:0"); err == nil {
			_ = conn.Close()
		}
	}
}

// mostFiles is the most files that the process may have open. A sandbox has a cap of its own, far below.
const mostFiles = 65536

// limitResources takes what nothing here uses. Memory and processor time belong to whoever started the process (a
// control group): guests have their own limits, and the process as a whole needs address space without bounds.
func limitResources(Config) (Layer, error) {
	for _, l := range []struct {
		name     string
		resource int
		most     uint64
	}{
		{"core files", unix.RLIMIT_CORE, 0},
		{"locked memory", unix.RLIMIT_MEMLOCK, 0},
		{"message queues", unix.RLIMIT_MSGQUEUE, 0},
		{"priority", unix.RLIMIT_NICE, 0},
		{"real-time priority", unix.RLIMIT_RTPRIO, 0},
		{"open files", unix.RLIMIT_NOFILE, mostFiles},
	} {
		var old unix.Rlimit
		if err := unix.Getrlimit(l.resource, &old); err != nil {
			return Layer{}, fmt.Errorf("limit %s: %w", l.name, err)
		}
		limit := unix.Rlimit{Cur: min(old.Cur, l.most), Max: min(old.Max, l.most)}
		if err := unix.Setrlimit(l.resource, &limit); err != nil {
			return Layer{}, fmt.Errorf("limit %s: %w", l.name, err)
		}
	}
	return Layer{Name: "resource limits", Is: "resource limits"}, nil
}

// forbidDumps closes the process's memory to others of the same user, and makes machine code final.
func forbidDumps(c Config) (Layer, error) {
	l := Layer{Name: "memory", Is: "not dumpable"}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return l, fmt.Errorf("prctl PR_SET_DUMPABLE: %w", err)
	}
	if c.Code {
		return l, nil
	}
	l.Is += ", no new machine code"
	err := unix.Prctl(unix.PR_SET_MDWE, unix.PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0)
	if err != nil && !errors.Is(err, unix.EINVAL) { // before Linux 6.3 seccomp alone says so
		return l, fmt.Errorf("prctl PR_SET_MDWE: %w", err)
	}
	return l, nil
}
