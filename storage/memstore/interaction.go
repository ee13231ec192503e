package memstore

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// maxRefs is how many mails Messages finds.
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

func (r reader) Interaction(ctx context.Context, id int64) (helpdesk.Interaction, error) {
	return query(ctx, r.src, func(db *data) (helpdesk.Interaction, error) { return copyOf(db.interaction(r.scope, id)) })
}

func (r reader) InteractionsByID(ctx context.Context, ids []int64) ([]helpdesk.Interaction, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.Interaction, error) {
		return db.interactions.where(r.scope.AccountID, func(i *helpdesk.Interaction) bool {
			return slices.Contains(ids, i.ID) && db.within(r.scope, i)
		}), nil
	})
}

func (r reader) Interactions(ctx context.Context, conversationID int64, seek storage.Seek) ([]helpdesk.Interaction, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.Interaction, error) {
		return db.ordered(r.scope.AccountID, seek, func(i *helpdesk.Interaction) bool {
			return i.ConversationID == conversationID && db.within(r.scope, i)
		}), nil
	})
}

// ordered lists interactions as conversations order them.
func (db *data) ordered(account int64, seek storage.Seek, keep func(i *helpdesk.Interaction) bool) []helpdesk.Interaction {
	order := func(i *helpdesk.Interaction) storage.Position { return storage.Position{Key: i.SortKey(), ID: i.ID} }
	var found []row[helpdesk.Interaction]
	for id, i := range db.interactions.all(account) {
		if keep(i) && beyond(order(i), seek) {
			found = append(found, row[helpdesk.Interaction]{id, i})
		}
	}
	slices.SortFunc(found, func(a, b row[helpdesk.Interaction]) int {
		if seek.Desc {
			a, b = b, a
		}
		return comparePositions(order(a.value), order(b.value))
	})
	return copies(found[:min(max(seek.Limit, 0), len(found))])
}

func (r reader) LastArrived(ctx context.Context, conversationID int64) (int64, error) {
	return query(ctx, r.src, func(db *data) (int64, error) {
		last := int64(0)
		for id, i := range db.interactions.all(r.scope.AccountID) { // in the order of their ids
			if i.ConversationID == conversationID && db.within(r.scope, i) {
				last = id
			}
		}
		return last, nil
	})
}

func (r reader) Messages(ctx context.Context, mailboxID int64, messageIDs []string) ([]helpdesk.MessageRef, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.MessageRef, error) {
		return refs(db.interactions.list(r.scope.AccountID, storage.Seek{Desc: true, Limit: maxRefs}, func(i *helpdesk.Interaction) bool {
			if i.MessageID == "" || !slices.Contains(messageIDs, i.MessageID) {
				return false
			}
			c, err := db.conversation(r.scope, i.ConversationID)
			return err == nil && (db.receives(r.scope.AccountID, c, mailboxID) || db.came(r.scope.AccountID, i.ID, mailboxID))
		})), nil
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

func (r reader) Deliveries(ctx context.Context, interactionIDs []int64) ([]helpdesk.Delivery, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.Delivery, error) {
		return db.deliveries.where(r.scope.AccountID, func(d *helpdesk.Delivery) bool {
			if !slices.Contains(interactionIDs, d.InteractionID) {
				return false
			}
			_, err := db.interaction(r.scope, d.InteractionID)
			return err == nil
		}), nil
	})
}

func (t tx) InteractionForUpdate(ctx context.Context, id int64) (helpdesk.Interaction, error) {
	return t.Interaction(ctx, id)
}

func (t tx) interactionRefs(db *data, i *helpdesk.Interaction) error {
	if _, err := db.conversation(t.scope, i.ConversationID); err != nil {
		return err
	}
	return db.customerRefs(t.scope.AccountID, i.CustomerID, i.CustomerEmailID)
}

func (t tx) InsertInteraction(ctx context.Context, i *helpdesk.Interaction) error {
	return t.write(ctx, func(db *data) error {
		if err := t.interactionRefs(db, i); err != nil {
			return err
		}
		return db.interactions.insert(t.scope.AccountID, i, &i.ID)
	})
}

func (t tx) UpdateInteraction(ctx context.Context, i *helpdesk.Interaction) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.interaction(t.scope, i.ID); err != nil {
			return err
		}
		if err := t.interactionRefs(db, i); err != nil {
			return err
		}
		return db.interactions.update(t.scope.AccountID, i.ID, i)
	})
}

func (t tx) DeleteInteraction(ctx context.Context, id int64) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.interaction(t.scope, id); err != nil {
			return err
		}
		db.removeInteraction(t.scope.AccountID, id)
		return nil
	})
}

func (db *data) removeInteraction(account, id int64) {
	db.attachments.removeIf(account, func(a *helpdesk.Attachment) bool { return a.InteractionID == id })
	db.deliveries.removeIf(account, func(d *helpdesk.Delivery) bool { return d.InteractionID == id })
	db.moves.removeIf(account, func(m *helpdesk.Move) bool { return m.InteractionID == id })
	db.bury(account, func(m *helpdesk.InboundMail) bool { return m.InteractionID == id })
	db.interactions.set(account, id, nil)
}

func (t tx) InsertDeliveries(ctx context.Context, d []helpdesk.Delivery) error {
	return t.write(ctx, func(db *data) error {
		for n := range d {
			if _, err := db.interaction(t.scope, d[n].InteractionID); err != nil {
				return err
			}
			if err := db.deliveries.insert(t.scope.AccountID, &d[n], &d[n].ID); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t tx) UpdateDeliveries(ctx context.Context, d []helpdesk.Delivery) error {
	return t.write(ctx, func(db *data) error {
		for n := range d {
			old, err := db.deliveries.get(t.scope.AccountID, d[n].ID)
			if err != nil {
				return err
			}
			for _, id := range []int64{old.InteractionID, d[n].InteractionID} {
				if _, err := db.interaction(t.scope, id); err != nil {
					return db.deliveries.missing(d[n].ID)
				}
			}
			if err := db.deliveries.update(t.scope.AccountID, d[n].ID, &d[n]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t tx) DeleteDeliveries(ctx context.Context, interactionID int64) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.interaction(t.scope, interactionID); err != nil {
			return err
		}
		db.deliveries.removeIf(t.scope.AccountID, func(d *helpdesk.Delivery) bool { return d.InteractionID == interactionID })
		return nil
	})
}
