package transport

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// mailbox as the API shows it.
type mailbox struct {
	ID              int64       `json:"id"`
	AccountID       int64       `json:"account_id"`
	Name            string      `json:"name"`
	Email           string      `json:"email" description:"Sender of all answers."`
	From            string      `json:"from" description:"Sender's name, with placeholders :mailbox.name and :user.name."`
	InternalAddress string      `json:"internal_email_address" description:"Mail can be forwarded to it."`
	IsDefault       bool        `json:"is_default" description:"Conversations that name no mailbox are of this one."`
	ReplyAddress    string      `json:"reply_address" enum:"plain,subaddress,intake" description:"Where answers ask for replies to. plain: the mailbox's address, and replies are matched by the mails that they refer to. subaddress: the same with a reply token behind a plus sign. intake: the internal address with a reply token."`
	Signature       string      `json:"signature" description:"HTML that is safe to show, with placeholders: what answers end with, below the signature of who posts them."`
	Quotes          string      `json:"quotes" enum:"none,last,all" description:"What is quoted below answers: nothing, the customer's last message, or what was said so far."`
	Connection      *connection `json:"connection,omitempty" description:"Only to who holds mailboxes.connection."`
	CreatedAt       Time        `json:"created_at"`
	UpdatedAt       Time        `json:"updated_at"`
}

type connection struct {
	Inbound inbound `json:"inbound"`
}

// inbound is how mail reaches a mailbox: by forwarding, or fetched from a server.
type inbound struct {
	Type                string   `json:"type" enum:"FWD,IMAP,POP3"`
	ForwardTo           string   `json:"forward_to,omitempty" description:"Of FWD: the address to forward mail to."`
	Host                string   `json:"host,omitempty"`
	Port                int      `json:"port,omitempty"`
	Username            string   `json:"username,omitempty"`
	HasPassword         *bool    `json:"has_password,omitempty" description:"The password itself is never shown."`
	Encryption          string   `json:"encryption,omitempty" enum:"TLS,SSL,NONE" description:"TLS: STARTTLS; SSL: TLS from the first byte."`
	ValidateCertificate *bool    `json:"validate_certificate,omitempty"`
	Folders             []string `json:"folders,omitzero" description:"Empty: INBOX."`
	Auth                string   `json:"auth,omitempty" enum:"PASSWORD,OAUTH2"`
	OAuth               *oauth   `json:"oauth,omitempty" description:"Of OAUTH2."`
	ImportSince         *Time    `json:"import_since,omitempty" description:"Mail that the server received before that day is left alone."`
}

// oauth is how a mailbox gets access tokens for its server.
type oauth struct {
	ClientID        string `json:"client_id"`
	TokenURL        string `json:"token_url"`
	Scope           string `json:"scope"`
	HasRefreshToken bool   `json:"has_refresh_token" description:"The secrets themselves are never shown."`
}

type mailboxInput struct {
	Name       storage.Opt[string]          `json:"name" maxLength:"200" example:"Support"`
	Email      storage.Opt[string]          `json:"email" example:"support@example.org"`
	From       storage.Opt[string]          `json:"from" maxLength:"200" example:":user.name at Acme"`
	Connection storage.Opt[connectionInput] `json:"connection" description:"Null: FWD."`
	IsDefault  storage.Opt[bool]            `json:"is_default" description:"The account's oldest mailbox is the default unless another is chosen."`

	Signature storage.Opt[string] `json:"signature" description:"HTML or text, at most 16 KiB, that answers end with. {{agent.name}}, {{mailbox.name}} and {{mailbox.email}} stand for what they say; others are refused."`
	Quotes    storage.Opt[string] `json:"quotes" enum:"none,last,all" description:"What is quoted below answers; none without it. Nobody is quoted what they took no part in: notes and forwarded messages never are, others to those alone who were among their authors and recipients."`

	ReplyAddress storage.Opt[string] `json:"reply_address" enum:"plain,subaddress,intake" description:"Where answers ask for replies to. Choose subaddress only where the mail server takes mail to the address with a tag, else replies and bounces are lost. Null: intake for FWD; for IMAP and POP3 plain, until a test of the mailbox has seen that subaddress works."`
}

