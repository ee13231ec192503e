package helpdesk

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// checkMailProviders notes what is wrong with providers of mailboxes.
func checkMailProviders(all []mailserver.Provider, problems *fault.Collector) {
	keys := map[string]bool{}
	for i, p := range all {
		field := func(name string) string { return fmt.Sprintf("MailProviders[%d].%s", i, name) }
		problems.Check(providerKey.MatchString(p.Key) && !keys[p.Key], field("Key"), "must be 1 to 32 of a-z, 0-9 and -, and unique")
		problems.Check(p.Name != "" && plain.Length(p.Name) <= 50, field("Name"), "must have 1 to 50 characters")
		problems.Check(p.ClientID != "" && validTokenURL(p.TokenURL), field("ClientID"), "is required, with an https TokenURL")
		problems.Check(validHost(p.Inbound.Host) && validHost(p.Outbound.Host), field("Inbound"), "is required, and so is Outbound")
		problems.Check(p.Begin != nil && p.Finish != nil, field("Begin"), "is required, and so is Finish")
		keys[p.Key] = true
	}
}

// MailProviders are the providers of mailboxes that members can sign in to, as they were configured, without their client
// secrets.
func (s *Service) MailProviders() []mailserver.Provider {
	var all []mailserver.Provider
	for _, p := range s.cfg.MailProviders {
		p.ClientSecret = ""
		all = append(all, p)
	}
	return all
}

func (s *Service) mailProvider(key string) (mailserver.Provider, error) {
	for _, p := range s.cfg.MailProviders {
		if p.Key == key {
			return p, nil
		}
	}
	return mailserver.Provider{}, fault.Missing("mail provider", 0)
}

// clientSecret returns the secret of a mailbox's client: that of its provider, unless the mailbox has one of its own. So the
// operator can change the secret without anybody signing in again.
func (s *Service) clientSecret(settings ledger.OAuth, own string) string {
	for _, p := range s.cfg.MailProviders {
		if own == "" && p.ClientID == settings.ClientID && p.TokenURL == settings.TokenURL {
			return p.ClientSecret
		}
	}
	return own
}

// MailSignIn is a sign-in of a mailbox to its provider.
type MailSignIn struct {
	Provider  string // key of the provider
	MailboxID int64  // 0: a new mailbox, for the address that signs in
	// Account is the address of an account other than the mailbox's own that may sign in for it, because it reads that mailbox
	// too. "": only the mailbox's own.
	Account string
	Next    string // returned by [Service.FinishMailSignIn]; at most 1,000 bytes
}

// mailAttempt is what the browser keeps, sealed, while its user is at a provider of mailboxes.
type mailAttempt struct {
	MailSignIn
	AccountID int64     `json:"account_id"`
	UserID    int64     `json:"user_id"`
	Secret    []byte    `json:"secret"`
	Until     time.Time `json:"until"`
}

const mailAttemptContext = "mailbox sign-in attempt"

// BeginSignIn begins to sign a mailbox in to its provider: [Service.FinishMailSignIn] is called when the browser has come
// back, within ten minutes. It needs mailboxes.connection, and mailboxes.update or, for a new mailbox, mailboxes.create. An
// unknown provider is a NotFound fault.
func (d Mailboxes) BeginSignIn(ctx context.Context, in MailSignIn) (identity.SignInStart, error) {
	r, err := d.mayConnect(in.MailboxID)
	if err != nil {
		return identity.SignInStart{}, err
	}
	login := in.Account
	if in.MailboxID != 0 {
		m, err := r.Mailboxes().Get(ctx, in.MailboxID)
		if err != nil {
			return identity.SignInStart{}, err
		}
		login = cmp.Or(login, signedInAs(m), m.Email)
	}
	p, err := d.svc.mailProvider(in.Provider)
	if err != nil {
		return identity.SignInStart{}, err
	}
	if len(in.Next) > maxNext {
		in.Next = ""
	}
	a := mailAttempt{MailSignIn: in, AccountID: d.scope.AccountID, UserID: d.userID, Until: d.svc.now().Add(attemptLife)}
	var start identity.SignInStart
	if start.Address, a.Secret, err = p.Begin(login); err != nil {
		return identity.SignInStart{}, err
	}
	text, err := json.Marshal(a)
	if err != nil {
		return identity.SignInStart{}, fault.Wrap(fault.Internal, "making a sign-in of a mailbox", err)
	}
	sealed, err := d.svc.sealSecret(text, mailAttemptContext)
	start.Kept = passwordTokens.EncodeToString(sealed)
	return start, err
}

// mayConnect returns a reader if the caller may sign a mailbox in.
func (d *desk) mayConnect(mailboxID int64) (Reader, error) {
	need := identity.MailboxesUpdate
	if mailboxID == 0 {
		need = identity.MailboxesCreate
	}
	if _, err := d.guard.Write(need); err != nil {
		return nil, err
	}
	if mailboxID == 0 {
		if err := d.reachesAll(); err != nil {
			return nil, err
		}
	}
	if _, err := d.guard.Write(identity.MailboxesConnection); err != nil {
		return nil, err
	}
	return d.guard.Read(identity.MailboxesConnection)
}

// signedInAs returns the user name of a mailbox with access tokens, "" for others.
func signedInAs(m Mailbox) string {
	if m.Inbound.Auth != ledger.AuthOAuth2 || !mailaddr.Valid(m.Inbound.Username) {
		return ""
	}
	return m.Inbound.Username
}

