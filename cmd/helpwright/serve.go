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
	"time"

	"github.com/helpwright/helpwright/transport"
	"github.com/helpwright/helpwright/transport/site"
)

type serveCmd struct{}

// Run serves until the session's context ends.
func (serveCmd) Run(s *session) error {
	a, err := s.open(true)
	if err != nil {
		return err
	}
	defer a.close()
	// Listening first: when the port is taken nothing has happened yet.
	listener, err := net.Listen("tcp", s.settings.Listen)
	if err != nil {
		return usageError{fmt.Errorf("HELPWRIGHT_LISTEN: %w: stop what listens there, or choose another address", err)}
	}
	all, err := a.components()
	if err != nil {
		_ = listener.Close()
		return err
	}
	welcome, err := a.bootstrap()
	if err != nil {
		_ = listener.Close()
		return err
	}
	all = append(all, component{"http", serveHTTP(listener, a.handler())})
	if s.settings.MetricsListen != "" {
		metrics, err := net.Listen("tcp", s.settings.MetricsListen)
		if err != nil {
			_ = listener.Close()
			return usageError{fmt.Errorf("HELPWRIGHT_METRICS_LISTEN: %w", err)}
		}
		all = append(all, component{"metrics", serveHTTP(metrics, a.profiles())})
	}
	a.announce(welcome)
	err = runAll(s.ctx, all)
	if err == nil {
		s.log.Info("stopped")
	}
	return err
}

// announce says where the server listens, and on an empty database how to begin.
func (a *app) announce(welcome string) {
	fmt.Fprintf(a.stdout, "helpwright listens on %s (API at %s%s)\n", a.settings.Listen, a.settings.baseURL(), apiBase)
	if a.settings.IntakeListen != "" {
		fmt.Fprintf(a.stdout, "mail intake (SMTP) listens on %s for addresses at %s\n", a.settings.IntakeListen, a.settings.IntakeDomain)
	}
	if a.settings.SMTPURL == "" {
		fmt.Fprintln(a.stdout, "answers are spooled into data/outbox until HELPWRIGHT_SMTP_URL names a relay")
	} else if a.settings.IntakeDomain == "localhost" {
		fmt.Fprintln(a.stdout, "note: answers of mailboxes of type FWD ask for replies to addresses at localhost; set HELPWRIGHT_INTAKE_DOMAIN to a domain whose mail reaches the intake")
	}
	fmt.Fprint(a.stdout, welcome)
}

const apiBase = "/api/v1"

// handler is the server's HTTP side.
func (a *app) handler() http.Handler {
	api := transport.API(transport.APIConfig{Service: a.service, KB: a.kb, Config: a.apiConfig(), PreviewTheme: a.sites.PreviewTheme})
	mux := http.NewServeMux()
	mux.Handle(apiBase+"/", api.Handler())
	invitation := api.Limit(http.HandlerFunc(a.invitation)) // it takes guesses of tokens and passwords
	mux.Handle("GET /invitations/{token}", invitation)
	mux.Handle("POST /invitations/{token}", invitation)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := a.ready.check(r.Context()); err != nil {
			a.log.WarnContext(r.Context(), "not ready", "error", err)
			w.Header().Set("Retry-After", "5")
			answer(w, http.StatusServiceUnavailable, "not ready: "+shownToAll(err))
			return
		}
		answer(w, http.StatusOK, "ready")
	})
	mux.Handle("GET /docs/themes", site.Guide())
	sites := api.Bound(a.sites)
	mux.Handle("/", sites)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.sites.Owns(r) { // nothing else of the service is at a host of a site's own
			sites.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// apiConfig is the frame of the API.
func (a *app) apiConfig() transport.Config {
	proxies, _ := a.settings.trustedProxies() // checked with the other settings
	cfg := transport.Config{
		Base: apiBase, BaseURL: a.settings.baseURL(), Logger: a.log, TrustedProxies: proxies, Idempotency: a.db,
	}
	if n := a.settings.RateLimit; n > 0 {
		cfg.Limiter = transport.NewBuckets(transport.BucketsConfig{Limit: n})
	}
	if n := a.settings.PublicRateLimit; n > 0 {
		cfg.PublicLimiter = transport.NewBuckets(transport.BucketsConfig{Policy: "public", Limit: n})
	}
	return cfg
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintln(w, text)
}

// serveHTTP serves until ctx ends and then lets requests finish for 8 s.
func serveHTTP(l net.Listener, h http.Handler) func(context.Context) error {
	return func(ctx context.Context) error {
		server := &http.Server{
			Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 5 * time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
			WriteTimeout: time.Minute, // for each write of the API it begins anew
		}
		done := make(chan error, 1)
		go func() { done <- server.Serve(l) }()
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
		}
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 8*time.Second)
		defer cancel()
		if err := server.Shutdown(grace); err != nil {
			_ = server.Close()
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}
}

// profiles serves pprof and expvar, for the operator's eyes only.
func (a *app) profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/debug/vars", a.vars)
	return mux
}

// vars serves the variables of expvar but for the command line: it may have secrets.
func (a *app) vars(w http.ResponseWriter, _ *http.Request) {
	all := map[string]json.RawMessage{}
	expvar.Do(func(v expvar.KeyValue) {
		if v.Key != "cmdline" {
			all[v.Key] = json.RawMessage(v.Value.String())
		}
	})
	if swept := a.swept.Load(); swept != nil {
		all["blob_sweep"], _ = json.Marshal(swept) // numbers always encode
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(all) // the client may have gone
}
