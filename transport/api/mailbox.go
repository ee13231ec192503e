package api

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// mailbox as the API shows it.
type mailbox struct {
	ID              int64          `json:"id"`
	AccountID       int64          `json:"account_id"`
	Name            string         `json:"name"`
	Email           string         `json:"email" description:"Sender of all answers."`
	From            string         `json:"from" description:"Sender's name, with the placeholders {{agent.name}} and {{mailbox.name}}, or :user.name and :mailbox.name."`
	InternalAddress string         `json:"internal_email_address" description:"Address to forward mail to."`
	IsDefault       bool           `json:"is_default" description:"Whether conversations without a mailbox go to this one."`
	ReplyAddress    string         `json:"reply_address" enum:"plain,subaddress,intake" description:"Reply-To of answers. plain: the mailbox's address; replies are matched by their References. subaddress: the address with a reply token after a plus sign. intake: the internal address with a reply token."`
	Signature       string         `json:"signature" description:"Sanitized HTML with placeholders. Answers end with it, below the author's own signature."`
	Quotes          string         `json:"quotes" enum:"none,last,all" description:"What is quoted below answers: nothing, the customer's last message, or the whole thread."`
	FormFields      []string       `json:"form_fields" description:"Keys of the fields of conversations that contact forms ask for, in order."`
	Connection      *connection    `json:"connection,omitempty" description:"Only with mailboxes.connection."`
	CreatedAt       transport.Time `json:"created_at"`
	UpdatedAt       transport.Time `json:"updated_at"`
}

type connection struct {
	Inbound  inbound  `json:"inbound"`
	Outbound outbound `json:"outbound"`
}

// outbound is the way in which a mailbox's mail leaves: by the server's relay, or by one of its own.
type outbound struct {
	Type                string `json:"type" enum:"SERVER,SMTP" description:"SERVER: by the relay of the server."`
	Host                string `json:"host,omitempty" description:"Host name of the mail server."`
	Port                int    `json:"port,omitempty" description:"Port of the mail server."`
	Encryption          string `json:"encryption,omitempty" enum:"TLS,SSL,NONE" description:"TLS: STARTTLS; SSL: TLS from the first byte."`
	ValidateCertificate *bool  `json:"validate_certificate,omitempty" description:"Whether the server's certificate must be valid."`
	Auth                string `json:"auth,omitempty" enum:"PASSWORD,OAUTH2,NONE" description:"OAUTH2: access tokens of the inbound connection."`
	Username            string `json:"username,omitempty" description:"Name to sign in with."`
	HasPassword         *bool  `json:"has_password,omitempty" description:"Whether a password is set. It is never returned."`
}

// inbound is the way in which mail reaches a mailbox: forwarded, or fetched from a server.
type inbound struct {
	Type                string          `json:"type" enum:"FWD,IMAP,POP3"`
	ForwardTo           string          `json:"forward_to,omitempty" description:"For FWD: the address to forward mail to."`
	Host                string          `json:"host,omitempty"`
	Port                int             `json:"port,omitempty"`
	Username            string          `json:"username,omitempty"`
	HasPassword         *bool           `json:"has_password,omitempty" description:"Whether a password is set. It is never returned."`
	Encryption          string          `json:"encryption,omitempty" enum:"TLS,SSL,NONE" description:"TLS: STARTTLS; SSL: TLS from the first byte."`
	ValidateCertificate *bool           `json:"validate_certificate,omitempty"`
	Folders             []string        `json:"folders,omitzero" description:"Folders to import. Empty: INBOX."`
	Auth                string          `json:"auth,omitempty" enum:"PASSWORD,OAUTH2"`
	OAuth               *oauth          `json:"oauth,omitempty" description:"Settings for OAUTH2."`
	ImportSince         *transport.Time `json:"import_since,omitempty" description:"Mail that the server received before that day is not imported."`
}

// oauth is how a mailbox gets access tokens for its server.
type oauth struct {
	ClientID        string `json:"client_id"`
	TokenURL        string `json:"token_url"`
	Scope           string `json:"scope"`
	HasRefreshToken bool   `json:"has_refresh_token" description:"Whether secrets are set. They are never returned."`
}

