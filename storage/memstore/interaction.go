package memstore

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
)

// maxRefs is the most mails that Messages returns.
const maxRefs = 100

func (db *data) interaction(s helpdesk.Scope, id int64) (*helpdesk.Interaction, error) {
	i, err := db.interactions.get(s.AccountID, id)
	if err != nil || !db.within(s, i) {
		return nil, db.interactions.missing(id)
	}
	return i, nil
}

func (db *data) within(s helpdesk.Scope, i *helpdesk.Interaction) bool {
	_, err := db.conversation(s, i.ConversationID)
	return err == nil
}

var interactions = noun[helpdesk.Scope, helpdesk.Interaction, helpdesk.InteractionFilter]{
	Noun: nouns.Interactions, of: func(db *data) *table[helpdesk.Interaction] { return &db.interactions },
	sees: func(db *data, s helpdesk.Scope, i *helpdesk.Interaction) bool { return db.within(s, i) },
	match: func(_ *data, _ helpdesk.Scope, f helpdesk.InteractionFilter, i *helpdesk.Interaction) bool {
		return f.Admits(i)
	},
	brief: func(f helpdesk.InteractionFilter, i *helpdesk.Interaction) {
		if f.Brief {
			i.Body = ""
		}
	},
	key: func(_ helpdesk.InteractionFilter, i *helpdesk.Interaction) int64 { return i.SortKey() },
	refers: func(db *data, s helpdesk.Scope, i *helpdesk.Interaction) error {
		if _, err := db.conversation(s, i.ConversationID); err != nil {
			return err
		}
		return db.customerRefs(s.AccountID, i.CustomerID, i.CustomerEmailID)
	},
	remove: func(db *data, s helpdesk.Scope, id int64) error {
		db.removeInteraction(s.AccountID, id)
		return nil
	},
}

// Interactions implements [helpdesk.Reader].
func (r reader) Interactions() storage.RowReader[helpdesk.Interaction, helpdesk.InteractionFilter] {
	return rowsOf(r.src, r.scope.AccountID, r.scope, &interactions)
}

// Interactions implements [helpdesk.Rows].
func (t tx) Interactions() storage.Rows[helpdesk.Interaction, helpdesk.InteractionFilter] {
	return storedOf(t.src, t.scope.AccountID, t.scope, &interactions)
}

// ordered lists interactions in the order of conversations.
func (db *data) ordered(account int64, seek storage.Seek, keep func(i *helpdesk.Interaction) bool) []helpdesk.Interaction {
	order := func(i *helpdesk.Interaction) storage.Position { return storage.Position{Key: i.SortKey(), ID: i.ID} }
	var found []row
	for id, i := range db.interactions.all(account) {
		if keep(i) && beyond(order(i), seek) {
			found = append(found, row{id, i})
		}
	}
	return sorted(found, seek, order)
}

func (r reader) LastArrived(ctx context.Context, conversationID int64) (int64, error) {
	return query(ctx, r.src, func(db *data) (int64, error) {
		last := int64(0)
		for id, i := range db.interactions.all(r.scope.AccountID) { // in id order
			if i.ConversationID == conversationID && db.within(r.scope, i) {
				last = id
			}
		}
		return last, nil
	})
}

func (r reader) Messages(ctx context.Context, mailboxID int64, messageIDs []string) ([]helpdesk.MessageRef, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.MessageRef, error) {
		relayed := map[int64]string{} // by interaction
		for _, d := range db.deliveries.all(r.scope.AccountID) {
			if relayed[d.InteractionID] == "" && slices.Contains(messageIDs, d.MessageID) {
				relayed[d.InteractionID] = d.MessageID
			}
		}
		found := refs(db.interactions.list(r.scope.AccountID, storage.Seek{Desc: true, Limit: maxRefs}, func(i *helpdesk.Interaction) bool {
			if i.MessageID == "" || !slices.Contains(messageIDs, i.MessageID) && relayed[i.ID] == "" {
				return false
			}
			c, err := db.conversation(r.scope, i.ConversationID)
			return err == nil && (db.receives(r.scope.AccountID, c, mailboxID) || db.came(r.scope.AccountID, i.ID, mailboxID))
		}))
		for n, ref := range found {
			if !slices.Contains(messageIDs, ref.MessageID) {
				found[n].MessageID = relayed[ref.InteractionID]
			}
		}
		return found, nil
	})
}

func (r reader) Thread(ctx context.Context, conversationID int64, n int) ([]helpdesk.MessageRef, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.MessageRef, error) {
		last := refs(db.ordered(r.scope.AccountID, storage.Seek{Desc: true, Limit: n}, func(i *helpdesk.Interaction) bool {
			return i.ConversationID == conversationID && db.within(r.scope, i) &&
				i.MessageID != "" && i.Status != helpdesk.StatusDraft && !i.IsForward
		}))
		slices.Reverse(last)
		return last, nil
	})
}

func refs(interactions []helpdesk.Interaction) []helpdesk.MessageRef {
	out := make([]helpdesk.MessageRef, len(interactions))
	for n, i := range interactions {
		out[n] = helpdesk.MessageRef{MessageID: i.MessageID, InteractionID: i.ID, ConversationID: i.ConversationID, Type: i.Type, IsForward: i.IsForward}
	}
	return out
}

func (db *data) removeInteraction(account, id int64) {
	db.attachments.removeIf(account, func(a *helpdesk.Attachment) bool { return a.InteractionID == id })
	db.deliveries.removeIf(account, func(d *sending.Delivery) bool { return d.InteractionID == id })
	db.moves.removeIf(account, func(m *helpdesk.Move) bool { return m.InteractionID == id })
	db.bury(account, func(m *ledger.Mail) bool { return m.InteractionID == id })
	db.interactions.set(account, id, nil)
}

var deliveries = noun[helpdesk.Scope, sending.Delivery, sending.DeliveryFilter]{
	Noun: nouns.Deliveries, of: func(db *data) *table[sending.Delivery] { return &db.deliveries },
	sees: func(db *data, s helpdesk.Scope, d *sending.Delivery) bool {
		_, err := db.interaction(s, d.InteractionID)
		return err == nil
	},
	match: func(_ *data, _ helpdesk.Scope, f sending.DeliveryFilter, d *sending.Delivery) bool {
		return slices.Contains(f.InteractionIDs, d.InteractionID)
	},
	refers: func(db *data, s helpdesk.Scope, d *sending.Delivery) error {
		_, err := db.interaction(s, d.InteractionID)
		return err
	},
}

// Deliveries implements [helpdesk.Reader].
func (r reader) Deliveries() storage.RowReader[sending.Delivery, sending.DeliveryFilter] {
	return rowsOf(r.src, r.scope.AccountID, r.scope, &deliveries)
}

// Deliveries implements [helpdesk.Rows].
func (t tx) Deliveries() storage.Rows[sending.Delivery, sending.DeliveryFilter] {
	return storedOf(t.src, t.scope.AccountID, t.scope, &deliveries)
}

func (t tx) DeleteDeliveries(ctx context.Context, interactionID int64) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.interaction(t.scope, interactionID); err != nil {
			return err
		}
		db.deliveries.removeIf(t.scope.AccountID, func(d *sending.Delivery) bool { return d.InteractionID == interactionID })
		return nil
	})
}
