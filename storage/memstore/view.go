package memstore

import (
	"context"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

func (r reader) View(ctx context.Context, id int64) (helpdesk.View, error) {
	return query(ctx, r.src, func(db *data) (helpdesk.View, error) { return copyOf(db.views.get(r.scope.AccountID, id)) })
}

func (r reader) Views(ctx context.Context, seek storage.Seek) ([]helpdesk.View, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.View, error) {
		return db.views.list(r.scope.AccountID, seek, every), nil
	})
}

func (t tx) InsertView(ctx context.Context, v *helpdesk.View) error {
	return t.write(ctx, func(db *data) error { return db.views.insert(t.scope.AccountID, v, &v.ID) })
}

func (t tx) UpdateView(ctx context.Context, v *helpdesk.View) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.views.get(t.scope.AccountID, v.ID); err != nil {
			return err
		}
		return db.views.update(t.scope.AccountID, v.ID, v)
	})
}

func (t tx) DeleteView(ctx context.Context, id int64) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.views.get(t.scope.AccountID, id); err != nil {
			return err
		}
		db.views.set(t.scope.AccountID, id, nil)
		return nil
	})
}