type mailboxInput struct {
	Name       storage.Opt[string]          `json:"name" maxLength:"200" example:"Support"`
	Email      storage.Opt[string]          `json:"email" example:"support@example.org"`
	From       storage.Opt[string]          `json:"from" maxLength:"200" example:"{{agent.name}} at Acme" description:"Sender's name. Placeholders: {{agent.name}} and {{mailbox.name}}, or :user.name and :mailbox.name."`
	Connection storage.Opt[connectionInput] `json:"connection" description:"Null: FWD."`
	IsDefault  storage.Opt[bool]            `json:"is_default" description:"Makes it the account's default mailbox. Otherwise the oldest one is."`

	Signature storage.Opt[string] `json:"signature" description:"HTML or text that answers end with, at most 16 KiB. Placeholders: {{agent.name}}, {{mailbox.name}} and {{mailbox.email}}; others are refused."`
	Quotes    storage.Opt[string] `json:"quotes" enum:"none,last,all" description:"What is quoted below answers. Default: none. A message is quoted only to its own authors and recipients; notes and forwarded messages never are."`

	FormFields storage.Opt[[]string] `json:"form_fields" maxItems:"20" example:"[\"plan\"]" description:"Keys of the fields of conversations that contact forms ask for, in order. Customers must see them."`

	ReplyAddress storage.Opt[string] `json:"reply_address" enum:"plain,subaddress,intake" description:"Reply-To of answers. Choose subaddress only if the mail server accepts tagged addresses; otherwise replies and bounces are lost. Null: intake for FWD; for IMAP and POP3 plain until a test has shown that subaddress works."`
}

type connectionInput struct {
	Inbound  storage.Opt[inboundInput]  `json:"inbound"`
	Outbound storage.Opt[outboundInput] `json:"outbound" description:"How mail is sent. Null: SERVER."`
}

type outboundInput struct {
	Type                string              `json:"type" required:"true" enum:"SERVER,SMTP" description:"SERVER: by the relay of the server; the other fields are for SMTP."`
	Host                string              `json:"host" example:"smtp.example.org" description:"Host name of the mail server."`
	Port                int                 `json:"port" example:"587" description:"Port of the mail server."`
	Encryption          string              `json:"encryption" enum:"TLS,SSL,NONE" description:"TLS: STARTTLS; SSL: TLS from the first byte."`
	ValidateCertificate storage.Opt[bool]   `json:"validate_certificate" description:"Default: true."`
	Auth                string              `json:"auth" enum:"PASSWORD,OAUTH2,NONE" description:"Default: PASSWORD. OAUTH2 uses the access tokens of the inbound connection, by OAUTHBEARER or XOAUTH2."`
	Username            string              `json:"username" example:"support@example.org" description:"Required, unless auth is NONE."`
	Password            storage.Opt[string] `json:"password" description:"May be omitted in an update that keeps host and username."`
}

type inboundInput struct {
	Type                string              `json:"type" required:"true" enum:"FWD,IMAP,POP3"`
	Host                string              `json:"host" example:"imap.example.org"`
	Port                int                 `json:"port" example:"993"`
	Username            string              `json:"username" example:"support@example.org"`
	Password            storage.Opt[string] `json:"password" description:"May be omitted in an update that keeps host and username."`
	Encryption          string              `json:"encryption" enum:"TLS,SSL,NONE"`
	ValidateCertificate storage.Opt[bool]   `json:"validate_certificate"`
	Folders             []string            `json:"folders" description:"Names of folders to import from."`

	Auth        string                 `json:"auth" enum:"PASSWORD,OAUTH2" description:"Default: PASSWORD. OAUTH2 uses access tokens (RFC 6749) by OAUTHBEARER or XOAUTH2 and needs no password."`
	OAuth       oauthInput             `json:"oauth" description:"Settings for OAUTH2."`
	ImportSince storage.Opt[time.Time] `json:"import_since" description:"IMAP: mail that the server received before that day is not imported, except by a backfill. Null: everything is imported."`
}

type oauthInput struct {
	ClientID     string              `json:"client_id" description:"Required with OAUTH2."`
	TokenURL     string              `json:"token_url" description:"Required with OAUTH2. HTTPS URL of the token endpoint." example:"https://login.example.org/token"`
	Scope        string              `json:"scope"`
	ClientSecret storage.Opt[string] `json:"client_secret"`
	RefreshToken storage.Opt[string] `json:"refresh_token" description:"Required with OAUTH2. May be omitted in an update that keeps host, username, client_id and token_url."`
}

type mailboxUpdate struct {
	mailboxID
	mailboxInput
}

type mailboxID struct {
	MailboxID int64 `path:"mailbox_id"`
}

type mailboxDeletion struct {
	mailboxID
	Force bool `query:"force" description:"Also delete the conversations."`
}

