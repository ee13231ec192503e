package helpdesk

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// OutboundInput sets how a mailbox's mail leaves.
type OutboundInput struct {
	Type sending.OutboundType // required; the rest only for SMTP

	Host       string // required
	Port       int    // required
	Encryption mailserver.Encryption
	// ValidateCertificate defaults to true.
	ValidateCertificate storage.Opt[bool]

	// Auth defaults to OutboundPassword. OutboundOAuth2 needs an inbound connection that uses OAuth 2.
	Auth     sending.OutboundAuth
	Username string // required, unless Auth is OutboundNone
	// Password may be absent in an update that keeps Host and Username; the stored one is then kept.
	Password storage.Opt[string]
}

// Relays connects to mailboxes' own relays. Package outbound implements it.
type Relays interface {
	// Test connects, encrypts and authenticates, and asks whether the relay takes mail from an address. It sends nothing. Its
	// error names the step that failed; it is [ledger.ErrReauth] if the credentials were rejected.
	Test(ctx context.Context, relay sending.Relay, from string) error
}

// outboundField returns the name of a connection's field.
func outboundField(name string) string { return "connection[outbound][" + name + "]" }

func (d *desk) applyOutbound(problems *fault.Collector, m *Mailbox, in OutboundInput) error {
	field, old := outboundField, m.Outbound
	switch in.Type {
	case sending.OutboundServer:
		m.Outbound = sending.Outbound{Type: sending.OutboundServer}
		return nil
	case sending.OutboundSMTP:
	default:
		problems.Add(field("type"), "must be SERVER or SMTP")
		return nil
	}
	next := sending.Outbound{
		Type: in.Type, Host: plain.Line(in.Host), Port: in.Port, Username: plain.Line(in.Username),
		Encryption: in.Encryption, ValidateCertificate: in.ValidateCertificate.Or(true), Auth: in.Auth,
	}
	problems.Check(validHost(next.Host), field("host"), "must be a host name or an IP address")
	problems.Check(next.Port >= 1 && next.Port <= 65535, field("port"), "must be from 1 to 65535")
	problems.Check(next.Encryption.Valid(), field("encryption"), "must be TLS, SSL or NONE")
	if next.Auth == "" {
		next.Auth = sending.OutboundPassword
	}
	var err error
	switch next.Auth {
	case sending.OutboundNone:
		next.Username = ""
	case sending.OutboundOAuth2:
		required(problems, field("username"), next.Username, 255)
		problems.Check(m.Inbound.Auth == ledger.AuthOAuth2, field("auth"), "can be OAUTH2 only if the mailbox is fetched with OAUTH2, whose access it shares")
	case sending.OutboundPassword:
		required(problems, field("username"), next.Username, 255)
		err = d.applyOutboundPassword(problems, m, &next, old, in.Password)
	default:
		problems.Add(field("auth"), "must be PASSWORD, OAUTH2 or NONE")
	}
	m.Outbound = next
	return err
}

// applyOutboundPassword sets the password of next. A stored one must not be sent to another server or user on behalf of a
// caller who does not know it.
func (d *desk) applyOutboundPassword(problems *fault.Collector, m *Mailbox, next *sending.Outbound, old sending.Outbound, in storage.Opt[string]) error {
	password, given := in.Get()
	switch {
	case given && password != "":
		bounded(problems, outboundField("password"), password, 1000)
		problems.Check(!strings.ContainsFunc(password, unicode.IsControl), outboundField("password"), "must not have control characters")
		var err error
		next.SealedPassword, err = d.svc.sealSecret([]byte(password), outboundContext(m))
		return err
	case len(old.SealedPassword) == 0:
		problems.Add(outboundField("password"), "is required")
	case old.Host != next.Host || old.Username != next.Username:
		problems.Add(outboundField("password"), "is required when host or username change")
	default:
		next.SealedPassword = old.SealedPassword
	}
	return nil
}

// outboundContext binds a sealed password to its mailbox.
func outboundContext(m *Mailbox) string { return "mailbox/" + m.InternalLocal + "/outbound" }

// relay returns a mailbox's own relay, with its unsealed secrets; nil if its mail leaves by the server's.
func (s *Service) relay(m Mailbox) *sending.Relay {
	if m.Outbound.Type != sending.OutboundSMTP {
		return nil
	}
	relay := &sending.Relay{AccountID: m.AccountID, MailboxID: m.ID, Outbound: m.Outbound}
	relay.Outbound.SealedPassword = nil
	var err error
	switch m.Outbound.Auth {
	case sending.OutboundNone:
	case sending.OutboundOAuth2:
		if m.Inbound.Auth != ledger.AuthOAuth2 {
			relay.Problem = "The mailbox is no longer fetched with OAuth, whose access its outgoing mail uses: set up its outgoing mail again."
			return relay
		}
		var secrets oauthSecrets
		secrets, err = s.oauthSecrets(m)
		in := m.Inbound.OAuth
		relay.OAuth = sending.OAuth{ClientID: in.ClientID, TokenURL: in.TokenURL, Scope: in.Scope, ClientSecret: s.clientSecret(in, secrets.ClientSecret), RefreshToken: secrets.RefreshToken}
	default:
		var password []byte
		password, err = s.cfg.Sealer.Open(m.Outbound.SealedPassword, outboundContext(&m))
		relay.Password = string(password)
	}
	if err != nil {
		relay.Problem = "The stored password for outgoing mail cannot be read with this server's secret key: set it again."
	}
	return relay
}

// TestOutbound tests whether a mailbox's own relay takes its mail, without sending any. It needs mailboxes.connection. A
// mailbox whose mail leaves by the server's relay is a Conflict fault; without Config.Relays it is a Disabled fault.
func (d Mailboxes) TestOutbound(ctx context.Context, id int64) (sending.OutboundTest, error) {
	r, err := d.guard.Read(identity.MailboxesConnection)
	if err != nil {
		return sending.OutboundTest{}, err
	}
	m, err := r.Mailboxes().Get(ctx, id)
	if err != nil {
		return sending.OutboundTest{}, err
	}
	if d.svc.cfg.Relays == nil {
		return sending.OutboundTest{}, fault.New(fault.Disabled, "This server cannot connect to mail servers.")
	}
	relay := d.svc.relay(m)
	if relay == nil {
		return sending.OutboundTest{}, fault.New(fault.Conflict, "This mailbox sends through the server's relay, so it has no connection of its own.")
	}
	if relay.Problem != "" {
		return sending.OutboundTest{Failure: relay.Problem, NeedsReauth: true}, nil
	}
	from := m.Email
	if from == "" {
		from = d.svc.InternalAddress(m)
	}
	limited, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := d.svc.cfg.Relays.Test(limited, *relay, from); err != nil {
		return sending.OutboundTest{Failure: shownError(err), NeedsReauth: errors.Is(err, ledger.ErrReauth)}, nil
	}
	return sending.OutboundTest{}, nil
}
