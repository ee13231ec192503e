package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/transfer"
)

// Config configures moving an account.
type Config struct {
	Store  helpdesk.Store // required
	Sealer storage.Sealer // required: the help desk's sealer
	// Secrets opens the imported archive's secrets; nil: none. An export uses those of its writer.
	Secrets *transfer.Secrets
	Now     func() time.Time // nil: time.Now
}

func (c Config) complete() (Config, error) {
	var problems fault.Collector
	problems.Check(c.Store != nil, "Store", "is required")
	problems.Check(c.Sealer != nil, "Sealer", "is required")
	if c.Now == nil {
		c.Now = time.Now
	}
	now := c.Now
	c.Now = func() time.Time { return now().UTC().Truncate(time.Microsecond) }
	return c, problems.Err()
}

// Importer imports the help desk's rows of one archive. It is a [transfer.Part] for use by one goroutine.
type Importer struct {
	cfg     Config
	archive transfer.Manifest
	nouns   map[string]transfer.Noun[*target]
	account int64 // 0: not created yet
}

var _ transfer.Part = (*Importer)(nil)

// target is the state with which rows are written.
type target struct {
	helpdesk.Tx
	sys helpdesk.SystemTx
	of  *Importer
}

// NewImporter returns an importer of an archive. It continues the account that an earlier import of the archive started.
func NewImporter(ctx context.Context, cfg Config, archive transfer.Manifest) (*Importer, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	im := &Importer{cfg: cfg, archive: archive, nouns: map[string]transfer.Noun[*target]{}}
	for _, n := range newNouns().all() {
		im.nouns[n.Name()] = n
	}
	a, err := im.begun(ctx)
	im.account = a.ID
	return im, err
}

// begun returns the account that was created from the archive, or the zero value.
func (im *Importer) begun(ctx context.Context) (found identity.Account, err error) {
	err = pages(ctx, 100, im.cfg.Store.Accounts, func(a identity.Account) storage.Position { return storage.Position{ID: a.ID} },
		func(some []identity.Account) error {
			for _, a := range some {
				if a.Origin.Archive == im.archive.ID {
					found = a
				}
			}
			return nil
		})
	return found, err
}

// Account returns the id of the imported account, or 0 before its first row.
func (im *Importer) Account() int64 { return im.account }

// Finished reports whether the archive was imported before.
func (im *Importer) Finished(ctx context.Context) (bool, error) {
	a, err := im.begun(ctx)
	return !a.Origin.FinishedAt.IsZero(), err
}

// Takes implements [transfer.Part].
func (im *Importer) Takes(noun string) bool { return im.nouns[noun] != nil }

// Check implements [transfer.Part].
func (im *Importer) Check(c *transfer.Chunk, seen *transfer.Seen) error {
	if (c.Noun == "account") != (c.Number == 1) || c.Number == 1 && len(c.Lines) != 1 {
		return fault.Newf(fault.Invalid, "%s: an archive must begin with one account.", c.Path)
	}
	return im.nouns[c.Noun].Check(c, seen)
}

// Canonical makes rows comparable, see [transfer.Canon].
func (im *Importer) Canonical(c *transfer.Chunk, canon *transfer.Canon) ([]string, error) {
	return im.nouns[c.Noun].Canonical(c, canon)
}

// Files implements [transfer.Part].
func (im *Importer) Files(ctx context.Context, c *transfer.Chunk) (files map[string]string, done bool, err error) {
	if im.account == 0 {
		if err := im.createAccount(ctx, c); err != nil {
			return nil, false, err
		}
	}
	err = im.cfg.Store.InTx(ctx, im.scope(), func(ctx context.Context, tx helpdesk.Tx) (err error) {
		if done, err = transfer.Taken(ctx, tx, c); done || err != nil {
			return err
		}
		files, err = im.nouns[c.Noun].Files(ctx, &target{Tx: tx, of: im}, c)
		return err
	})
	return files, done, err
}

// Take implements [transfer.Part].
func (im *Importer) Take(ctx context.Context, c *transfer.Chunk) error {
	return im.cfg.Store.InSystemTx(ctx, func(ctx context.Context, sys helpdesk.SystemTx) error {
		return im.nouns[c.Noun].Take(ctx, &target{Tx: sys.Within(im.scope()), sys: sys, of: im}, c)
	})
}

func (im *Importer) scope() helpdesk.Scope { return helpdesk.Scope{AccountID: im.account} }