// mailboxStatus is the state of fetching.
type mailboxStatus struct {
	State         string          `json:"state" enum:"waiting,connecting,connected,failing,parked" description:"waiting: not fetched yet. connecting: the server has not answered yet. parked: the process crashed several times while fetching this mailbox, so it is retried after a minute and then less and less often, until its connection is tested or changed."`
	Connected     bool            `json:"connected"`
	LastSuccessAt *transport.Time `json:"last_success_at"`
	LastErrorAt   *transport.Time `json:"last_error_at"`
	LastError     *string         `json:"last_error"`
	NeedsReauth   bool            `json:"needs_reauth" description:"Whether the server or the token endpoint rejects the credentials. Nothing is fetched until they are changed."`
	ParkedAt      *transport.Time `json:"parked_at" description:"Null: the mailbox is not parked."`
	UpdatedAt     *transport.Time `json:"updated_at" description:"Null: nothing was fetched yet."`

	Counts mailCounts    `json:"counts" description:"Received mails that were not imported."`
	Tagged taggedAddress `json:"tagged_address" description:"Whether mail to the mailbox's tagged address arrives."`
}

// taggedAddress is the result of the test of a mailbox's tagged addresses.
type taggedAddress struct {
	State   string          `json:"state" enum:"none,pending,arrived,refused,missing" description:"State of the last test mail: none was sent, it is on its way, it arrived, it was returned, or it did not arrive in time."`
	Address *string         `json:"address" description:"Address it was sent to."`
	SentAt  *transport.Time `json:"sent_at"`
	SeenAt  *transport.Time `json:"seen_at" description:"When a test mail last arrived."`
	Text    string          `json:"text" description:"What that means and what to do, for people."`
}

func showTagged(a ledger.TaggedAddress) taggedAddress {
	return taggedAddress{State: string(a.State), Address: textOrNull(a.Address), SentAt: transport.TimePtr(&a.SentAt), SeenAt: transport.TimePtr(&a.SeenAt), Text: a.Text}
}

type mailCounts struct {
	Received    int64 `json:"received" description:"Number of mails waiting to be imported."`
	Quarantined int64 `json:"quarantined" description:"Number of mails that could not be imported. See the list of failures."`
	Ignored     int64 `json:"ignored"`
}

func (a *api) addMailboxes(t *transport.Table) {
	transport.Handle(t, a.desk, transport.Operation{
		ID: "createMailbox", Method: http.MethodPost, Path: mailboxesPath, Tag: "Mailboxes", Status: http.StatusCreated,
		Summary:     "Create a mailbox",
		Description: "Without a connection, its inbound type is FWD. Needs mailboxes.create, and mailboxes.connection to set another one.",
	}, a.createMailbox)
	transport.HandlePage(t, a.desk, transport.Operation{
		ID: "listMailboxes", Method: http.MethodGet, Path: mailboxesPath, Tag: "Mailboxes",
		Summary:     "List mailboxes",
		Description: "The mailboxes that the member can reach, oldest first. Needs mailboxes.view.",
	}, a.listMailboxes)
	transport.Handle(t, a.desk, transport.Operation{
		ID: "getMailbox", Method: http.MethodGet, Path: mailboxPath, Tag: "Mailboxes",
		Summary:     "Retrieve a mailbox",
		Description: "Needs mailboxes.view.",
	}, a.getMailbox)
	transport.Handle(t, a.desk, transport.Operation{
		ID: "updateMailbox", Method: http.MethodPut, Path: mailboxPath, Tag: "Mailboxes",
		Summary:     "Update a mailbox",
		Description: "Omitted fields stay unchanged. Needs mailboxes.update, and mailboxes.connection to set the connection.",
	}, a.updateMailbox)
	transport.HandleEmpty(t, a.desk, transport.Operation{
		ID: "deleteMailbox", Method: http.MethodDelete, Path: mailboxPath, Tag: "Mailboxes", Slow: true,
		Summary:     "Delete a mailbox",
		Description: "409 if there are conversations, unless force is set. Needs mailboxes.delete, and conversations.delete to force.",
	}, a.deleteMailbox)
	transport.Handle(t, a.desk, transport.Operation{
		ID: "getMailboxStatus", Method: http.MethodGet, Path: mailboxPath + "/status", Tag: "Mailboxes",
		Summary:     "Retrieve a mailbox's status",
		Description: "Needs mailboxes.connection.",
	}, a.getMailboxStatus)
	transport.Handle(t, a.desk, transport.Operation{
		ID: "testMailbox", Method: http.MethodPost, Path: mailboxPath + "/test", Tag: "Mailboxes", Slow: true,
		Summary: "Test a mailbox's connection",
		Description: "Connects, signs in and opens each folder, within 30 s. If that works, a test mail is sent to the mailbox's tagged " +
			"address, unless one is on its way. The status has the result; if it arrives, answers use tagged addresses unless " +
			"reply_address says otherwise. A parked mailbox is fetched again. 409 for a mailbox of type FWD. Needs " +
			"mailboxes.connection.",
	}, a.testMailbox)
	transport.Handle(t, a.desk, transport.Operation{
		ID: "testMailboxOutbound", Method: http.MethodPost, Path: mailboxPath + "/test-outbound", Tag: "Mailboxes", Slow: true,
		Summary: "Test a mailbox's outgoing mail",
		Description: "Connects to the mailbox's own relay, encrypts, signs in and names the sender, within 30 s. Nothing is sent. 409 for a " +
			"mailbox whose mail leaves by the server's relay. Needs mailboxes.connection.",
	}, a.testMailboxOutbound)
}

