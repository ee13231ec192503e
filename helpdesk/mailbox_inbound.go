package helpdesk

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// inboundField returns the name of a connection's field.
func inboundField(name string) string { return "connection[inbound][" + name + "]" }

func (d *desk) applyInbound(problems *fault.Collector, m *Mailbox, in InboundInput) error {
	field, old := inboundField, m.Inbound
	switch in.Type {
	case ledger.InboundForward:
		m.Inbound = ledger.Inbound{Type: ledger.InboundForward, Epoch: old.Epoch}
		if old.Type != ledger.InboundForward {
			m.Inbound.Epoch++
		}
		return nil
	case ledger.InboundIMAP, ledger.InboundPOP3:
	default:
		problems.Add(field("type"), "must be FWD, IMAP or POP3")
		return nil
	}
	next := ledger.Inbound{
		Type: in.Type, Host: plain.Line(in.Host), Port: in.Port, Username: plain.Line(in.Username),
		Encryption: in.Encryption, Epoch: old.Epoch, ImportSince: in.ImportSince.Or(old.ImportSince).UTC(),
	}
	if in.ImportSince.IsNull() {
		next.ImportSince = time.Time{}
	}
	if old.Type != ledger.InboundForward && !sameLogin(old, next) {
		next.Epoch++
	}
	problems.Check(validHost(next.Host), field("host"), "must be a host name or an IP address")
	problems.Check(next.Port >= 1 && next.Port <= 65535, field("port"), "must be from 1 to 65535")
	required(problems, field("username"), next.Username, 255)
	problems.Check(next.Encryption.Valid(), field("encryption"), "must be TLS, SSL or NONE")
	validate, given := in.ValidateCertificate.Get()
	problems.Check(given, field("validate_certificate"), "is required")
	next.ValidateCertificate = validate
	problems.Check(len(in.Folders) <= 100, field("folders"), "has more than 100 names")
	for i, folder := range in.Folders {
		folder = plain.Line(folder)
		required(problems, fmt.Sprintf("%s[%d]", field("folders"), i), folder, 255)
		next.Folders = append(next.Folders, folder)
	}
	problems.Check(next.ImportSince.IsZero() || next.Type == ledger.InboundIMAP, field("import_since"), "is only available with IMAP: POP3 has no dates")
	err := d.applyCredentials(problems, m, &next, in)
	m.Inbound = next
	return err
}

// sameLogin reports whether two connections use the same user of the same server.
func sameLogin(i ledger.Inbound, other ledger.Inbound) bool {
	return i.Type == other.Type && i.Host == other.Host && i.Username == other.Username
}

// applyCredentials sets the credentials of next. A stored secret must not be sent to another server, user or client on
// behalf of a caller who does not know it.
func (d *desk) applyCredentials(problems *fault.Collector, m *Mailbox, next *ledger.Inbound, in InboundInput) error {
	old := m.Inbound
	next.Auth = in.Auth
	if password, _ := in.Password.Get(); next.Auth == "" && password == "" && old.Host == next.Host {
		next.Auth = old.Auth
	}
	switch next.Auth {
	case "", ledger.AuthPassword:
		next.Auth = ledger.AuthPassword
		return d.applyPassword(problems, m, next, in.Password)
	case ledger.AuthOAuth2:
		return d.applyOAuth(problems, m, next, in.OAuth)
	}
	problems.Add(inboundField("auth"), "must be PASSWORD or OAUTH2")
	return nil
}

func (d *desk) applyPassword(problems *fault.Collector, m *Mailbox, next *ledger.Inbound, in storage.Opt[string]) error {
	old, field := m.Inbound, inboundField("password")
	next.SealedPassword = old.SealedPassword
	password, given := in.Get()
	switch {
	case given && password != "":
		bounded(problems, field, password, 1000)
		var err error
		next.SealedPassword, err = d.svc.sealSecret([]byte(password), passwordContext(m))
		return err
	case len(old.SealedPassword) == 0:
		problems.Add(field, "is required")
	case old.Host != next.Host || old.Username != next.Username:
		problems.Add(field, "is required when host or username change")
	}
	return nil
}