// MailSignedIn is what became of a sign-in of a mailbox. All but Mailbox is also set with an error, as far as it is known.
type MailSignedIn struct {
	MailSignIn
	AccountID int64   // of the help desk
	Signed    string  // address of the account that signed in
	Mailbox   Mailbox // the connected mailbox
}

// FinishMailSignIn connects a mailbox to its provider, by what the browser kept and the parameters that it came back with: its
// mail is fetched and, unless it has another relay of its own, sent with the access that was granted. The caller must be the
// user who began. The refresh token is stored sealed. Test the mailbox next.
//
// Faults have the codes of package mailserver. If another account than that of the mailbox has signed in, nothing is changed,
// and the fault is a Conflict with [mailserver.SignInOther]. It needs what [Mailboxes.BeginSignIn] needs.
func (s *Service) FinishMailSignIn(ctx context.Context, c Caller, provider, kept string, answer url.Values) (MailSignedIn, error) {
	began, err := s.resumeMail(c, provider, kept)
	if err != nil {
		return MailSignedIn{}, err
	}
	out := MailSignedIn{MailSignIn: began.MailSignIn, AccountID: began.AccountID}
	d, err := s.Desk(ctx, c, began.AccountID)
	if err != nil {
		return out, err
	}
	r, err := d.mayConnect(began.MailboxID)
	if err != nil {
		return out, err
	}
	p, err := s.mailProvider(provider)
	if err != nil {
		return out, err
	}
	grant, err := p.Finish(ctx, began.Secret, answer)
	if err != nil {
		return out, err
	}
	out.Signed = grant.Email
	if began.MailboxID == 0 {
		out.Mailbox, err = d.Mailboxes().Create(ctx, d.granted(p, grant, Mailbox{Inbound: ledger.Inbound{Type: ledger.InboundForward}}))
		return out, err
	}
	m, err := r.Mailboxes().Get(ctx, began.MailboxID)
	if err != nil {
		return out, err
	}
	if !oneOf(grant.Email, m.Email, signedInAs(m), began.Account) && m.Email != "" {
		return out, &fault.Error{Kind: fault.Conflict, Code: mailserver.SignInOther, Message: "The account that signed in does not belong to the mailbox."}
	}
	out.Mailbox, err = d.Mailboxes().Update(ctx, m.ID, d.granted(p, grant, m))
	return out, err
}

// resumeMail opens what the browser of a caller has kept.
func (s *Service) resumeMail(c Caller, provider, kept string) (mailAttempt, error) {
	over := &fault.Error{Kind: fault.Unauthenticated, Code: mailserver.SignInExpired, Message: "Sign-in took too long or was started in another browser. Sign in again."}
	var a mailAttempt
	sealed, err := passwordTokens.DecodeString(kept)
	if err != nil || kept == "" {
		return a, over
	}
	text, err := s.cfg.Sealer.Open(sealed, mailAttemptContext)
	if err != nil || json.Unmarshal(text, &a) != nil || a.Provider != provider || a.UserID != c.userID || !s.now().Before(a.Until) {
		return mailAttempt{}, over
	}
	return a, nil
}

// oneOf reports whether an address is one of others.
func oneOf(address string, others ...string) bool {
	for _, other := range others {
		if other != "" && mailaddr.Key(other) == mailaddr.Key(address) {
			return true
		}
	}
	return false
}

// granted returns the settings of a mailbox with access by a provider.
func (d *desk) granted(p mailserver.Provider, grant mailserver.Grant, m Mailbox) MailboxInput {
	old, username := m.Inbound, grant.Email
	if p.SharedMailboxes && m.Email != "" && !oneOf(grant.Email, m.Email) {
		username = m.Email
	}
	same := old.Type == ledger.InboundIMAP && old.Host == p.Inbound.Host && oneOf(username, old.Username)
	in := InboundInput{
		Type: ledger.InboundIMAP, Host: p.Inbound.Host, Port: p.Inbound.Port, Encryption: p.Inbound.Encryption,
		ValidateCertificate: storage.Some(true), Username: username, Auth: ledger.AuthOAuth2,
		OAuth: OAuthInput{
			ClientID: p.ClientID, TokenURL: p.TokenURL, Scope: p.Scope, RefreshToken: storage.Some(grant.RefreshToken), ClientSecret: storage.Some(""),
		},
	}
	if same {
		in.Username, in.Folders = old.Username, old.Folders
	} else {
		in.ImportSince = storage.Some(d.svc.now().UTC().Truncate(24 * time.Hour))
	}
	out := MailboxInput{Inbound: storage.Some(in)}
	if m.Email == "" {
		out.Email = storage.Some(grant.Email)
	}
	if m.ID == 0 {
		out.Name = storage.Some(MailboxName(grant.Email))
	}
	if m.Outbound.Type != sending.OutboundSMTP || m.Outbound.Host == p.Outbound.Host {
		out.Outbound = storage.Some(OutboundInput{
			Type: sending.OutboundSMTP, Host: p.Outbound.Host, Port: p.Outbound.Port, Encryption: p.Outbound.Encryption,
			Auth: sending.OutboundOAuth2, Username: in.Username,
		})
	}
	return out
}

// MailboxName suggests a name for the mailbox of an address: Support for support@example.org.
func MailboxName(email string) string {
	local, _, _ := strings.Cut(email, "@")
	runes := []rune(local)
	if len(runes) == 0 {
		return email
	}
	return strings.ToUpper(string(runes[:1])) + string(runes[1:])
}
