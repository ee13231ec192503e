package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/pprof"
	"os"
	"path/filepath"

	"github.com/helpwright/helpwright/cmd/helpwright/internal/metrics"
	"github.com/helpwright/helpwright/cmd/helpwright/internal/tracing"
	"github.com/helpwright/helpwright/transport/server"
)

type serveCmd struct{}

// Run serves until the session's context ends.
func (serveCmd) Run(s *session) error {
	stop, err := s.trace()
	if err != nil {
		return err
	}
	defer stop()
	m := metrics.New(metrics.Config{Build: build(), Logger: s.log})
	var a *app // set when the listeners need it
	s.serves = true
	a, err = s.open(true, s.listen, s.work, s.secure(func() *server.Server { return a.Server }), s.measure(m))
	if err != nil {
		return err
	}
	defer a.close()
	if err := m.Of(a.Server, a.db); err != nil {
		return errors.Join(err, a.Close())
	}
	welcome, err := a.bootstrap()
	if err != nil {
		return errors.Join(err, a.Close())
	}
	a.announce(welcome)
	err = a.Run(s.ctx)
	if err == nil {
		s.log.Info("stopped")
	}
	return err
}

// trace sends traces if the standard variables of OpenTelemetry name a receiver.
func (s *session) trace() (stop func(), err error) {
	wanted, err := tracing.Wanted(os.Getenv)
	if err != nil {
		return nil, usageError{err}
	}
	if !wanted {
		return func() {}, nil
	}
	t, err := tracing.New(s.ctx, build().Version, func(err error) { s.log.Warn("traces are not sent", "error", err) })
	if err != nil {
		return nil, usageError{fmt.Errorf("traces cannot be sent: %w", err)}
	}
	s.tracer, s.logs.set.trace = t, tracing.TraceID
	return func() {
		if err := t.Close(); err != nil {
			s.log.Warn("the last traces are not sent", "error", err)
		}
	}, nil
}

// listen opens the listener for HTTP.
func (s *session) listen(cfg *server.Config) (err error) {
	cfg.Listener, err = listenAt("HELPWRIGHT_LISTEN", s.settings.Listen)
	return err
}

// measure serves metrics if the settings have an address for them.
func (s *session) measure(m *metrics.Metrics) change {
	return func(cfg *server.Config) error {
		if s.settings.MetricsListen == "" {
			return nil
		}
		l, err := listenAt("HELPWRIGHT_METRICS_LISTEN", s.settings.MetricsListen)
		if err != nil {
			return err
		}
		m.Watch(cfg)
		addDoor(cfg, "metrics", func(ctx context.Context) error { return server.Serve(ctx, l, operations(m, s.logs)) })
		return nil
	}
}

// announce prints the server's address, and for an empty database how to begin.
func (a *app) announce(welcome string) {
	listen := a.settings.Listen
	if a.settings.TLSListen != "" {
		listen += " and " + a.settings.TLSListen
	}
	fmt.Fprintf(a.stdout, "helpwright listens on %s (API at %s)\n", listen, a.APIURL())
	if a.settings.IntakeListen != "" {
		fmt.Fprintf(a.stdout, "mail intake (SMTP) listens on %s for addresses at %s\n", a.settings.IntakeListen, a.settings.IntakeDomain)
	}
	if a.settings.SMTPURL == "" {
		fmt.Fprintf(a.stdout, "answers are spooled into %s until HELPWRIGHT_SMTP_URL names a relay\n", filepath.Join(a.data, "outbox"))
	} else if a.settings.IntakeDomain == "localhost" {
		fmt.Fprintln(a.stdout, "note: answers of mailboxes of type FWD ask for replies to addresses at localhost; set HELPWRIGHT_INTAKE_DOMAIN to a domain whose mail reaches the intake")
	}
	fmt.Fprint(a.stdout, welcome)
}

// operations serves metrics, profiles and the log's level, for the operator only.
func operations(m *metrics.Metrics, l *logs) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/log", l)
	mux.Handle("GET /metrics", m.Handler())
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}
