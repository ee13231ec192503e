package main

import (
	"fmt"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/mailsignin"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/desk"
	"github.com/helpwright/helpwright/transport/server"
)

// mailClient is a client id that a provider of mailboxes gave the operator, with its secret.
type mailClient struct {
	key, prefix string // prefix of the settings
	id, secret  string
	make        func(mailsignin.Config) (mailserver.Provider, error)
}

func (s *Settings) mailClients() []mailClient {
	return []mailClient{
		{"google", "HELPWRIGHT_GOOGLE_CLIENT_", s.GoogleClientID, s.GoogleClientSecret, mailsignin.Google},
		{"microsoft", "HELPWRIGHT_MICROSOFT_CLIENT_", s.MicrosoftClientID, s.MicrosoftClientSecret, mailsignin.Microsoft},
	}
}

// checkMailSignIn validates the settings of providers of mailboxes.
func (s *Settings) checkMailSignIn(problems *fault.Collector) {
	for _, c := range s.mailClients() {
		id, secret := c.prefix+"ID", c.prefix+"SECRET"
		if c.id == "" {
			problems.Check(c.secret == "", id, "is required with "+secret+": the provider shows it where you have registered "+s.mailRedirect(c.key))
			continue
		}
		problems.Check(c.secret != "", secret, "is required with "+id+": make a client secret where you have registered "+s.mailRedirect(c.key))
		problems.Check(!strings.ContainsAny(c.id, " \t\r\n"), id, "must be one word")
		problems.Check(!strings.ContainsAny(c.secret, " \t\r\n"), secret, "must be one word")
	}
	if s.GoogleClientID != "" {
		problems.Check(strings.HasSuffix(s.GoogleClientID, ".apps.googleusercontent.com"), "HELPWRIGHT_GOOGLE_CLIENT_ID", "must end with .apps.googleusercontent.com")
	}
	problems.Check(s.MicrosoftTenant == "" || mailsignin.ValidTenant(s.MicrosoftTenant), "HELPWRIGHT_MICROSOFT_TENANT", "must be a tenant's id, one of its domains, or common, organizations or consumers")
}

// mailRedirect returns the address to register at a provider of mailboxes.
func (s *Settings) mailRedirect(key string) string {
	return strings.TrimRight(s.baseURL(), "/") + server.DeskPath + desk.MailSignInPath(key)
}

// mailProviders returns the providers of mailboxes of the settings.
func (s *session) mailProviders() ([]mailserver.Provider, error) {
	var all []mailserver.Provider
	for _, c := range s.settings.mailClients() {
		if c.id == "" {
			continue
		}
		p, err := c.make(mailsignin.Config{
			ClientID: c.id, ClientSecret: c.secret, RedirectURL: s.settings.mailRedirect(c.key), Tenant: s.settings.MicrosoftTenant, Now: s.now,
		})
		if err != nil {
			return nil, fmt.Errorf("signing mailboxes in (%sID): %w", c.prefix, err)
		}
		all = append(all, p)
	}
	return all, nil
}

// mailSignIn tells which redirect addresses are to be registered.
func (d *doctor) mailSignIn() {
	for _, c := range d.settings.mailClients() {
		if c.id != "" {
			d.note("mailbox sign-in ("+c.prefix+"ID)", "register "+d.settings.mailRedirect(c.key)+" as the redirect address of the client there")
		}
	}
}
