package helpdesk_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func TestBulkUpdate(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	x, y := b.begin("x", helpdesk.StatusPosted, storage.Opt[int64]{}), b.begin("y", helpdesk.StatusPending, storage.Some(b.owner.ID))
	tag := b.tag("t")
	agent := b.member(identity.RoleAgent)
	other := must(b.desk.Mailboxes().Create(b.ctx, helpdesk.MailboxInput{Name: storage.Some("Sales")}))(t)
	got := must(agent.Conversations().UpdateAll(b.ctx, []int64{y, x, y}, helpdesk.BulkUpdate{
		Status: storage.Some(helpdesk.StatusClosed), UserID: storage.Some(agent.UserID()), MailboxID: storage.Some(other.ID),
		TagIDs: storage.Some([]int64{tag}),
	}))(t)
	for i, id := range []int64{x, y} {
		c := b.conversation(id)
		if c.Status != helpdesk.StatusClosed || c.UserID != agent.UserID() || c.MailboxID != other.ID || b.tagsOf(id) != "t" {
			t.Errorf("%+v with tags %q", c, b.tagsOf(id))
		}
		if diff := cmp.Diff(c, got[i]); diff != "" {
			t.Error(diff)
		}
	}
	must(agent.Conversations().UpdateAll(b.ctx, []int64{x}, helpdesk.BulkUpdate{UserID: storage.Null[int64](), TagIDs: storage.Null[[]int64]()}))(t)
	if c := b.conversation(x); c.UserID != 0 || c.Status != helpdesk.StatusClosed || b.tagsOf(x) != "" || b.tagsOf(y) != "t" {
		t.Errorf("%+v with tags %q", c, b.tagsOf(x))
	}
}

// All or none: one invalid id prevents all changes.
func TestBulkUpdateIsAllOrNone(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	x := b.begin("x", helpdesk.StatusPosted, storage.Opt[int64]{})
	before := b.conversation(x)
	closed := storage.Some(helpdesk.StatusClosed)
	_, err := b.desk.Conversations().UpdateAll(b.ctx, []int64{x, 999}, helpdesk.BulkUpdate{Status: closed})
	want := fault.Fields{"conversations[1]": {"there is no conversation 999"}}
	if diff := cmp.Diff(want, fieldsOf(err)); diff != "" || !errors.Is(err, helpdesk.ErrNotFound) {
		t.Error(err, diff)
	}
	for name, in := range map[string]helpdesk.BulkUpdate{
		"user": {Status: closed, UserID: storage.Some[int64](999)}, "mailbox": {Status: closed, MailboxID: storage.Some[int64](999)},
		"tag": {Status: closed, TagIDs: storage.Some([]int64{999})},
	} {
		if _, err := b.desk.Conversations().UpdateAll(b.ctx, []int64{x}, in); !errors.Is(err, helpdesk.ErrNotFound) {
			t.Errorf("an absent %s: %v", name, err)
		}
	}
	if diff := cmp.Diff(before, b.conversation(x)); diff != "" {
		t.Error(diff)
	}
	_, err = b.desk.Conversations().UpdateAll(b.ctx, make([]int64, 101), helpdesk.BulkUpdate{
		Status: storage.Some(helpdesk.Status("open")), MailboxID: storage.Null[int64](), TagIDs: storage.Some(make([]int64, 101)),
	})
	want = fault.Fields{
		"conversations": {"has more than 100 ids"}, "status": {"must be posted, draft, pending or closed"},
		"mailbox_id": {"must not be empty"}, "tags": {"has more than 100 ids"},
	}
	if diff := cmp.Diff(want, fieldsOf(err)); diff != "" {
		t.Error(diff)
	}
}