// outboundTest is the result of a test of a mailbox's outgoing mail.
type outboundTest struct {
	OK          bool    `json:"ok" description:"Whether it works."`
	Error       *string `json:"error" description:"The step that failed and why. Null if none failed."`
	NeedsReauth bool    `json:"needs_reauth" description:"Whether it failed because the credentials were rejected."`
}

func (a *api) testMailboxOutbound(ctx context.Context, d *helpdesk.Desk, in mailboxID) (outboundTest, error) {
	test, err := d.Mailboxes().TestOutbound(ctx, in.MailboxID)
	return outboundTest{OK: test.Failure == "", Error: textOrNull(test.Failure), NeedsReauth: test.NeedsReauth}, err
}

// connectionTest is the result of a test of a mailbox's connection.
type connectionTest struct {
	OK    bool    `json:"ok"`
	Error *string `json:"error" description:"The step that failed and why. Null if none failed."`

	NeedsReauth bool `json:"needs_reauth" description:"Whether it failed because the server or the token endpoint rejected the credentials."`

	Tagged taggedAddress `json:"tagged_address" description:"Whether mail to the mailbox's tagged address arrives, as far as known."`
}

func (a *api) testMailbox(ctx context.Context, d *helpdesk.Desk, in mailboxID) (connectionTest, error) {
	test, err := d.Mailboxes().Test(ctx, in.MailboxID)
	return connectionTest{OK: test.Failure == "", Error: textOrNull(test.Failure), NeedsReauth: test.NeedsReauth, Tagged: showTagged(test.Tagged)}, err
}

func (a *api) createMailbox(ctx context.Context, d *helpdesk.Desk, in mailboxInput) (mailbox, error) {
	m, err := d.Mailboxes().Create(ctx, in.input())
	return showMailbox(d, m), err
}

func (a *api) listMailboxes(ctx context.Context, d *helpdesk.Desk, in transport.Paging) (storage.Page[mailbox], error) {
	page, err := d.Mailboxes().List(ctx, in.Request())
	return mapPage(page, func(m helpdesk.Mailbox) mailbox { return showMailbox(d, m) }), err
}

func (a *api) getMailbox(ctx context.Context, d *helpdesk.Desk, in mailboxID) (mailbox, error) {
	m, err := d.Mailboxes().Get(ctx, in.MailboxID)
	return showMailbox(d, m), err
}

func (a *api) updateMailbox(ctx context.Context, d *helpdesk.Desk, in mailboxUpdate) (mailbox, error) {
	m, err := d.Mailboxes().Update(ctx, in.MailboxID, in.input())
	return showMailbox(d, m), err
}

func (a *api) deleteMailbox(ctx context.Context, d *helpdesk.Desk, in mailboxDeletion) error {
	return d.Mailboxes().Delete(ctx, in.MailboxID, in.Force)
}

func (a *api) getMailboxStatus(ctx context.Context, d *helpdesk.Desk, in mailboxID) (mailboxStatus, error) {
	s, err := d.Mailboxes().FetchStatus(ctx, in.MailboxID)
	if err != nil {
		return mailboxStatus{}, err
	}
	counts, err := d.InboundMails().Counts(ctx, in.MailboxID)
	if err != nil {
		return mailboxStatus{}, err
	}
	tagged, err := d.Mailboxes().TaggedAddress(ctx, in.MailboxID)
	return mailboxStatus{
		State: string(s.State()), Connected: s.Connected, LastSuccessAt: transport.TimePtr(&s.LastSuccessAt), LastErrorAt: transport.TimePtr(&s.LastErrorAt),
		LastError: textOrNull(s.LastError), NeedsReauth: s.NeedsReauth, ParkedAt: transport.TimePtr(&s.ParkedAt), UpdatedAt: transport.TimePtr(&s.UpdatedAt),
		Counts: mailCounts(counts), Tagged: showTagged(tagged),
	}, err
}

