package helpdesk

import (
	"context"
	"errors"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// Sources lists the mailboxes of all accounts that are to be fetched.
func (in *Intake) Sources(ctx context.Context) ([]ledger.FetchSource, error) {
	dir, err := in.system.Read(receive)
	if err != nil {
		return nil, err
	}
	var all []ledger.FetchSource
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

// fetchSource unseals a mailbox's secrets.
func (s *Service) fetchSource(m Mailbox) ledger.FetchSource {
	source := ledger.FetchSource{AccountID: m.AccountID, MailboxID: m.ID, Email: m.Email, Inbound: m.Inbound}
	source.Inbound.SealedPassword, source.Inbound.OAuth.SealedSecrets = nil, nil
	var err error
	if m.Inbound.Auth == ledger.AuthOAuth2 {
		var secrets oauthSecrets
		secrets, err = s.oauthSecrets(m)
		source.ClientSecret, source.RefreshToken = s.clientSecret(m.Inbound.OAuth, secrets.ClientSecret), secrets.RefreshToken
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

// KeepRefreshToken stores the new refresh token from a token endpoint in place of the old one. If the stored token was
// changed in the meantime, that one stays.
func (in *Intake) KeepRefreshToken(ctx context.Context, accountID, mailboxID int64, old, next string) error {
	begin, err := in.desk(accountID).Write(receive)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		m, err := tx.Mailboxes().Lock(ctx, mailboxID)
		if err != nil || m.Inbound.Auth != ledger.AuthOAuth2 {
			return err
		}
		secrets, err := in.svc.oauthSecrets(m)
		if err != nil || secrets.RefreshToken != old {
			return nil //nolint:nilerr // another sealing key, or the token was changed
		}
		secrets.RefreshToken = next
		if m.Inbound.OAuth.SealedSecrets, err = in.svc.sealOAuth(m, secrets); err != nil {
			return err
		}
		return tx.Mailboxes().Update(ctx, &m)
	})
}

// RefreshToken returns the stored refresh token of a mailbox, "" if it has none that can be read.
func (in *Intake) RefreshToken(ctx context.Context, accountID, mailboxID int64) (string, error) {
	r, err := in.desk(accountID).Read(receive)
	if err != nil {
		return "", err
	}
	m, err := r.Mailboxes().Get(ctx, mailboxID)
	if err != nil || m.Inbound.Auth != ledger.AuthOAuth2 {
		return "", err
	}
	return in.svc.fetchSource(m).RefreshToken, nil
}

// Taken returns those of the given positions of a source, at most 500, that are in a mailbox's ledger.
func (in *Intake) Taken(ctx context.Context, accountID, mailboxID int64, source string, positions []string) ([]string, error) {
	r, err := in.desk(accountID).Read(receive)
	if err != nil {
		return nil, err
	}
	return r.InboundPositions(ctx, mailboxID, source, positions)
}

// Test tests whether a mailbox can be fetched. If so, it sends a message to the mailbox's tagged address, unless one
// is already on its way. [Mailboxes.TaggedAddress] later returns the result; if it arrives, replies use such addresses, see
// [Mailbox]. A success also unparks the mailbox, see [ledger.FetchStatus]. It needs mailboxes.connection. A mailbox of type
// FWD has no connection and is a Conflict fault.
func (d Mailboxes) Test(ctx context.Context, id int64) (ledger.ConnectionTest, error) {
	source, err := d.fetchSource(ctx, id)
	if err != nil {
		return ledger.ConnectionTest{}, err
	}
	if source.Problem != "" {
		tagged, err := d.TaggedAddress(ctx, id)
		return ledger.ConnectionTest{Failure: source.Problem, NeedsReauth: true, Tagged: tagged}, err
	}
	limited, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	err = d.atWork(ctx, id, true, func() error { return d.svc.cfg.MailServers.Test(limited, source) })
	if fault.Of(err) != fault.Internal {
		return ledger.ConnectionTest{}, err // our own error, not the server's
	}
	if err != nil {
		tagged, told := d.TaggedAddress(ctx, id)
		return ledger.ConnectionTest{Failure: shownError(err), NeedsReauth: errors.Is(err, ledger.ErrReauth), Tagged: tagged}, told
	}
	tagged, err := d.probe(ctx, id)
	return ledger.ConnectionTest{Tagged: tagged}, err
}

// fetchSource returns a mailbox's source, for operations that talk to its server.
func (d *desk) fetchSource(ctx context.Context, mailboxID int64) (ledger.FetchSource, error) {
	r, err := d.guard.Read(identity.MailboxesConnection)
	if err != nil {
		return ledger.FetchSource{}, err
	}
	if d.svc.cfg.MailServers == nil {
		return ledger.FetchSource{}, fault.New(fault.Disabled, "This server cannot connect to mail servers.")
	}
	m, err := r.Mailboxes().Get(ctx, mailboxID)
	if err != nil {
		return ledger.FetchSource{}, err
	}
	if m.Inbound.Type == ledger.InboundForward {
		return ledger.FetchSource{}, fault.New(fault.Conflict, "This mailbox receives forwarded mail, so there is no server to connect to.")
	}
	return d.svc.fetchSource(m), nil
}

// shownError returns the displayed text of a mail server's error.
func shownError(err error) string { return plain.Cut(plain.Line(err.Error()), 500) }
