package server

import (
	"net/http"
	"net/netip"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/transport"
	"github.com/helpwright/helpwright/transport/mcp"
)

// mountAssistants adds the endpoint of each account for assistants, below the account's path in the API.
func (s *Server) mountAssistants(mux *routes, table *transport.Table) error {
	cfg := mcp.Config{
		Service: s.service, KB: s.kb, Version: s.cfg.API.Version, Logger: s.cfg.Logger,
		Addr: func(r *http.Request) netip.Addr { return transport.ClientAddr(r, s.cfg.TrustedProxies) },
	}
	if s.hasDesk() {
		cfg.ConversationURL = func(account, id int64) string { return s.deskURL("/a/%d/c/%d", account, id) }
	}
	if who := s.cfg.Authenticate; who != nil {
		cfg.Authenticate = func(r *http.Request) (helpdesk.Caller, error) {
			id, err := who(r)
			if err != nil || id == 0 {
				return helpdesk.Caller{}, err
			}
			return s.service.As(id), nil
		}
	}
	assistants, err := mcp.New(cfg)
	if err != nil {
		return err
	}
	mux.Handle(table.Base()+"/accounts/{"+mcp.AccountParam+"}/mcp", table.LimitTokens(table.BoundAll(assistants)))
	return nil
}