func (d *desk) applyOAuth(problems *fault.Collector, m *Mailbox, next *ledger.Inbound, in OAuthInput) error {
	field := func(name string) string { return inboundField("oauth") + "[" + name + "]" }
	old := m.Inbound
	next.OAuth = ledger.OAuth{ClientID: plain.Line(in.ClientID), TokenURL: strings.TrimSpace(in.TokenURL), Scope: plain.Line(in.Scope)}
	required(problems, field("client_id"), next.OAuth.ClientID, 500)
	problems.Check(validTokenURL(next.OAuth.TokenURL), field("token_url"), "must be an https address")
	bounded(problems, field("scope"), next.OAuth.Scope, 2000)
	secrets := oauthSecrets{ClientSecret: in.ClientSecret.Or(""), RefreshToken: in.RefreshToken.Or("")}
	bounded(problems, field("client_secret"), secrets.ClientSecret, 2000)
	bounded(problems, field("refresh_token"), secrets.RefreshToken, 10_000)
	kept := sameLogin(old, *next) && old.OAuth.ClientID == next.OAuth.ClientID && old.OAuth.TokenURL == next.OAuth.TokenURL
	switch {
	case secrets.RefreshToken != "":
	case len(old.OAuth.SealedSecrets) == 0:
		problems.Add(field("refresh_token"), "is required")
		return nil
	case !kept:
		problems.Add(field("refresh_token"), "is required when host, username, client_id or token_url change")
		return nil
	}
	if kept && len(old.OAuth.SealedSecrets) > 0 { // keep the secrets that are not given
		stored, err := d.svc.oauthSecrets(*m)
		if err == nil && secrets.RefreshToken == "" {
			secrets.RefreshToken = stored.RefreshToken
		}
		if _, given := in.ClientSecret.Get(); err == nil && !given {
			secrets.ClientSecret = stored.ClientSecret
		}
		problems.Check(secrets.RefreshToken != "", field("refresh_token"), "cannot be read with this server's secret key: set it again")
	}
	var err error
	next.OAuth.SealedSecrets, err = d.svc.sealOAuth(*m, secrets)
	return err
}

// validTokenURL reports whether secrets may be sent to a URL: https, or http to this machine.
func validTokenURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || len(text) > 2000 {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

// oauthSecrets are the sealed secrets for obtaining access tokens.
type oauthSecrets struct {
	ClientSecret string `json:"client_secret,omitempty"`
	RefreshToken string `json:"refresh_token"`
}

func (s *Service) oauthSecrets(m Mailbox) (secrets oauthSecrets, err error) {
	text, err := s.cfg.Sealer.Open(m.Inbound.OAuth.SealedSecrets, oauthContext(&m))
	if err == nil {
		err = json.Unmarshal(text, &secrets)
	}
	return secrets, err
}

func (s *Service) sealOAuth(m Mailbox, secrets oauthSecrets) ([]byte, error) {
	text, err := json.Marshal(secrets)
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "sealing a secret", err)
	}
	return s.sealSecret(text, oauthContext(&m))
}

func (s *Service) sealSecret(secret []byte, context string) ([]byte, error) {
	sealed, err := s.cfg.Sealer.Seal(secret, context)
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "sealing a secret", err)
	}
	return sealed, nil
}

// passwordContext binds a sealed password to its mailbox.
func passwordContext(m *Mailbox) string { return "mailbox/" + m.InternalLocal + "/password" }

// oauthContext binds sealed secrets for access tokens to their mailbox.
func oauthContext(m *Mailbox) string { return "mailbox/" + m.InternalLocal + "/oauth" }

func validHost(host string) bool {
	if host == "" || len(host) > 253 {
		return false
	}
	return !strings.ContainsAny(host, " /@?#\\\"'<>")
}
