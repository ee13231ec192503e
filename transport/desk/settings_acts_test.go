package desk_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
)

// Buttons of the settings without a form act, report the result, and refuse members without the permission.
func TestSettingsActs(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		// ready creates the object of the button, and returns its address.
		ready func(t *testing.T, b *bundle) string
		says  string
		gone  func(b *bundle) error // the deleted object cannot be found; nil: nothing is deleted
		own   bool                  // it is one's own: others do not find it
	}{
		"check a domain":         {ready: domain("check"), says: "0 of "},
		"delete a domain":        {ready: domain("delete"), says: "Domain deleted", gone: func(b *bundle) error { _, err := b.desk.Domains().Get(b.Context(), 1); return err }},
		"withdraw an invitation": {ready: invitation, says: "Invitation withdrawn", gone: invited},
		"delete a token":         {ready: ownToken, says: "Token deleted", gone: tokened, own: true},
		"test a mailbox":         {ready: func(*testing.T, *bundle) string { return "/mailboxes/1/test" }, says: "This server cannot test connections"},
		"deliver once more":      {ready: delivery, says: "Sending it again"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := office(t)
			path := "/settings" + tt.ready(t, b)
			want := http.StatusForbidden
			if tt.own {
				want = http.StatusNotFound
			}
			if got := b.post(path, nil, "As", "other"); got.status != want {
				t.Errorf("by who may not: %d, want %d", got.status, want)
			}
			if tt.gone != nil && tt.gone(b) != nil {
				t.Error("it is gone all the same")
			}
			if page := b.goOn(b.post(path, nil)); !strings.Contains(page, tt.says) {
				t.Errorf("nothing says %q", tt.says)
			}
			if tt.gone != nil && !errors.Is(tt.gone(b), helpdesk.ErrNotFound) {
				t.Error("it is still there")
			}
			if got := b.post(path, nil); tt.gone != nil && got.status != http.StatusNotFound {
				t.Errorf("once more: %d", got.status)
			}
		})
	}
}

func domain(act string) func(t *testing.T, b *bundle) string {
	return func(t *testing.T, b *bundle) string {
		t.Helper()
		if _, err := b.desk.Domains().Create(t.Context(), "mail.example.org"); err != nil {
			t.Fatal(err)
		}
		return "/domains/1/" + act
	}
}

func invitation(t *testing.T, b *bundle) string {
	t.Helper()
	own, err := b.desk.Membership(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.desk.Members().Invite(t.Context(), identity.InvitationInput{Email: "new@example.org", RoleIDs: own.RoleIDs}); err != nil {
		t.Fatal(err)
	}
	return "/invitations/1/delete"
}

func invited(b *bundle) error {
	_, err := helpdesk.Nouns().Invitations.Reader(b.store.Within(helpdesk.Scope{AccountID: 1})).Get(b.Context(), 1)
	return err
}

func ownToken(t *testing.T, b *bundle) string {
	t.Helper()
	admin, err := b.service.Admin(t.Context(), b.service.As(b.owner.ID))
	if err != nil {
		t.Fatal(err)
	}
	made, _, err := admin.CreateOwnToken(t.Context(), identity.TokenInput{Name: "Script"})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("/tokens/%d/delete", made.ID)
}

func tokened(b *bundle) error {
	admin, err := b.service.Admin(b.Context(), b.service.As(b.owner.ID))
	if err != nil {
		return err
	}
	page, err := admin.Tokens(b.Context(), storage.PageRequest{})
	if err == nil && len(page.Items) == 0 {
		err = helpdesk.ErrNotFound
	}
	return err
}

func delivery(t *testing.T, b *bundle) string {
	t.Helper()
	hook, _, err := b.desk.Webhooks().Create(t.Context(), subscription.WebhookInput{URL: storage.Some("https://hooks.example"), Events: storage.Some([]string{"*"})})
	if err != nil {
		t.Fatal(err)
	}
	d := []subscription.WebhookDelivery{{WebhookID: hook.ID, Seq: 1, Type: "tag.created", State: subscription.WebhookFailed}}
	err = b.store.InTx(t.Context(), helpdesk.Scope{AccountID: 1}, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.WebhookDeliveries().Insert(ctx, storage.Pointers(d)...)
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("/webhooks/%d/again/%d", hook.ID, d[0].ID)
}
