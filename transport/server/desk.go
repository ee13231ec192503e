package server

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/transport"
	"github.com/helpwright/helpwright/transport/desk"
)

// deskURL returns the address of one of the agents' pages.
func (s *Server) deskURL(format string, ids ...any) string {
	return s.cfg.BaseURL + s.cfg.DeskPath + fmt.Sprintf(format, ids...)
}

// hasDesk reports whether there are pages for agents.
func (s *Server) hasDesk() bool { return s.cfg.Agents.Once != nil || s.cfg.API.Idempotency != nil }

// mountDesk adds the agents' pages, if the store can protect forms against double submission.
func (s *Server) mountDesk(mux *routes, bound, limit func(http.Handler) http.Handler) error {
	cfg := s.cfg.Agents
	fill(&cfg.Once, s.cfg.API.Idempotency)
	if !s.hasDesk() {
		plain := limit(http.HandlerFunc(s.invitation))
		mux.Handle("GET "+invitations+"{token}", plain)
		mux.Handle("POST "+invitations+"{token}", plain)
		return nil
	}
	base, path := s.cfg.basePath(), s.cfg.DeskPath
	cfg.Service, cfg.Prefix = s.service, base+path
	cfg.KB, cfg.Errands = s.kb, s.errands
	if s.sites != nil {
		fill(&cfg.PreviewDraft, s.sites.PreviewDraft)
		fill(&cfg.PreviewTheme, s.sites.PreviewTheme)
	}
	fill(&cfg.AssistantURL, func(account int64) string { return s.APIURL() + fmt.Sprintf("/accounts/%d/mcp", account) })
	fill(&cfg.Now, s.cfg.Now)
	fill(&cfg.Logger, s.cfg.Logger)
	if _, spooled := s.cfg.Relay.(*outbound.Spool); spooled {
		cfg.NoRelay = true
	}
	if cfg.Resolver == nil {
		cfg.Resolver = s.cfg.Resolver
	}
	fill(&cfg.MaxUpload, s.service.MaxAttachment())
	if cfg.Secure == nil {
		cfg.Secure = func(r *http.Request) bool { return r.TLS != nil || strings.HasPrefix(s.cfg.BaseURL, "https:") }
	}
	if cfg.Addr == nil {
		cfg.Addr = func(r *http.Request) netip.Addr { return transport.ClientAddr(r, s.cfg.TrustedProxies) }
	}
	if cfg.Authenticate == nil && s.cfg.Authenticate != nil {
		cfg.Authenticate = func(r *http.Request) (helpdesk.Caller, error) {
			id, err := s.cfg.Authenticate(r)
			return s.service.As(id), err
		}
	}
	pages, err := desk.New(cfg)
	if err != nil {
		return err
	}
	handler := bound(pages)
	if base != "" { // Handler is mounted with http.StripPrefix, and the desk strips its own
		handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r = r.Clone(r.Context())
			r.URL.Path = base + r.URL.Path
			bound(pages).ServeHTTP(w, r)
		})
	}
	if err := mount(mux, "DeskPath", path+"/", handler); err != nil {
		return err
	}
	for _, page := range []string{"/rate/{token}", invitations + "{token}", "/setup", "/setup/token", "/reset", "/forgot"} { // they accept guesses of tokens and passwords
		mux.Handle(path+page, limit(handler))
	}
	mux.HandleFunc("GET "+invitations+"{token}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, base+path+invitations+url.PathEscape(r.PathValue("token")), http.StatusSeeOther)
	})
	mux.Handle("GET "+path, http.RedirectHandler(base+path+"/", http.StatusSeeOther))
	mux.Handle("GET /{$}", http.RedirectHandler(base+path+"/", http.StatusSeeOther))
	return nil
}
