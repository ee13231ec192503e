package main

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"net"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/exchange"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport/server"
)

//go:embed all:manual
var manualFiles embed.FS

type manualCmd struct{}

// Run serves the manual until the session's context ends.
func (manualCmd) Run(s *session) error {
	return s.withTemporary(func(own *session, listener net.Listener) error {
		a, err := own.open(true, own.work, func(cfg *server.Config) error { cfg.Listener = listener; return nil })
		if err != nil {
			return err
		}
		defer a.close()
		site, err := importManual(own.ctx, a.Server)
		if err != nil {
			return fmt.Errorf("the manual cannot be shown: %w", err)
		}
		fmt.Fprintf(own.stdout, "The manual is at %s\nCtrl-C ends it.\n", a.KB().URL(site))
		return a.Run(own.ctx)
	})
}

// importManual makes a help centre of the manual's files.
func importManual(ctx context.Context, srv *server.Server) (kb.Site, error) {
	folder, err := fs.Sub(manualFiles, "manual")
	if err != nil {
		return kb.Site{}, err
	}
	pages, problems, err := exchange.ReadDocs(folder, exchange.DocsOptions{})
	if err != nil {
		return kb.Site{}, err
	}
	if len(problems) > 0 {
		return kb.Site{}, problems
	}
	operator := srv.Service().Operator()
	owner, err := operator.CreateUser(ctx, identity.UserInput{Email: "operator@localhost"})
	if err != nil {
		return kb.Site{}, err
	}
	account, err := operator.CreateAccount(ctx, identity.AccountInput{Name: "helpwright"}, owner.ID)
	if err != nil {
		return kb.Site{}, err
	}
	as := srv.Service().As(owner.ID)
	sites, err := srv.KB().Sites(as)
	if err != nil {
		return kb.Site{}, err
	}
	site, err := sites.Create(ctx, kb.SiteInput{AccountID: account.ID, Name: "helpwright", Path: storage.Some("manual")})
	if err != nil {
		return kb.Site{}, err
	}
	editor, err := srv.KB().Editor(ctx, as, site.ID)
	if err != nil {
		return kb.Site{}, err
	}
	_, err = exchange.Exchange{Service: srv.KB(), Editor: editor}.Import(ctx, pages, exchange.Options{})
	return site, err
}
