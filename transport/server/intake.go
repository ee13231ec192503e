package server

import (
	"github.com/helpwright/helpwright/helpdesk/ingest"
	"github.com/helpwright/helpwright/helpdesk/ingest/smtpin"
	"github.com/helpwright/helpwright/storage"
)

// makeFetcher makes the part that fetches mail from servers.
func (s *Server) makeFetcher() (err error) {
	notifier, _ := s.cfg.Store.(storage.EventNotifier)
	s.fetcher, err = ingest.NewFetcher(ingest.FetcherConfig{
		Intake: s.service.Intake(), Servers: s.servers, Events: notifier, Tracer: s.cfg.Tracer, Logger: s.cfg.Logger,
	})
	return err
}

// listen opens the listeners for mail.
func (s *Server) listen() error {
	for _, at := range []struct {
		address string
		lmtp    bool
	}{{s.cfg.IntakeListen, false}, {s.cfg.LMTPListen, true}} {
		if at.address == "" {
			continue
		}
		cfg := s.cfg.Intake
		cfg.Intake, cfg.Listen, cfg.LMTP = s.service.Intake(), at.address, at.lmtp
		fill(&cfg.Domain, s.cfg.Desk.IntakeDomain)
		fill(&cfg.Authenticate, ingest.Authenticator(ingest.AuthenticatorConfig{Resolver: s.cfg.Resolver, Relays: cfg.Relays}))
		server, err := smtpin.New(cfg)
		if err != nil {
			return err
		}
		s.intakes = append(s.intakes, server)
	}
	return nil
}
