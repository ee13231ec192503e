package desk_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
)

// The form of a member whose mailboxes were all deleted says that they see none, and saving it as it is changes nothing.
// Mailboxes beyond the first page of them can be ticked, and stay so.
func TestMemberWithoutMailboxes(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	ctx := t.Context()
	user, err := b.service.Operator().CreateUser(ctx, identity.UserInput{Email: "limited@example.org", Name: "Lim"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := b.service.Operator().AddMember(ctx, b.desk.AccountID(), user.ID, identity.RoleAgent)
	if err != nil {
		t.Fatal(err)
	}
	var last helpdesk.Mailbox
	for n := range 105 {
		if last, err = b.desk.Mailboxes().Create(ctx, helpdesk.MailboxInput{Name: storage.Some(fmt.Sprint("Box ", n)), Email: storage.Some(fmt.Sprintf("box%d@example.org", n))}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.desk.Members().Update(ctx, m.ID, identity.MembershipUpdate{RoleIDs: m.RoleIDs, MailboxIDs: storage.Some([]int64{last.ID})}); err != nil {
		t.Fatal(err)
	}
	at := fmt.Sprintf("/settings/members/%d", m.ID)
	const none = "Their mailboxes were deleted"
	if page := b.get(at).body; !strings.Contains(page, fmt.Sprintf(`name="mailbox" value="%d" checked`, last.ID)) || strings.Contains(page, none) {
		t.Errorf("the last of the mailboxes is not ticked")
	}
	if err := b.desk.Mailboxes().Delete(ctx, last.ID, false); err != nil {
		t.Fatal(err)
	}
	if page := b.get(at).body; !strings.Contains(page, none) {
		t.Error("the page does not say that the member sees no mailbox")
	}
	role := url.Values{"role": {fmt.Sprint(m.RoleIDs[0])}}
	b.goOn(b.post(at, role))
	if got, err := b.desk.Members().Get(ctx, m.ID); err != nil || !slices.Equal(got.MailboxIDs, []int64{last.ID}) {
		t.Errorf("the member is limited to %v now: %v", got.MailboxIDs, err)
	}
}