// createAccount creates the account. It never reuses the old id: what was signed for that one, such as reply
// addresses, would refer to other rows here if both servers have the same key.
func (im *Importer) createAccount(ctx context.Context, c *transfer.Chunk) error {
	if c.Noun != "account" {
		return fault.Newf(fault.Invalid, "%s: an archive must begin with one account.", c.Path)
	}
	a, err := readAccount(c)
	if err != nil {
		return err
	}
	a.Origin = identity.Origin{Archive: im.archive.ID}
	a.DefaultMailboxID, a.SealedErasureKeys = 0, nil
	return im.cfg.Store.InSystemTx(ctx, func(ctx context.Context, sys helpdesk.SystemTx) error {
		for range 2 {
			fresh := a
			if err := sys.InsertAccount(ctx, &fresh); err != nil {
				return err
			}
			if fresh.ID != im.archive.Account {
				im.account = fresh.ID
				return nil
			}
			if err := sys.Within(helpdesk.Scope{AccountID: fresh.ID}).DeleteAccount(ctx); err != nil {
				return err
			}
		}
		return fault.New(fault.Internal, "The account has the same id twice.")
	})
}

// Finish completes an import after its last row. Mail that was received but not filed is filed now.
// It is safe to call it again.
func (im *Importer) Finish(ctx context.Context) error {
	if im.account == 0 {
		return fault.New(fault.Invalid, "The archive has no account.")
	}
	err := im.cfg.Store.InTx(ctx, im.scope(), im.finish)
	for err == nil {
		var n int
		err = im.cfg.Store.InTx(ctx, im.scope(), func(ctx context.Context, tx helpdesk.Tx) (err error) {
			n, err = tx.ForgetNewIDs(ctx, 1000)
			return err
		})
		if n < 1000 {
			return err
		}
	}
	return err
}

func (im *Importer) finish(ctx context.Context, tx helpdesk.Tx) error {
	if err := tx.LockAccount(ctx); err != nil {
		return err
	}
	a, err := tx.Reader().Account(ctx)
	if err != nil || !a.Origin.FinishedAt.IsZero() {
		return err
	}
	a.Origin.FinishedAt = im.cfg.Now()
	if err := tx.UpdateAccount(ctx, &a); err != nil {
		return err
	}
	boxes, err := tx.Mailboxes().List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return err
	}
	for _, m := range boxes {
		if err := tx.Enqueue(ctx, storage.Job{Kind: helpdesk.JobFileMail, AccountID: a.ID, Subject: m.ID}); err != nil {
			return err
		}
	}
	if slices.Contains(a.Listens, helpdesk.RuleTime) {
		if err := tx.Enqueue(ctx, storage.Job{Kind: helpdesk.JobRuleClock, AccountID: a.ID}); err != nil {
			return err
		}
	}
	policies, err := helpdesk.Nouns().RetentionPolicies.Reader(tx.Reader()).List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return err
	}
	if slices.ContainsFunc(policies, func(p helpdesk.RetentionPolicy) bool { return p.IsActive }) {
		if err := tx.Enqueue(ctx, helpdesk.RetentionJob(a.ID, a.Origin.FinishedAt)); err != nil {
			return err
		}
	}
	if err := tx.Enqueue(ctx, storage.Job{Kind: helpdesk.JobFacts, AccountID: a.ID}); err != nil {
		return err
	}
	return tx.Emit(ctx, storage.Event{
		Type: "account.created", Subject: a.ID, Data: fmt.Appendf(nil, `{"id":%d}`, a.ID), Time: a.Origin.FinishedAt,
	})
}

// key returns the last part of a file's key, which is the same whenever the archive is imported again.
func (im *Importer) key(name string) string {
	sum := sha256.Sum256([]byte(im.archive.ID + "/" + name))
	return hex.EncodeToString(sum[:16])
}

func (x *target) fileKey(name string) string {
	return fmt.Sprintf("accounts/%d/attachments/%s", x.of.account, x.of.key(name))
}

func (x *target) rawKey(mailboxID int64, name string) string {
	return fmt.Sprintf("accounts/%d/mailboxes/%d/raw/%s", x.of.account, mailboxID, x.of.key(name))
}

// open decrypts a secret of the archive; without the archive's secrets it returns none.
func (im *Importer) open(sealed []byte, place string) ([]byte, error) {
	if im.cfg.Secrets == nil || len(sealed) == 0 {
		return nil, nil
	}
	return im.cfg.Secrets.Open(sealed, place)
}

// place is the location of a secret in an archive.
func place(noun string, id int64, n int) string { return fmt.Sprintf("%s/%d/%d", noun, id, n) }

// pages reads all rows of a list, page by page.
func pages[T any](ctx context.Context, limit int, list func(context.Context, storage.Seek) ([]T, error), at func(T) storage.Position, each func([]T) error) error {
	seek := storage.Seek{Limit: limit}
	for {
		some, err := list(ctx, seek)
		if err != nil {
			return err
		}
		if len(some) > 0 {
			last := at(some[len(some)-1])
			seek.From = &last
			if err := each(some); err != nil {
				return err
			}
		}
		if len(some) < limit {
			return nil
		}
	}
}