type connectionInput struct {
	Inbound storage.Opt[inboundInput] `json:"inbound"`
}

type inboundInput struct {
	Type                string              `json:"type" required:"true" enum:"FWD,IMAP,POP3"`
	Host                string              `json:"host" example:"imap.example.org"`
	Port                int                 `json:"port" example:"993"`
	Username            string              `json:"username" example:"support@example.org"`
	Password            storage.Opt[string] `json:"password" description:"May be left out in an update that leaves host and username as they are."`
	Encryption          string              `json:"encryption" enum:"TLS,SSL,NONE"`
	ValidateCertificate storage.Opt[bool]   `json:"validate_certificate"`
	Folders             []string            `json:"folders" description:"Names of folders to import from."`

	Auth        string                 `json:"auth" enum:"PASSWORD,OAUTH2" description:"PASSWORD unless it is given. OAUTH2: access tokens (RFC 6749), by OAUTHBEARER or XOAUTH2; needs no password."`
	OAuth       oauthInput             `json:"oauth" description:"Of OAUTH2."`
	ImportSince storage.Opt[time.Time] `json:"import_since" description:"IMAP: mail that the server received before that day is left alone, until a backfill. Null: all is imported."`
}

type oauthInput struct {
	ClientID     string              `json:"client_id" description:"Required with OAUTH2."`
	TokenURL     string              `json:"token_url" description:"Required with OAUTH2. Where access tokens are got with the refresh token: https." example:"https://login.example.org/token"`
	Scope        string              `json:"scope"`
	ClientSecret storage.Opt[string] `json:"client_secret"`
	RefreshToken storage.Opt[string] `json:"refresh_token" description:"Required with OAUTH2; may be left out in an update that leaves host, username, client_id and token_url as they are."`
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
	Force bool `query:"force" description:"Delete its conversations too."`
}

// mailboxStatus tells how fetching goes.
type mailboxStatus struct {
	State         string  `json:"state" enum:"waiting,connecting,connected,failing,parked" description:"Waiting: nothing has tried to fetch it yet. Connecting: the server has not answered yet. Parked: the server process has ended several times while it fetched this mailbox, so it is fetched again after a minute, and then ever more rarely, unless its connection is tested or changed."`
	Connected     bool    `json:"connected"`
	LastSuccessAt *Time   `json:"last_success_at"`
	LastErrorAt   *Time   `json:"last_error_at"`
	LastError     *string `json:"last_error"`
	NeedsReauth   bool    `json:"needs_reauth" description:"The server or the token endpoint refuses the credentials: nothing is fetched until others are set."`
	ParkedAt      *Time   `json:"parked_at" description:"Null: the mailbox is not parked."`
	UpdatedAt     *Time   `json:"updated_at" description:"Null: nothing was fetched yet."`

	Counts mailCounts    `json:"counts" description:"Received mails that were not imported."`
	Tagged taggedAddress `json:"tagged_address" description:"Whether mail to the mailbox's address with a tag arrives."`
}

// taggedAddress is what a test of a mailbox's tagged addresses found out.
type taggedAddress struct {
	State   string  `json:"state" enum:"none,pending,arrived,refused,missing" description:"Of the last mail that a test of the mailbox sent to find that out: none was sent, it is on its way, it has arrived, it was returned, or it has not arrived in time."`
	Address *string `json:"address" description:"That it was sent to."`
	SentAt  *Time   `json:"sent_at"`
	SeenAt  *Time   `json:"seen_at" description:"When one has arrived last."`
	Text    string  `json:"text" description:"What that means, and what to do, for people."`
}

func showTagged(a helpdesk.TaggedAddress) taggedAddress {
	return taggedAddress{State: string(a.State), Address: textOrNull(a.Address), SentAt: TimePtr(&a.SentAt), SeenAt: TimePtr(&a.SeenAt), Text: a.Text}
}

