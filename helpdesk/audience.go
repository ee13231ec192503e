package helpdesk

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
)

// Audience returns who may see an interaction besides members, as address keys (see [mailaddr.Key]). A customer sees what
// they wrote and what was mailed to them. It is empty for notes, drafts, forwards, replies whose sending has not begun, and
// unknown types.
func (i Interaction) Audience() []string {
	if i.Status != StatusPosted || i.IsForward {
		return nil
	}
	var addresses []string
	switch {
	case i.Type == TypeCustomer:
		addresses = slices.Concat([]string{i.CustomerEmail}, i.To, i.Cc)
	case i.Type == TypeUser && !i.SendStartedAt.IsZero():
		addresses = slices.Concat(i.To, i.Cc, i.Bcc)
	}
	var keys []string
	for _, a := range addresses {
		if key := mailaddr.Key(a); key != "" && !strings.Contains(key, "\n") && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// meets reports whether the audience contains any of the keys.
func (i Interaction) meets(keys []string) bool {
	return slices.ContainsFunc(i.Audience(), func(k string) bool { return slices.Contains(keys, k) })
}

// markSeen marks user interactions as seen by a conversation's customer, the first time only, and returns those that were
// unseen before.
func markSeen(ctx context.Context, tx Tx, c Conversation, ids []int64, at time.Time) ([]int64, error) {
	tx = actAs(tx, subscription.Actor{Type: subscription.ActorCustomer, ID: c.CustomerID})
	first, err := tx.MarkSeen(ctx, ids, at)
	if err != nil || len(first) == 0 {
		return nil, err
	}
	events := make([]storage.Event, len(first))
	for n, id := range first {
		events[n] = storage.Event{Type: "interaction.seen", Subject: id, MailboxID: c.MailboxID, ConversationID: c.ID, Data: eventData(id), Time: at}
	}
	return first, tx.Emit(ctx, events...)
}
