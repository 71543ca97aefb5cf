//go:build !linux

package web

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

func newProcessMetrics() (prometheus.Collector, error) {
	return collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), nil
}