type mailCounts struct {
	Received    int64 `json:"received" description:"They wait to be imported."`
	Quarantined int64 `json:"quarantined" description:"They could not be imported, see the list of failures."`
	Ignored     int64 `json:"ignored"`
}

func (a *api) addMailboxes(t *Table) {
	Handle(t, a.desk, Operation{
		ID: "createMailbox", Method: http.MethodPost, Path: mailboxesPath, Tag: "Mailboxes", Status: http.StatusCreated,
		Summary:     "Create a mailbox",
		Description: "Without a connection its inbound connection is FWD. Needs mailboxes.create, and mailboxes.connection to set another one.",
	}, a.createMailbox)
	HandlePage(t, a.desk, Operation{
		ID: "listMailboxes", Method: http.MethodGet, Path: mailboxesPath, Tag: "Mailboxes",
		Summary:     "List mailboxes",
		Description: "Those the member reaches, oldest first. Needs mailboxes.view.",
	}, a.listMailboxes)
	Handle(t, a.desk, Operation{
		ID: "getMailbox", Method: http.MethodGet, Path: mailboxPath, Tag: "Mailboxes",
		Summary:     "Retrieve a mailbox",
		Description: "Needs mailboxes.view.",
	}, a.getMailbox)
	Handle(t, a.desk, Operation{
		ID: "updateMailbox", Method: http.MethodPut, Path: mailboxPath, Tag: "Mailboxes",
		Summary:     "Update a mailbox",
		Description: "Fields that are left out stay as they are. Needs mailboxes.update, and mailboxes.connection to set the connection.",
	}, a.updateMailbox)
	HandleEmpty(t, a.desk, Operation{
		ID: "deleteMailbox", Method: http.MethodDelete, Path: mailboxPath, Tag: "Mailboxes", Slow: true,
		Summary:     "Delete a mailbox",
		Description: "409 for one with conversations, unless force. Needs mailboxes.delete, and conversations.delete to force.",
	}, a.deleteMailbox)
	Handle(t, a.desk, Operation{
		ID: "getMailboxStatus", Method: http.MethodGet, Path: mailboxPath + "/status", Tag: "Mailboxes",
		Summary:     "Tell how fetching a mailbox goes",
		Description: "Needs mailboxes.connection.",
	}, a.getMailboxStatus)
	Handle(t, a.desk, Operation{
		ID: "testMailbox", Method: http.MethodPost, Path: mailboxPath + "/test", Tag: "Mailboxes", Slow: true,
		Summary: "Try now whether the mail of a mailbox can be fetched",
		Description: "Connects, signs in and opens each folder; takes up to 30 s. If that works, a mail is sent to the mailbox's address with " +
			"a tag, unless one is on its way, to see whether it arrives: the status tells what came of it, and answers use such addresses " +
			"then, unless reply_address says otherwise. A parked mailbox is fetched again. 409 for a mailbox of type FWD. Needs mailboxes.connection.",
	}, a.testMailbox)
}

// connectionTest is what trying a mailbox's connection gave.
type connectionTest struct {
	OK    bool    `json:"ok"`
	Error *string `json:"error" description:"The step that failed, and how; null when none did."`

	NeedsReauth bool `json:"needs_reauth" description:"It failed because the server or the token endpoint refuses the credentials."`

	Tagged taggedAddress `json:"tagged_address" description:"Whether mail to the mailbox's address with a tag arrives, as far as that is known."`
}

func (a *api) testMailbox(ctx context.Context, d *helpdesk.Desk, in mailboxID) (connectionTest, error) {
	test, err := d.TestMailbox(ctx, in.MailboxID)
	return connectionTest{OK: test.Failure == "", Error: textOrNull(test.Failure), NeedsReauth: test.NeedsReauth, Tagged: showTagged(test.Tagged)}, err
}

func (a *api) createMailbox(ctx context.Context, d *helpdesk.Desk, in mailboxInput) (mailbox, error) {
	m, err := d.CreateMailbox(ctx, in.input())
	return showMailbox(d, m), err
}

