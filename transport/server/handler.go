package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport"
	"github.com/helpwright/helpwright/transport/api"
	"github.com/helpwright/helpwright/transport/site"
)

// invitations is the path of the pages where invitations are accepted.
const invitations = "/invitations/"

// Handler is the HTTP side: the API below its base, with the endpoints for assistants, the help centres, the invitation
// pages, /healthz and /readyz, and Config.Handlers.
//
// A program that has a mux of its own mounts it at each of [Server.Patterns].
func (s *Server) Handler() http.Handler { return s.handler }

// Patterns returns the patterns of [http.ServeMux] that Handler serves, in alphabetical order. If there are help centres, "/"
// is one of them: sites have hosts of their own, and the first path segment of the base URL's host names a site.
func (s *Server) Patterns() []string { return slices.Sorted(slices.Values(s.patterns)) }

// routes is a mux that remembers its patterns.
type routes struct {
	*http.ServeMux
	patterns []string
}

// Handle is that of [http.ServeMux].
func (m *routes) Handle(pattern string, h http.Handler) {
	m.ServeMux.Handle(pattern, h)
	m.patterns = append(m.patterns, pattern)
}

// HandleFunc is that of [http.ServeMux].
func (m *routes) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	m.Handle(pattern, http.HandlerFunc(h))
}

// makeHandler makes the handler of all pages.
func (s *Server) makeHandler() error {
	table, err := api.New(s.apiConfig())
	if err != nil {
		return err
	}
	mux := &routes{ServeMux: http.NewServeMux()}
	defer func() { s.patterns = mux.patterns }()
	mux.Handle(table.Base()+"/", table.Handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", s.readyz)
	for pattern, h := range s.cfg.Handlers {
		if err := mount(mux, "Handlers", pattern, h); err != nil {
			return err
		}
	}
	if err := s.mountDesk(mux, table.Bound, table.Limit); err != nil {
		return err
	}
	if err := s.mountAssistants(mux, table); err != nil {
		return err
	}
	s.handler = transport.Traced(s.observed(mux))
	if s.sites == nil {
		return nil
	}
	mux.Handle("GET /docs/themes", site.Guide())
	sites := table.Bound(s.sites)
	mux.Handle("/", sites)
	s.handler = transport.Traced(s.observed(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.sites.Owns(r) { // a site's own host serves nothing else
			sites.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})))
	return nil
}

// mount adds a handler at a pattern that the program chose in a field of its Config.
func mount(mux *routes, field, pattern string, h http.Handler) (err error) {
	defer func() {
		if p := recover(); p != nil { // the mux panics if a pattern is invalid or taken
			err = fault.Field(field, fmt.Sprintf("%q: %v", pattern, p))
		}
	}()
	mux.Handle(pattern, h)
	return nil
}

func (s *Server) apiConfig() api.Config {
	cfg := s.cfg.API
	cfg.Service, cfg.KB, cfg.Errands = s.service, s.kb, s.errands
	cfg.BaseURLIsDefault = cfg.BaseURLIsDefault || cfg.BaseURL == "" && s.cfg.BaseURLIsDefault
	fill(&cfg.BaseURL, s.cfg.BaseURL)
	fill(&cfg.TrustedProxies, s.cfg.TrustedProxies)
	if s.sites != nil {
		fill(&cfg.PreviewTheme, s.sites.PreviewTheme)
	}
	if who := s.cfg.Authenticate; who != nil {
		fill(&cfg.Authenticate, func(_ context.Context, r *http.Request) (helpdesk.Caller, error) {
			id, err := who(r)
			if err != nil || id == 0 {
				return helpdesk.Caller{}, err
			}
			return s.service.As(id), nil
		})
	}
	if n := s.cfg.RateLimit; n > 0 {
		fill[transport.Limiter](&cfg.Limiter, transport.NewBuckets(transport.BucketsConfig{Limit: n, Now: s.cfg.Now}))
	}
	if n := s.cfg.PublicRateLimit; n > 0 {
		fill[transport.Limiter](&cfg.PublicLimiter, transport.NewBuckets(transport.BucketsConfig{Policy: "public", Limit: n, Now: s.cfg.Now}))
	}
	return cfg
}

func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	if err := s.ready.check(r.Context()); err != nil {
		s.cfg.Logger.WarnContext(r.Context(), "not ready", "error", err)
		w.Header().Set("Retry-After", "5")
		answer(w, http.StatusServiceUnavailable, "not ready: "+shownToAll(err))
		return
	}
	answer(w, http.StatusOK, "ready")
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintln(w, text)
}

// readerLimits are the limits for readers of help centres: n requests a minute, ten times as many for requests that pages
// make by themselves, and n messages and sign-in attempts in two hours.
func readerLimits(n int, now func() time.Time) func(ctx context.Context, what, address string) time.Duration {
	if n <= 0 {
		return nil
	}
	some := transport.NewBuckets(transport.BucketsConfig{Limit: n, Now: now})
	many := transport.NewBuckets(transport.BucketsConfig{Limit: 10 * n, Now: now})
	few := transport.NewBuckets(transport.BucketsConfig{Limit: max(2, n/6), Window: 20 * time.Minute, Now: now})
	return func(ctx context.Context, what, address string) time.Duration {
		switch what {
		case site.LimitSearch, site.LimitView:
			return many.Take(ctx, what+address).Wait
		case site.LimitContact, site.LimitSignIn:
			return few.Take(ctx, what+address).Wait
		}
		return some.Take(ctx, what+address).Wait
	}
}
