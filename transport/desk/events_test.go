package desk

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// The stream passes on only this member's notifications, and only their ids.
func TestEventsOfNotifications(t *testing.T) {
	t.Parallel()
	v := &visit{Desk: &helpdesk.Desk{}} // of the user 0
	for name, tt := range map[string]struct {
		event storage.Event
		want  change
		hears bool
	}{
		"mine":      {storage.Event{Type: "notification.created", Subject: 4, Data: []byte(`{"id":4,"conversation_id":4,"user_ids":[3,0]}`)}, change{Type: "notification.created", Subject: 4, Conversation: 4}, true},
		"another's": {storage.Event{Type: "notification.created", Subject: 4, Data: []byte(`{"id":4,"conversation_id":4,"user_ids":[3]}`)}, change{}, false},
		"nobody's":  {storage.Event{Type: "notification.created", Data: []byte(`{}`)}, change{}, false},
		"broken":    {storage.Event{Type: "notification.created", Data: []byte(`{`)}, change{}, false},
		"of all":    {storage.Event{Type: "conversation.closed", Subject: 4, ConversationID: 4, Data: []byte(`{"subject":"secret"}`)}, change{Type: "conversation.closed", Subject: 4, Conversation: 4}, true},
		"a mailbox's": {storage.Event{Type: "notification.created", Subject: 2, MailboxID: 2, Data: []byte(`{"id":2,"conversation_id":0,"user_ids":[0]}`)},
			change{Type: "notification.created", Subject: 2, Mailbox: 2}, true},
	} {
		got, hears := v.hears(tt.event)
		if hears != tt.hears {
			t.Errorf("%s: heard: %t", name, hears)
		}
		if diff := cmp.Diff(tt.want, got); hears && diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
