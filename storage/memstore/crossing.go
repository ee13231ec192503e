package memstore

import (
	"cmp"
	"context"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

func (r reader) NewestFrom(ctx context.Context, conversationID, notBy int64) (helpdesk.Interaction, error) {
	return query(ctx, r.src, func(db *data) (helpdesk.Interaction, error) {
		said := func(i *helpdesk.Interaction) storage.Position {
			return storage.Position{Key: i.SaidAt().UnixMicro(), ID: i.ID}
		}
		var newest *helpdesk.Interaction
		for _, i := range db.interactions.all(r.scope.AccountID) {
			if i.ConversationID == conversationID && db.within(r.scope, i) && fromOthers(i, notBy) &&
				(newest == nil || comparePositions(said(i), said(newest)) > 0) {
				newest = i
			}
		}
		if newest == nil {
			return helpdesk.Interaction{}, nil
		}
		return copyOf(newest, nil)
	})
}

// fromOthers reports whether an interaction comes from a customer or from another user.
func fromOthers(i *helpdesk.Interaction, user int64) bool {
	return i.Type == helpdesk.TypeCustomer ||
		i.Type == helpdesk.TypeUser && i.Status == helpdesk.StatusPosted && !i.Automatic() && cmp.Or(i.PostedByID, i.UserID) != user
}
