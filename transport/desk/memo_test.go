package desk_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport/desk"
)

// Cached data is shown in its current state, whoever changed it.
func TestMemo(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	shows := func(text string, want bool) {
		t.Helper()
		for range 2 { // and when it is kept
			if got := strings.Contains(b.get("/inbox/all").body, text); got != want {
				t.Errorf("the inbox shows %q: %t", text, got)
			}
		}
	}
	c := b.asks("Ada Lovelace <ada@example.com>", "The door", "It is stuck.")
	shows("Ada Lovelace", true)
	_, err := b.desk.Customers().Update(ctx, c.CustomerID, helpdesk.CustomerInput{FirstName: storage.Some("Augusta"), LastName: storage.Some("King")})
	must(err)
	shows("Augusta King", true)
	b.asks("Grace Hopper <grace@example.com>", "The moth", "It is dead.")
	shows("Grace Hopper", true)
	tag, err := b.desk.Tags().Create(ctx, helpdesk.TagInput{Name: "plumbing"})
	must(err)
	shows("plumbing", true)
	_, err = b.desk.Tags().Update(ctx, tag.ID, helpdesk.TagInput{Name: "heating"})
	must(err)
	shows("plumbing", false)
	team, err := b.desk.Teams().Create(ctx, helpdesk.TeamInput{Name: "Night shift", MemberIDs: storage.Some([]int64{b.owner.ID})})
	must(err)
	shows("Night shift", true)
	must(b.desk.Teams().Delete(ctx, team.ID))
	shows("Night shift", false)
	_, err = b.desk.Views().Create(ctx, helpdesk.ViewInput{Name: "Old ones"})
	must(err)
	shows("Old ones", true)
	_, err = b.desk.Mailboxes().Create(ctx, helpdesk.MailboxInput{Name: storage.Some("Returns"), Email: storage.Some("returns@example.org")})
	must(err)
	shows("Returns", true)
	other, err := b.service.Operator().CreateUser(ctx, identity.UserInput{Name: "Jonas Weber", Email: "jonas@example.org"})
	must(err)
	shows("Jonas Weber", false)
	_, err = b.service.Operator().AddMember(ctx, b.desk.AccountID(), other.ID, "admin")
	must(err)
	shows("Jonas Weber", true)
	b.post("/settings/profile", url.Values{"name": {"Maja Berg"}, "email": {"maja@example.org"}})
	shows("Maja Berg", true)
}

// Cached data is not shown to a member who may no longer see it.
func TestMemoScope(t *testing.T) {
	t.Parallel()
	var b *bundle
	var agent identity.User
	b = newBundle(t, func(cfg *desk.Config) {
		cfg.Authenticate = func(*http.Request) (helpdesk.Caller, error) { return b.service.As(agent.ID), nil }
	})
	_, err := b.desk.Mailboxes().Create(t.Context(), helpdesk.MailboxInput{Name: storage.Some("Returns"), Email: storage.Some("returns@example.org")})
	if err != nil {
		t.Fatal(err)
	}
	if agent, err = b.service.Operator().CreateUser(t.Context(), identity.UserInput{Name: "Jonas Weber", Email: "jonas@example.org"}); err != nil {
		t.Fatal(err)
	}
	joined, err := b.service.Operator().AddMember(t.Context(), b.desk.AccountID(), agent.ID, "agent")
	if err != nil {
		t.Fatal(err)
	}
	if got := b.get("/inbox/all").body; !strings.Contains(got, "Returns") {
		t.Error("the mailbox is not shown")
	}
	if _, err := b.desk.Members().Update(t.Context(), joined.ID, identity.MembershipUpdate{RoleIDs: joined.RoleIDs, MailboxIDs: storage.Some([]int64{b.box.ID})}); err != nil {
		t.Fatal(err)
	}
	if got := b.get("/inbox/all").body; strings.Contains(got, "Returns") {
		t.Error("the mailbox is shown to who does not see it")
	}
}
