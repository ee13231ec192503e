package memstore

import (
	"context"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

func (r reader) Domain(ctx context.Context, id int64) (helpdesk.Domain, error) {
	return query(ctx, r.src, func(db *data) (helpdesk.Domain, error) { return copyOf(db.domains.get(r.scope.AccountID, id)) })
}

func (r reader) Domains(ctx context.Context, seek storage.Seek) ([]helpdesk.Domain, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.Domain, error) {
		return db.domains.list(r.scope.AccountID, seek, every), nil
	})
}

func (t tx) DomainForUpdate(ctx context.Context, id int64) (helpdesk.Domain, error) {
	return t.Domain(ctx, id)
}

func (t tx) InsertDomain(ctx context.Context, d *helpdesk.Domain) error {
	return t.write(ctx, func(db *data) error {
		if err := t.uniqueDomain(db, d, 0); err != nil {
			return err
		}
		row := *d
		row.AccountID = t.scope.AccountID
		if err := db.domains.insert(t.scope.AccountID, &row, &row.ID); err != nil {
			return err
		}
		d.ID, d.AccountID = row.ID, row.AccountID
		return nil
	})
}

func (t tx) UpdateDomain(ctx context.Context, d *helpdesk.Domain) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.domains.get(t.scope.AccountID, d.ID); err != nil {
			return err
		}
		if err := t.uniqueDomain(db, d, d.ID); err != nil {
			return err
		}
		row := *d
		row.AccountID = t.scope.AccountID
		return db.domains.update(t.scope.AccountID, d.ID, &row)
	})
}

func (t tx) uniqueDomain(db *data, d *helpdesk.Domain, id int64) error {
	if db.domains.conflict(t.scope.AccountID, id, func(o *helpdesk.Domain) bool { return o.Name == d.Name }) {
		return unique(helpdesk.UniqueDomain, "There is such a domain already.")
	}
	return nil
}

func (t tx) DeleteDomain(ctx context.Context, id int64) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.domains.get(t.scope.AccountID, id); err != nil {
			return err
		}
		db.domains.set(t.scope.AccountID, id, nil)
		return nil
	})
}
