// Package metrics measures a server for Prometheus. It is the only package of the module that depends on Prometheus: the
// parts of a server have Observe functions, which are implemented here.
//
// The number of label values is limited by the program or by the number of mailboxes. No label contains an address, a name
// or a path.
package metrics

import (
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage/blobs"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/jobs"
	"github.com/helpwright/helpwright/transport/server"
	"github.com/helpwright/helpwright/transport/site"
)

// Build describes the program's build.
type Build struct{ Version, Revision, GoVersion string }

// Config configures a [Metrics]. The zero value works.
type Config struct {
	Build  Build
	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger     // default: discarded
}

// Metrics are the metrics of one server. Make them with [New] before the server, and pass the server's configuration to
// Watch.
type Metrics struct {
	cfg      Config
	registry *prometheus.Registry

	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
	runs      *prometheus.CounterVec
	runTimes  *prometheus.HistogramVec
	settled   *prometheus.CounterVec
	sends     *prometheus.CounterVec
	eventLag  prometheus.Histogram
}

// waits are the bucket bounds in seconds for delays of people or programs.
var waits = []float64{.005, .025, .1, .25, .5, 1, 2.5, 10, 30}

// New makes metrics.
func New(cfg Config) *Metrics {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	m := &Metrics{cfg: cfg, registry: prometheus.NewRegistry()}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		m.registry.MustRegister(v)
		return v
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
		m.registry.MustRegister(v)
		return v
	}
	m.requests = counter("helpwright_http_requests_total", "Requests that were answered, by pattern of the address, method and class of the status.", "route", "method", "status")
	m.durations = histogram("helpwright_http_request_duration_seconds", "How long requests took; streams of events are left out.", waits, "route", "method")
	m.runs = counter("helpwright_job_attempts_total", "Attempts at jobs that ended, by kind and result.", "kind", "result")
	m.runTimes = histogram("helpwright_job_attempt_duration_seconds", "How long attempts at jobs took.", waits, "kind")
	m.settled = counter("helpwright_inbound_mails_settled_total", "Mails that came in and were dealt with, by what they have become.", "state")
	m.sends = counter("helpwright_sends_total", "Tries to hand the mail of one recipient to the relay, by result.", "result")
	m.eventLag = histogram("helpwright_event_lag_seconds", "How long after they were written events of followed accounts reached streams.", []float64{.01, .05, .1, .25, .5, 1, 2.5, 10, 60}).WithLabelValues().(prometheus.Histogram) //nolint:forcetypeassert // it is one
	for _, state := range []ledger.State{ledger.Filed, ledger.Ignored, ledger.Quarantined} {
		m.settled.WithLabelValues(string(state)) // from zero, as otherwise the first one is not an increase
	}
	for _, state := range []sending.State{sending.Sent, sending.Deferred, sending.Failed} {
		m.sends.WithLabelValues(string(state))
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "helpwright_build_info", Help: "What the program was built from; the value is 1.",
		ConstLabels: prometheus.Labels{"version": cfg.Build.Version, "revision": cfg.Build.Revision, "goversion": cfg.Build.GoVersion},
	})
	build.Set(1)
	m.registry.MustRegister(build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Watch sets the Observe functions in the configuration of a server.
func (m *Metrics) Watch(cfg *server.Config) {
	cfg.Observe = m.request
	cfg.EventLag = func(lag time.Duration) { m.eventLag.Observe(lag.Seconds()) }
	cfg.Jobs.Observe = func(a jobs.Attempt) {
		m.runs.WithLabelValues(a.Kind, a.Result).Inc()
		m.runTimes.WithLabelValues(a.Kind).Observe(a.Took.Seconds())
	}
	cfg.Filing.Observe = func(state ledger.State) { m.settled.WithLabelValues(string(state)).Inc() }
	cfg.Sending.Observe = func(state sending.State) { m.sends.WithLabelValues(string(state)).Inc() }
}

func (m *Metrics) request(r server.Request) {
	route := r.Route
	if route == "" {
		route = "{none}"
	}
	m.requests.WithLabelValues(route, r.Method, strconv.Itoa(r.Status/100)+"xx").Inc()
	if !r.Stream {
		m.durations.WithLabelValues(route, r.Method).Observe(r.Took.Seconds())
	}
}

// Serving is a running server.
type Serving interface {
	SiteCache() (site.CacheStats, bool)
	Swept() *blobs.Swept
}

// Of adds a server, which is queried at each scrape, and its database. It is called once.
func (m *Metrics) Of(s Serving, db Database) error {
	return errors.Join(m.registry.Register(serving{s}), m.registry.Register(newGauges(db, m.cfg)))
}

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: 4, Timeout: scrapeTime, ErrorHandling: promhttp.ContinueOnError, ErrorLog: logged{m.cfg.Logger},
	})
}

// scrapeTime is how long a scrape may take: Prometheus gives up after ten seconds.
const scrapeTime = 9 * time.Second

// logged writes errors of scrapes to a log.
type logged struct{ *slog.Logger }

// Println implements [promhttp.Logger].
func (l logged) Println(v ...any) { l.Warn("metrics cannot be collected", "error", v) }

// Values from the server.
var (
	cacheRequests = describe("helpwright_site_cache_requests_total", "Requests to help centres that were answered with a page that was kept, and that were not.", "result")
	cachePages    = describe("helpwright_site_cache_pages", "Pages of help centres that are kept.")
	cacheBytes    = describe("helpwright_site_cache_bytes", "Bytes of pages of help centres that are kept.")
	sweptFiles    = describe("helpwright_blob_sweep_files", "Files of the last sweep of this process, by what was found.", "result")
	sweptBytes    = describe("helpwright_blob_sweep_removed_bytes", "Bytes that the last sweep of this process removed.")
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

func gauge(d *prometheus.Desc, value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

func count(d *prometheus.Desc, value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.CounterValue, value, labels...)
}

// serving collects values from the server.
type serving struct{ of Serving }

// Describe implements [prometheus.Collector].
func (serving) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{cacheRequests, cachePages, cacheBytes, sweptFiles, sweptBytes} {
		to <- d
	}
}

// Collect implements [prometheus.Collector].
func (s serving) Collect(to chan<- prometheus.Metric) {
	if c, ok := s.of.SiteCache(); ok {
		to <- count(cacheRequests, float64(c.Hits), "hit")
		to <- count(cacheRequests, float64(c.Misses), "miss")
		to <- gauge(cachePages, float64(c.Pages))
		to <- gauge(cacheBytes, float64(c.Bytes))
	}
	if found := s.of.Swept(); found != nil {
		to <- gauge(sweptFiles, float64(found.Looked), "looked at")
		to <- gauge(sweptFiles, float64(found.Removed), "removed")
		to <- gauge(sweptFiles, float64(found.Failed), "failed")
		to <- gauge(sweptBytes, float64(found.Bytes))
	}
}

// shownError returns the text of an error for the log.
func shownError(err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f.Error()
	}
	return err.Error()
}
