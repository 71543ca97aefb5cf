package web

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"
)

// processMetrics tell of this process what Prometheus's own collector does. That one opens files of /proc each time, which the
// second wall forbids: here they are opened once, before it stands.
type processMetrics struct {
	stat, fds *os.File
	limit     uint64 // of descriptors, 0 when it is not known

	mu  sync.Mutex // held while stat is read
	buf [1024]byte

	cpu, started, virtual, resident, open, most *prometheus.Desc
}

var processStarted = time.Now()

// newProcessMetrics opens the files for the first server of the process, and has them for the others.
var newProcessMetrics = sync.OnceValues(openProcessMetrics)

func openProcessMetrics() (prometheus.Collector, error) {
	stat, err := os.Open("/proc/self/stat")
	if err != nil {
		return nil, err
	}
	fds, err := os.Open("/proc/self/fd")
	if err != nil {
		return nil, errors.Join(err, stat.Close())
	}
	var lim unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &lim) != nil {
		lim.Cur = 0
	}
	desc := func(name, help string) *prometheus.Desc { return prometheus.NewDesc("process_"+name, help, nil, nil) }
	return &processMetrics{
		stat: stat, fds: fds, limit: lim.Cur,
		cpu:      desc("cpu_seconds_total", "Total user and system CPU time spent in seconds."),
		started:  desc("start_time_seconds", "Start time of the process since unix epoch in seconds."),
		virtual:  desc("virtual_memory_bytes", "Virtual memory size in bytes."),
		resident: desc("resident_memory_bytes", "Resident memory size in bytes."),
		open:     desc("open_fds", "Number of open file descriptors."),
		most:     desc("max_fds", "Maximum number of open file descriptors."),
	}, nil
}

// Describe implements [prometheus.Collector].
func (p *processMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{p.cpu, p.started, p.virtual, p.resident, p.open, p.most} {
		ch <- d
	}
}

// Collect implements [prometheus.Collector]. What cannot be found out is left out.
func (p *processMetrics) Collect(ch chan<- prometheus.Metric) {
	tell := func(d *prometheus.Desc, kind prometheus.ValueType, v float64) {
		ch <- prometheus.MustNewConstMetric(d, kind, v)
	}
	tell(p.started, prometheus.GaugeValue, float64(processStarted.UnixMilli())/1000)
	if s, ok := p.read(); ok {
		tell(p.cpu, prometheus.CounterValue, s.cpu.Seconds())
		tell(p.virtual, prometheus.GaugeValue, float64(s.virtual))
		tell(p.resident, prometheus.GaugeValue, float64(s.resident))
	}
	var st unix.Stat_t
	if unix.Fstat(int(p.fds.Fd()), &st) == nil && st.Size > 0 { // since Linux 6.2 the size is the number
		tell(p.open, prometheus.GaugeValue, float64(st.Size))
	}
	if p.limit > 0 {
		tell(p.most, prometheus.GaugeValue, float64(p.limit))
	}
}

// processStat is a part of /proc/self/stat.
type processStat struct {
	cpu               time.Duration
	virtual, resident uint64 // in bytes
}

func (p *processMetrics) read() (processStat, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, _ := p.stat.ReadAt(p.buf[:], 0) // at the end of the file, which is an error
	return parseStat(p.buf[:n])
}

// parseStat reads the fields 14, 15, 23 and 24 (proc_pid_stat(5)); times are in hundredths of a second on all of Linux's
// architectures that Go has. The second field is the program's name in parentheses, which may hold anything.
func parseStat(text []byte) (s processStat, ok bool) {
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 22 {
		return s, false
	}
	number := func(field int) uint64 {
		n, err := strconv.ParseUint(string(fields[field-3]), 10, 64)
		ok = ok && err == nil
		return n
	}
	ok = true
	s.cpu = time.Duration(number(14)+number(15)) * 10 * time.Millisecond
	s.virtual, s.resident = number(23), number(24)*uint64(os.Getpagesize())
	return s, ok
}
