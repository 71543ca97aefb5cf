package web

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs"
)

// metrics counts what happens, for Prometheus.
type metrics struct {
	handler http.Handler

	runs      *prometheus.CounterVec
	wall      *prometheus.HistogramVec
	starts    *prometheus.HistogramVec
	waits     prometheus.Histogram
	fuel      *prometheus.CounterVec
	memory    *prometheus.HistogramVec
	disk      prometheus.Histogram
	output    prometheus.Counter
	tools     *prometheus.CounterVec
	requests  *prometheus.CounterVec
	denied    *prometheus.CounterVec
	responses *prometheus.CounterVec
}

func newMetrics(s *Server) *metrics {
	r := prometheus.NewRegistry()
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		r.MustRegister(v)
		return v
	}
	histograms := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
		r.MustRegister(v)
		return v
	}
	gauge := func(name, help string, f func() float64) {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, f))
	}
	m := &metrics{
		runs:      counters("cloche_runs_total", "Programs that ran, by how they ended.", "key", "language", "status"),
		wall:      histograms("cloche_run_seconds", "Wall time of programs.", prometheus.ExponentialBuckets(0.0005, 4, 10), "language"),
		starts:    histograms("cloche_start_seconds", "Time from a request's turn until its program's first instruction.", prometheus.ExponentialBuckets(0.00001, 4, 10), "language"),
		fuel:      counters("cloche_fuel_total", "Instructions that programs executed.", "key", "language"),
		memory:    histograms("cloche_private_bytes", "Memory that a program had of its own.", prometheus.ExponentialBuckets(1<<17, 4, 8), "language"),
		tools:     counters("cloche_tool_calls_total", "Calls of tools.", "outcome"),
		requests:  counters("cloche_http_requests_total", "Requests of programs to the network.", "allowed"),
		denied:    counters("cloche_denied_total", "Requests and calls of tools that were refused, by the key whose programs made them.", "key", "kind"),
		responses: counters("cloche_responses_total", "Answers, by route and status.", "route", "code"),
	}
	m.waits = histograms("cloche_queue_seconds", "Time that programs waited for a place to run.", prometheus.ExponentialBuckets(0.0001, 4, 9)).WithLabelValues().(prometheus.Histogram)
	m.disk = histograms("cloche_disk_bytes", "Bytes in the files of a sandbox at the end of a run.", prometheus.ExponentialBuckets(1<<10, 8, 8)).WithLabelValues().(prometheus.Histogram)
	m.output = counters("cloche_output_bytes_total", "Bytes that programs printed.").WithLabelValues()
	gauge("cloche_running", "Programs that run now.", func() float64 { return float64(s.wholeLoad().Running) })
	gauge("cloche_waiting", "Programs that wait for a place to run.", func() float64 { return float64(s.wholeLoad().Waiting) })
	gauge("cloche_sessions", "Sessions that live.", func() float64 { return float64(s.wholeLoad().Sessions) })
	gauge("cloche_connections", "Connections that are open.", func() float64 { return float64(s.connections.open.Load()) })
	r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "cloche_connections_refused_total", Help: "Connections that were closed since there were too many.",
	}, func() float64 { return float64(s.connections.refused.Load()) }))
	if s.cfg.Workers != nil {
		r.MustRegister(newWorkerMetrics(s.cfg.Workers))
	}
	if s.cfg.Engine != nil {
		r.MustRegister(pools{s.cfg.Engine})
	}
	r.MustRegister(collectors.NewGoCollector())
	if process, err := newProcessMetrics(); err == nil { // not without /proc
		r.MustRegister(process)
	}
	m.handler = promhttp.HandlerFor(r, promhttp.HandlerOpts{})
	return m
}

// pools tells how the engine's warm instances do.
type pools struct{ engine *engine.Engine }

var (
	poolReady  = prometheus.NewDesc("cloche_pool_ready", "Warm instances that wait for a run.", []string{"language"}, nil)
	poolEvents = prometheus.NewDesc("cloche_pool_events_total",
		"What became of warm instances: hit (a run found one ready), reset (made equal to the image again), made, failed.", []string{"language", "event"}, nil)
)

// Describe implements prometheus.Collector.
func (p pools) Describe(out chan<- *prometheus.Desc) { out <- poolReady; out <- poolEvents }

// Collect implements prometheus.Collector.
func (p pools) Collect(out chan<- prometheus.Metric) {
	for language, st := range p.engine.Pools() {
		out <- prometheus.MustNewConstMetric(poolReady, prometheus.GaugeValue, float64(st.Ready), language)
		for event, n := range map[string]uint64{"hit": st.Hits, "reset": st.Resets, "made": st.Made, "failed": st.Failed} {
			out <- prometheus.MustNewConstMetric(poolEvents, prometheus.CounterValue, float64(n), language, event)
		}
	}
}

// ran counts a run that ended.
func (m *metrics) ran(r Ran) {
	m.waits.Observe(r.Waited.Seconds())
	key, language, u := r.Record.Key, r.Record.Language, r.Record.Usage
	m.runs.WithLabelValues(key, language, r.Record.Status).Inc()
	if u == nil { // it failed
		return
	}
	m.wall.WithLabelValues(language).Observe(u.Wall.Seconds())
	m.starts.WithLabelValues(language).Observe(u.Start.Seconds())
	m.fuel.WithLabelValues(key, language).Add(float64(u.Fuel))
	m.memory.WithLabelValues(language).Observe(float64(u.PrivateBytes))
	m.disk.Observe(float64(u.DiskBytes))
	m.output.Add(float64(u.OutputBytes))
	for outcome, n := range r.Tools {
		m.tools.WithLabelValues(outcome).Add(float64(n))
	}
	for allowed, n := range r.Requests {
		m.requests.WithLabelValues(allowed).Add(float64(n))
	}
	for kind, n := range map[string]int{"request": r.Requests["false"], "tool": r.Tools[hostfuncs.OutcomeRefused]} {
		if n > 0 {
			m.denied.WithLabelValues(key, kind).Add(float64(n))
		}
	}
}

func (m *metrics) answered(route string, status int) {
	m.responses.WithLabelValues(route, strconv.Itoa(status)).Inc()
}

// getMetrics answers admin keys.
func (s *Server) getMetrics(x *exchange, _ echo.Context) error {
	if !x.key.Admin {
		return fail(http.StatusForbidden, codeForbidden, "metrics are for admin keys")
	}
	x.writeWithin(s.cfg.WriteTimeout)
	s.metrics.handler.ServeHTTP(x, x.r)
	return nil
}
