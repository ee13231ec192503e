package helpdesk_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
)

// keyring makes a sealer of keys, each of one letter.
func keyring(t *testing.T, letters string) storage.KeyedSealer {
	t.Helper()
	var keys [][]byte
	for _, letter := range []byte(letters) {
		keys = append(keys, bytes.Repeat([]byte{letter}, 32))
	}
	s, err := storage.NewSealer(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return s.(storage.KeyedSealer) //nolint:forcetypeassert // as NewSealer says
}

// withKeys is the same help desk with other keys.
func (b *bundle) withKeys(letters string) *helpdesk.Service {
	b.t.Helper()
	return must(helpdesk.New(helpdesk.Config{Store: b.store, Blobs: b.blobs, Sealer: keyring(b.t, letters), SigningKey: make([]byte, 32), Now: b.clock.Now}))(b.t)
}

// sealedValues is how many secrets newSealed has stored.
const sealedValues = 8

// newSealed has one of every secret, sealed with the key "a".
func newSealed(t *testing.T) *bundle {
	t.Helper()
	b := newBundle(t, func(c *helpdesk.Config) { c.Sealer = keyring(t, "a") })
	password := oauthInbound()
	password.Auth, password.OAuth, password.Password = ledger.AuthPassword, helpdesk.OAuthInput{}, storage.Some("hunter2")
	for _, in := range []helpdesk.InboundInput{password, oauthInbound()} {
		must(b.desk.Mailboxes().Create(b.ctx, helpdesk.MailboxInput{Inbound: storage.Some(in)}))(t)
	}
	must(b.desk.Domains().Create(b.ctx, "example.org"))(t)
	hook := b.hook()
	_, _, err := b.desk.Webhooks().RotateSecret(b.ctx, hook.ID)
	_, _, err2 := b.desk.PortalKeys().Create(b.ctx, helpdesk.PortalKeyInput{Name: "App", Algorithm: helpdesk.PortalHS256})
	user := must(b.svc.Operator().CreateUser(b.ctx, identity.UserInput{Name: "Lise", Email: "lise@example.org", Password: lisesPassword}))(t)
	admin := must(b.svc.Admin(b.ctx, b.svc.As(user.ID)))(t)
	_, err3 := admin.BeginSecondFactor(b.ctx, lisesPassword, "Halden")
	bob := must(b.desk.Customers().Create(b.ctx, helpdesk.CustomerInput{FirstName: storage.Some("Bob"), Emails: storage.Some([]helpdesk.Item{{Value: "bob@example.com"}})}))(t)
	if err := errors.Join(err, err2, err3, b.desk.Customers().Erase(b.ctx, bob.ID)); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestReseal(t *testing.T) {
	t.Parallel()
	b := newSealed(t)
	a, n := keyring(t, "a").KeyIDs()[0], keyring(t, "n").KeyIDs()[0]
	counts := func(letters string, want helpdesk.SealedValues) {
		t.Helper()
		if diff := cmp.Diff(want, must(b.withKeys(letters).CountSealed(b.ctx))(t)); diff != "" {
			t.Error(diff)
		}
	}
	counts("a", helpdesk.SealedValues{a: sealedValues})
	counts("na", helpdesk.SealedValues{a: sealedValues}) // counting changes nothing
	if got := must(b.withKeys("n").Reseal(b.ctx, nil))(t); got != (helpdesk.Resealed{Lost: sealedValues}) {
		t.Errorf("without the old key: %+v", got)
	}
	counts("n", helpdesk.SealedValues{a: sealedValues}) // values that do not open are kept
	if got := must(b.withKeys("na").Reseal(b.ctx, nil))(t); got != (helpdesk.Resealed{Done: sealedValues}) {
		t.Errorf("sealed anew: %+v", got)
	}
	counts("n", helpdesk.SealedValues{n: sealedValues})
	if got := must(b.withKeys("na").Reseal(b.ctx, nil))(t); got != (helpdesk.Resealed{}) {
		t.Errorf("once more: %+v", got)
	}
	// All that was sealed opens in its place without the old key.
	if got := must(b.withKeys("xn").Reseal(b.ctx, nil))(t); got != (helpdesk.Resealed{Done: sealedValues}) {
		t.Errorf("the old key is still needed: %+v", got)
	}
}

// A run that is cut at any value leaves all of them whole, and the next one does the rest.
func TestResealGoesOn(t *testing.T) {
	t.Parallel()
	b := newSealed(t)
	svc, done := b.withKeys("na"), 0
	for range sealedValues {
		ctx, cancel := context.WithCancel(b.ctx)
		got, err := svc.Reseal(ctx, cancel)
		done += got.Done
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		cancel()
	}
	if done != sealedValues {
		t.Errorf("%d values are sealed anew", done)
	}
	if got := must(b.withKeys("xn").Reseal(b.ctx, nil))(t); got != (helpdesk.Resealed{Done: sealedValues}) {
		t.Errorf("all together: %+v", got)
	}
}

// A password that is changed while it is sealed anew is not lost.
func TestResealDuringChanges(t *testing.T) {
	t.Parallel()
	b := newSealed(t)
	var wait sync.WaitGroup
	wait.Go(func() {
		for i := range 30 {
			if _, err := b.withKeys([]string{"na", "an"}[i%2]).Reseal(b.ctx, nil); err != nil {
				t.Error(err)
			}
		}
	})
	in := oauthInbound()
	in.Auth, in.OAuth = ledger.AuthPassword, helpdesk.OAuthInput{}
	mailboxes := must(b.desk.Mailboxes().List(b.ctx, storage.PageRequest{Limit: 10}))(t).Items
	for i := range 30 {
		in.Password = storage.Some(fmt.Sprint("password ", i))
		m := must(b.desk.Mailboxes().Update(b.ctx, mailboxes[1].ID, helpdesk.MailboxInput{Inbound: storage.Some(in)}))(t)
		sources := must(b.withKeys("na").Intake().Sources(b.ctx))(t)
		if got := sources[0]; got.MailboxID != m.ID || got.Password != fmt.Sprint("password ", i) {
			t.Fatalf("after change %d: %+v", i, got)
		}
	}
	wait.Wait()
}

type plainSealer struct{ storage.Sealer }

func TestResealNeedsKeyIDs(t *testing.T) {
	t.Parallel()
	b := newBundle(t, func(c *helpdesk.Config) { c.Sealer = plainSealer{c.Sealer} })
	if _, err := b.svc.Reseal(b.ctx, nil); !errors.Is(err, helpdesk.ErrInvalid) {
		t.Error(err)
	}
}