// input converts the input for the service. A connection without inbound is left out.
func (in mailboxInput) input() helpdesk.MailboxInput {
	out := helpdesk.MailboxInput{Name: in.Name, Email: in.Email, From: in.From, IsDefault: in.IsDefault, Signature: in.Signature, FormFields: in.FormFields}
	if quotes, given := in.Quotes.Get(); given {
		out.Quotes = storage.Some(helpdesk.QuotePolicy(quotes))
	} else if in.Quotes.IsNull() {
		out.Quotes.SetNull()
	}
	if reply, given := in.ReplyAddress.Get(); given {
		out.ReplyAddress = storage.Some(helpdesk.ReplyAddress(reply))
	} else if in.ReplyAddress.IsNull() {
		out.ReplyAddress.SetNull()
	}
	c, given := in.Connection.Get()
	if in.Connection.IsNull() || given && c.Inbound.IsNull() {
		out.Inbound.SetNull()
	}
	if in.Connection.IsNull() || given && c.Outbound.IsNull() {
		out.Outbound.SetNull()
	}
	if one, given := c.Outbound.Get(); given {
		out.Outbound = storage.Some(helpdesk.OutboundInput{
			Type: sending.OutboundType(one.Type), Host: one.Host, Port: one.Port, Encryption: mailserver.Encryption(one.Encryption),
			ValidateCertificate: one.ValidateCertificate, Auth: sending.OutboundAuth(one.Auth), Username: one.Username, Password: one.Password,
		})
	}
	if one, given := c.Inbound.Get(); given {
		out.Inbound = storage.Some(helpdesk.InboundInput{
			Type: ledger.InboundType(one.Type), Host: one.Host, Port: one.Port, Username: one.Username, Password: one.Password,
			Encryption: mailserver.Encryption(one.Encryption), ValidateCertificate: one.ValidateCertificate, Folders: one.Folders,
			Auth: ledger.InboundAuth(one.Auth), ImportSince: one.ImportSince,
			OAuth: helpdesk.OAuthInput{
				ClientID: one.OAuth.ClientID, TokenURL: one.OAuth.TokenURL, Scope: one.OAuth.Scope,
				ClientSecret: one.OAuth.ClientSecret, RefreshToken: one.OAuth.RefreshToken,
			},
		})
	}
	return out
}

func showMailbox(d *helpdesk.Desk, m helpdesk.Mailbox) mailbox {
	out := mailbox{
		ID: m.ID, AccountID: m.AccountID, Name: m.Name, Email: m.Email, From: m.From,
		InternalAddress: d.Mailboxes().InternalAddress(m), IsDefault: m.IsDefault, ReplyAddress: string(m.ReplyAddress),
		Signature: m.Signature, Quotes: string(cmp.Or(m.Quotes, helpdesk.QuoteNone)), FormFields: listed(m.FormFields),
		CreatedAt: transport.Time(m.CreatedAt), UpdatedAt: transport.Time(m.UpdatedAt),
	}
	switch in := m.Inbound; in.Type {
	case "": // hidden from this caller
	case ledger.InboundForward:
		out.Connection = &connection{Inbound: inbound{Type: string(in.Type), ForwardTo: out.InternalAddress}}
	default:
		out.Connection = &connection{Inbound: inbound{
			Type: string(in.Type), Host: in.Host, Port: in.Port, Username: in.Username, HasPassword: &in.HasPassword,
			Encryption: string(in.Encryption), ValidateCertificate: &in.ValidateCertificate, Folders: listed(in.Folders),
			Auth: string(cmp.Or(in.Auth, ledger.AuthPassword)), ImportSince: transport.TimePtr(&in.ImportSince),
		}}
		if in.Auth == ledger.AuthOAuth2 {
			out.Connection.Inbound.OAuth = &oauth{
				ClientID: in.OAuth.ClientID, TokenURL: in.OAuth.TokenURL, Scope: in.OAuth.Scope, HasRefreshToken: in.OAuth.HasRefreshToken,
			}
		}
	}
	if out.Connection != nil {
		out.Connection.Outbound = showOutbound(m.Outbound)
	}
	return out
}

func showOutbound(o sending.Outbound) outbound {
	if o.Type != sending.OutboundSMTP {
		return outbound{Type: string(sending.OutboundServer)}
	}
	return outbound{
		Type: string(o.Type), Host: o.Host, Port: o.Port, Encryption: string(o.Encryption), ValidateCertificate: &o.ValidateCertificate,
		Auth: string(o.Auth), Username: o.Username, HasPassword: &o.HasPassword,
	}
}
