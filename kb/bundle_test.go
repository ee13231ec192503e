package kb_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

// person is a caller with a user id.
type person int64

func (p person) UserID() int64 { return int64(p) }
func (person) TokenID() int64  { return 0 }

// Callers of the tests: Erin edits account 1, Vic may only view it, Sam is a stranger, and Lea edits account 1 but reaches
// only its first mailbox.
const (
	erin person = 1
	vic  person = 2
	sam  person = 3
	lea  person = 4
)

// everything returns the permissions of an editor.
func everything() []kb.Permission {
	var all []kb.Permission
	for _, p := range kb.Domain().Permissions {
		all = append(all, kb.Permission(p))
	}
	return all
}

// bundle is a knowledge base with two accounts.
type bundle struct {
	*kb.Service
	store kb.Store
	desk  helpdesk.Store

	mu  sync.Mutex
	now time.Time
}

// backend is a store of both domains.
type backend interface {
	helpdesk.Store
	KB() kb.Store
}

// newBundle creates the bundle on a store: account 1 has the members Erin and Vic, account 2 has Sam.
func newBundle(t testing.TB, store backend) *bundle {
	t.Helper()
	b := &bundle{store: store.KB(), desk: store, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	var accounts []int64
	err := store.InSystemTx(context.Background(), func(ctx context.Context, tx helpdesk.SystemTx) error {
		accounts = nil
		for _, locale := range []string{"en", "de"} {
			a := identity.Account{Name: locale, NextNumber: 1, DefaultLocale: locale}
			if err := tx.InsertAccount(ctx, &a); err != nil {
				return err
			}
			accounts = append(accounts, a.ID)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b.Service, err = kb.New(kb.Config{
		Store: b.store, Blobs: memblob.New(), BaseURL: "https://desk.example.net",
		Now: func() time.Time { b.mu.Lock(); defer b.mu.Unlock(); return b.now },
		Membership: func(_ context.Context, c kb.Caller, accountID int64) (kb.Membership, error) {
			switch {
			case c == erin && accountID == accounts[0], c == sam && accountID == accounts[1]:
				return kb.Membership{Permissions: everything()}, nil
			case c == lea && accountID == accounts[0]:
				return kb.Membership{Permissions: everything(), Mailboxes: []int64{1}}, nil
			case c == vic && accountID == accounts[0]:
				return kb.Membership{Permissions: []kb.Permission{kb.SitesView}}, nil
			}
			return kb.Membership{}, fault.Missing("account", accountID)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// advance moves the clock.
func (b *bundle) advance(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

// site creates a site of Erin's.
func (b *bundle) site(t testing.TB, in kb.SiteInput) kb.Site {
	t.Helper()
	sites, err := b.Sites(erin)
	if err != nil {
		t.Fatal(err)
	}
	in.AccountID = 1
	if in.Name == "" {
		in.Name = "Help"
	}
	site, err := sites.Create(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return site
}

func memory(t testing.TB) *bundle {
	t.Helper()
	return newBundle(t, memstore.New())
}
