package helpdesk_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
)

// A list gets all data shown next to its conversations at once, as far as the member may see it.
func TestMarks(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	marked, answered := b.pair()
	const absent = int64(1 << 40)
	tag := b.tag("Urgent")
	must(b.desk.Conversations().SetTags(b.ctx, marked, []int64{tag}))(t)
	must(b.desk.Conversations().Present(b.ctx, marked, helpdesk.Replying))(t)
	later := b.later(answered)
	must(b.desk.Conversations().MarkUnread(b.ctx, marked))(t)
	ids := []int64{marked, answered, absent}
	tags := []helpdesk.Tag{must(b.desk.Tags().Get(b.ctx, tag))(t)}
	presence := []helpdesk.Presence{{ConversationID: marked, UserID: b.owner.ID, Doing: helpdesk.Replying, SeenAt: b.clock.Now()}}
	everything := map[int64]helpdesk.Marks{
		marked:   {ConversationID: marked, Unread: 1, Tags: tags, Presence: presence},
		answered: {ConversationID: answered, SendAt: later.SendAt},
	}
	scoped := func(scopes ...identity.Permission) *helpdesk.Desk {
		return must(b.svc.Desk(b.ctx, b.scoped(scopes...), b.account.ID))(t)
	}
	for name, tt := range map[string]struct {
		desk *helpdesk.Desk
		want map[int64]helpdesk.Marks
	}{
		"everything":                        {b.desk, everything},
		"without the right to see messages": {scoped(identity.ConversationsView), map[int64]helpdesk.Marks{marked: everything[marked]}},
		"without the right to list": {scoped(identity.ConversationsUpdate), map[int64]helpdesk.Marks{
			marked: {ConversationID: marked, Unread: 1, Tags: tags},
		}},
	} {
		got := must(tt.desk.Conversations().Marks(b.ctx, ids))(t)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	brief := must(b.desk.Conversations().TagsAndUnread(b.ctx, ids))(t)
	if diff := cmp.Diff(map[int64]helpdesk.Marks{marked: {ConversationID: marked, Unread: 1, Tags: tags}}, brief); diff != "" {
		t.Error(diff)
	}
	if _, err := b.desk.Conversations().Marks(b.ctx, make([]int64, 101)); !errors.Is(err, helpdesk.ErrInvalid) {
		t.Errorf("101 ids: %v", err)
	}
	if _, err := scoped(identity.TagsView).Conversations().Marks(b.ctx, ids); !errors.Is(err, helpdesk.ErrForbidden) {
		t.Errorf("without a right to conversations: %v", err)
	}
	b.clock.Add(helpdesk.PresenceTime + time.Second)
	if got := must(b.desk.Conversations().Marks(b.ctx, ids))(t); len(got[marked].Presence) > 0 {
		t.Errorf("%+v is long gone", got[marked].Presence)
	}
}