func (a *api) listMailboxes(ctx context.Context, d *helpdesk.Desk, in Paging) (storage.Page[mailbox], error) {
	page, err := d.Mailboxes(ctx, in.Request())
	return mapPage(page, func(m helpdesk.Mailbox) mailbox { return showMailbox(d, m) }), err
}

func (a *api) getMailbox(ctx context.Context, d *helpdesk.Desk, in mailboxID) (mailbox, error) {
	m, err := d.Mailbox(ctx, in.MailboxID)
	return showMailbox(d, m), err
}

func (a *api) updateMailbox(ctx context.Context, d *helpdesk.Desk, in mailboxUpdate) (mailbox, error) {
	m, err := d.UpdateMailbox(ctx, in.MailboxID, in.input())
	return showMailbox(d, m), err
}

func (a *api) deleteMailbox(ctx context.Context, d *helpdesk.Desk, in mailboxDeletion) error {
	return d.DeleteMailbox(ctx, in.MailboxID, in.Force)
}

func (a *api) getMailboxStatus(ctx context.Context, d *helpdesk.Desk, in mailboxID) (mailboxStatus, error) {
	s, err := d.FetchStatus(ctx, in.MailboxID)
	if err != nil {
		return mailboxStatus{}, err
	}
	counts, err := d.InboundCounts(ctx, in.MailboxID)
	if err != nil {
		return mailboxStatus{}, err
	}
	tagged, err := d.TaggedAddress(ctx, in.MailboxID)
	return mailboxStatus{
		State: string(s.State()), Connected: s.Connected, LastSuccessAt: TimePtr(&s.LastSuccessAt), LastErrorAt: TimePtr(&s.LastErrorAt),
		LastError: textOrNull(s.LastError), NeedsReauth: s.NeedsReauth, ParkedAt: TimePtr(&s.ParkedAt), UpdatedAt: TimePtr(&s.UpdatedAt),
		Counts: mailCounts(counts), Tagged: showTagged(tagged),
	}, err
}

// input is what the service is given. A connection without inbound says nothing.
func (in mailboxInput) input() helpdesk.MailboxInput {
	out := helpdesk.MailboxInput{Name: in.Name, Email: in.Email, From: in.From, IsDefault: in.IsDefault, Signature: in.Signature}
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
	if one, given := c.Inbound.Get(); given {
		out.Inbound = storage.Some(helpdesk.InboundInput{
			Type: helpdesk.InboundType(one.Type), Host: one.Host, Port: one.Port, Username: one.Username, Password: one.Password,
			Encryption: helpdesk.Encryption(one.Encryption), ValidateCertificate: one.ValidateCertificate, Folders: one.Folders,
			Auth: helpdesk.InboundAuth(one.Auth), ImportSince: one.ImportSince,
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
		InternalAddress: d.InternalAddress(m), IsDefault: m.IsDefault, ReplyAddress: string(m.ReplyAddress),
		Signature: m.Signature, Quotes: string(cmp.Or(m.Quotes, helpdesk.QuoteNone)),
		CreatedAt: Time(m.CreatedAt), UpdatedAt: Time(m.UpdatedAt),
	}
	switch in := m.Inbound; in.Type {
	case "": // not for this caller
	case helpdesk.InboundForward:
		out.Connection = &connection{Inbound: inbound{Type: string(in.Type), ForwardTo: out.InternalAddress}}
	default:
		out.Connection = &connection{Inbound: inbound{
			Type: string(in.Type), Host: in.Host, Port: in.Port, Username: in.Username, HasPassword: &in.HasPassword,
			Encryption: string(in.Encryption), ValidateCertificate: &in.ValidateCertificate, Folders: listed(in.Folders),
			Auth: string(cmp.Or(in.Auth, helpdesk.AuthPassword)), ImportSince: TimePtr(&in.ImportSince),
		}}
		if in.Auth == helpdesk.AuthOAuth2 {
			out.Connection.Inbound.OAuth = &oauth{
				ClientID: in.OAuth.ClientID, TokenURL: in.OAuth.TokenURL, Scope: in.OAuth.Scope, HasRefreshToken: in.OAuth.HasRefreshToken,
			}
		}
	}
	return out
}
