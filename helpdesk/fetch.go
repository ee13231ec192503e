package helpdesk

import (
	"context"
	"errors"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// MailServers reaches the servers from which mailboxes' mail is fetched. Package
// ingest has one. Its errors say which step failed and may be shown to who may see
// the connection; one that is [ErrReauth] says that other credentials are needed.
type MailServers interface {
	// Test connects, signs in and opens each folder.
	Test(ctx context.Context, source FetchSource) error
	// List gives each the mails of every folder, folder by folder; since leaves out
	// those that the server received before that day, unless it is zero or the protocol
	// has no dates. An error of each ends it.
	List(ctx context.Context, source FetchSource, since time.Time, each func(context.Context, ServerMails) error) error
}

// ErrReauth says that a mail server or its token endpoint refuses the password or
// the grant of a mailbox: nothing is fetched until there is another one.
var ErrReauth = errors.New("the mail server refuses the credentials")

// FetchSource is a mailbox whose mail is to be fetched, with the secrets that open
// it.
type FetchSource struct {
	AccountID int64
	MailboxID int64
	Email     string // the mailbox's address; may be ""
	Inbound   Inbound
	Password  string // of AuthPassword
	// ClientSecret and RefreshToken are of AuthOAuth2.
	ClientSecret, RefreshToken string
	// Problem is set when the stored secrets do not open, for instance because the
	// secret key is another one: fetching cannot work until they are set anew.
	Problem string
}

// Sources lists the mailboxes of all accounts whose mail is to be fetched.
func (in *Intake) Sources(ctx context.Context) ([]FetchSource, error) {
	dir, err := in.system.Read(receive)
	if err != nil {
		return nil, err
	}
	var all []FetchSource
	var from *storage.Position
	for {
		batch, err := dir.MailboxesToFetch(ctx, storage.Seek{From: from, Limit: 100})
		if err != nil {
			return nil, err
		}
		for _, m := range batch {
			from = &storage.Position{ID: m.ID}
			all = append(all, in.svc.fetchSource(m))
		}
		if len(batch) < 100 {
			return all, nil
		}
	}
}

// fetchSource opens the secrets of a mailbox.
func (s *Service) fetchSource(m Mailbox) FetchSource {
	source := FetchSource{AccountID: m.AccountID, MailboxID: m.ID, Email: m.Email, Inbound: m.Inbound}
	source.Inbound.SealedPassword, source.Inbound.OAuth.SealedSecrets = nil, nil
	var err error
	if m.Inbound.Auth == AuthOAuth2 {
		var secrets oauthSecrets
		secrets, err = s.oauthSecrets(m)
		source.ClientSecret, source.RefreshToken = secrets.ClientSecret, secrets.RefreshToken
	} else {
		var password []byte
		password, err = s.cfg.Sealer.Open(m.Inbound.SealedPassword, passwordContext(&m))
		source.Password = string(password)
	}
	if err != nil {
		source.Problem = "The stored password cannot be read with this server's secret key: set it again."
	}
	return source
}

// KeepRefreshToken stores the refresh token that a token endpoint has given in place
// of an old one. One that was set anew meanwhile stays.
func (in *Intake) KeepRefreshToken(ctx context.Context, accountID, mailboxID int64, old, next string) error {
	begin, err := in.desk(accountID).Write(receive)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		m, err := tx.Mailboxes().Lock(ctx, mailboxID)
		if err != nil || m.Inbound.Auth != AuthOAuth2 {
			return err
		}
		secrets, err := in.svc.oauthSecrets(m)
		if err != nil || secrets.RefreshToken != old {
			return nil // another key, or another token: nothing of ours
		}
		secrets.RefreshToken = next
		if m.Inbound.OAuth.SealedSecrets, err = in.svc.sealOAuth(m, secrets); err != nil {
			return err
		}
		return tx.Mailboxes().Update(ctx, &m)
	})
}

// Taken returns those of some positions of a source, 500 at most, whose mails are in
// a mailbox's ledger.
func (in *Intake) Taken(ctx context.Context, accountID, mailboxID int64, source string, positions []string) ([]string, error) {
	r, err := in.desk(accountID).Read(receive)
	if err != nil {
		return nil, err
	}
	return r.InboundPositions(ctx, mailboxID, source, positions)
}

// ConnectionTest is what trying a mailbox's connection gave.
type ConnectionTest struct {
	Failure     string // the step that failed, and how; "" when none did
	NeedsReauth bool   // the failure is that other credentials are needed
	// Tagged tells whether addresses with a tag work, as far as that is known.
	Tagged TaggedAddress
}

// TestMailbox tries now whether the mail of a mailbox can be fetched. If it can, a mail
// is sent to the mailbox's address with a tag, unless one is on its way, to see whether
// it arrives: [Desk.TaggedAddress] tells later what came of it, and answers use such
// addresses then; see [Mailbox]. A mailbox that is parked, see [FetchStatus], is fetched
// again then. It needs mailboxes.connection. A mailbox of type FWD is a Conflict fault:
// there is nothing to connect to.
func (d *Desk) TestMailbox(ctx context.Context, id int64) (ConnectionTest, error) {
	source, err := d.fetchSource(ctx, id)
	if err != nil {
		return ConnectionTest{}, err
	}
	if source.Problem != "" {
		tagged, err := d.TaggedAddress(ctx, id)
		return ConnectionTest{Failure: source.Problem, NeedsReauth: true, Tagged: tagged}, err
	}
	limited, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	err = d.atWork(ctx, id, true, func() error { return d.svc.cfg.MailServers.Test(limited, source) })
	if fault.Of(err) != fault.Internal {
		return ConnectionTest{}, err // ours, not the server's
	}
	if err != nil {
		tagged, told := d.TaggedAddress(ctx, id)
		return ConnectionTest{Failure: shownError(err), NeedsReauth: errors.Is(err, ErrReauth), Tagged: tagged}, told
	}
	tagged, err := d.probe(ctx, id)
	return ConnectionTest{Tagged: tagged}, err
}

// fetchSource is a mailbox's, for operations that talk to its server.
func (d *Desk) fetchSource(ctx context.Context, mailboxID int64) (FetchSource, error) {
	r, err := d.guard.Read(MailboxesConnection)
	if err != nil {
		return FetchSource{}, err
	}
	if d.svc.cfg.MailServers == nil {
		return FetchSource{}, fault.New(fault.Disabled, "Mail servers cannot be reached here.")
	}
	m, err := r.Mailboxes().Get(ctx, mailboxID)
	if err != nil {
		return FetchSource{}, err
	}
	if m.Inbound.Type == InboundForward {
		return FetchSource{}, fault.New(fault.Conflict, "Mail of this mailbox is forwarded: there is no server to connect to.")
	}
	return d.svc.fetchSource(m), nil
}

// shownError is the text of an error of a mail server.
func shownError(err error) string { return cut(cleanLine(err.Error()), 500) }
