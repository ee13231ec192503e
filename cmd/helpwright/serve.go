package main

import (
	"context"
	"encoding/json"
	"errors"
	"expvar"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"path/filepath"

	"github.com/helpwright/helpwright/storage/blobs"
	"github.com/helpwright/helpwright/transport/server"
)

type serveCmd struct{}

// Run serves until the session's context ends.
func (serveCmd) Run(s *session) error {
	var a *app
	metrics := profiles(func() *blobs.Swept { return a.Swept() })
	a, err := s.open(true, s.listen, s.work, s.measure(metrics))
	if err != nil {
		return err
	}
	defer a.close()
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

// listen lets a server serve HTTP.
func (s *session) listen(cfg *server.Config) (err error) {
	if cfg.Listener, err = net.Listen("tcp", s.settings.Listen); err != nil {
		return usageError{fmt.Errorf("HELPWRIGHT_LISTEN: %w: stop what listens there, or choose another address", err)}
	}
	return nil
}

// measure lets a server serve metrics, where the settings name an address for them.
func (s *session) measure(metrics http.Handler) change {
	return func(cfg *server.Config) error {
		if s.settings.MetricsListen == "" {
			return nil
		}
		l, err := net.Listen("tcp", s.settings.MetricsListen)
		if err != nil {
			return usageError{fmt.Errorf("HELPWRIGHT_METRICS_LISTEN: %w", err)}
		}
		cfg.Doors = map[string]func(context.Context) error{
			"metrics": func(ctx context.Context) error { return server.Serve(ctx, l, metrics) },
		}
		return nil
	}
}

// announce says where the server listens, and on an empty database how to begin.
func (a *app) announce(welcome string) {
	fmt.Fprintf(a.stdout, "helpwright listens on %s (API at %s)\n", a.settings.Listen, a.APIURL())
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

// profiles serves pprof and expvar, for the operator's eyes only.
func profiles(swept func() *blobs.Swept) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/debug/vars", func(w http.ResponseWriter, _ *http.Request) { vars(w, swept()) })
	return mux
}

// vars serves the variables of expvar but for the command line: it may have secrets.
func vars(w http.ResponseWriter, swept *blobs.Swept) {
	all := map[string]json.RawMessage{}
	expvar.Do(func(v expvar.KeyValue) {
		if v.Key != "cmdline" {
			all[v.Key] = json.RawMessage(v.Value.String())
		}
	})
	if swept != nil {
		all["blob_sweep"], _ = json.Marshal(swept) // numbers always encode
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(all) // the client may have gone
}
