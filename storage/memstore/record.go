package memstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// records implements [storage.Rows] for the rows of a plain noun.
type records struct {
	src     source
	account int64
	t       *storage.Table
}

// ReadRecords implements [storage.RecordReader].
func (r reader) ReadRecords(t *storage.Table) storage.RowReader[storage.Record, []storage.Condition] {
	return records{r.src, r.scope.AccountID, t}
}

// Records implements [storage.RecordWriter].
func (t tx) Records(of *storage.Table) storage.Rows[storage.Record, []storage.Condition] {
	return records{t.src, t.scope.AccountID, of}
}

func (s records) in(db *data) *table[storage.Record] { return db.plain[s.t.Name] }

// FindRecords implements [storage.RecordFinder].
func (d directory) FindRecords(ctx context.Context, t *storage.Table, where []storage.Condition) ([]storage.Record, error) {
	return query(ctx, d.src, func(db *data) ([]storage.Record, error) {
		var found []storage.Record
		for account := range db.plain[t.Name].rows {
			found = append(found, db.plain[t.Name].where(account, func(r *storage.Record) bool { return t.Matches(*r, where) })...)
		}
		slices.SortFunc(found, func(a, b storage.Record) int { return cmp.Compare(a.ID, b.ID) })
		return found, nil
	})
}

// Get implements [storage.RowReader].
func (s records) Get(ctx context.Context, id int64) (storage.Record, error) {
	return query(ctx, s.src, func(db *data) (storage.Record, error) { return copyOf(s.in(db).get(s.account, id)) })
}

// List implements [storage.RowReader].
func (s records) List(ctx context.Context, where []storage.Condition, seek storage.Seek) ([]storage.Record, error) {
	return query(ctx, s.src, func(db *data) ([]storage.Record, error) {
		return s.in(db).list(s.account, seek, func(r *storage.Record) bool { return s.t.Matches(*r, where) }), nil
	})
}

// ByIDs implements [storage.RowReader].
func (s records) ByIDs(ctx context.Context, ids []int64) ([]storage.Record, error) {
	return query(ctx, s.src, func(db *data) ([]storage.Record, error) {
		return s.in(db).where(s.account, func(r *storage.Record) bool { return slices.Contains(ids, r.ID) }), nil
	})
}

// Lock needs no lock: a transaction has the whole store to itself.
func (s records) Lock(ctx context.Context, id int64) (storage.Record, error) { return s.Get(ctx, id) }

// LockAll implements [storage.Rows].
func (s records) LockAll(ctx context.Context, ids []int64) ([]storage.Record, error) {
	return s.ByIDs(ctx, ids)
}

// Insert implements [storage.Rows].
func (s records) Insert(ctx context.Context, rows ...*storage.Record) error {
	return inAccount(ctx, s.src, s.account, func(db *data) error {
		for _, r := range rows {
			row := *r
			row.Account = s.account
			if err := s.check(db, row, 0); err != nil {
				return err
			}
			if err := s.in(db).insert(s.account, &row, &row.ID); err != nil {
				return err
			}
			r.ID, r.Account = row.ID, s.account
		}
		return nil
	})
}

// check refuses a record that must not be stored under an id, 0 for a new one.
func (s records) check(db *data, r storage.Record, id int64) error {
	for i, c := range s.t.Columns {
		if owner, ok := r.Values[i].(int64); ok && c.Owner != "" {
			if err := db.owner(s.account, c.Owner, owner); err != nil {
				return err
			}
		}
	}
	for _, rule := range s.t.Unique {
		broken := func(o *storage.Record) bool { return s.t.Broken(rule, r, *o) }
		for other := range s.in(db).rows {
			if (rule.Everywhere || other == s.account) && s.in(db).conflict(other, id, broken) {
				return unique(rule.Code, "This "+s.t.Noun+" already exists.")
			}
		}
	}
	return nil
}

// owner returns a NotFound fault if the row of a table is missing that a row belongs to.
func (db *data) owner(account int64, table string, id int64) error {
	if of := db.plain[table]; of != nil {
		_, err := of.get(account, id)
		return err
	}
	if table == "hw_conversations" {
		_, err := db.conversations.get(account, id)
		return err
	}
	if id == 0 {
		return fault.Missing("email", 0)
	}
	return db.customerRefs(account, 0, id) // hw_customer_emails
}

// removeOwned deletes the rows of plain nouns that belong to a row of a table.
func (db *data) removeOwned(account int64, table string, id int64) {
	for _, part := range plainTables {
		for i, c := range part.Columns {
			if c.Owner == table {
				db.plain[part.Name].removeIf(account, func(r *storage.Record) bool { return r.Values[i] == id })
			}
		}
	}
}

// Update implements [storage.Rows].
func (s records) Update(ctx context.Context, rows ...*storage.Record) error {
	return inAccount(ctx, s.src, s.account, func(db *data) error {
		for _, r := range rows {
			if _, err := s.in(db).get(s.account, r.ID); err != nil {
				return err
			}
			row := *r
			row.Account = s.account
			if err := s.check(db, row, r.ID); err != nil {
				return err
			}
			if err := s.in(db).update(s.account, r.ID, &row); err != nil {
				return err
			}
		}
		return nil
	})
}

// Delete implements [storage.Rows]. It also deletes what belongs to the row.
func (s records) Delete(ctx context.Context, id int64) error {
	return inAccount(ctx, s.src, s.account, func(db *data) error {
		if _, err := s.in(db).get(s.account, id); err != nil {
			return err
		}
		db.removeOwned(s.account, s.t.Name, id)
		if refuse := refuseRemoval[s.t.Name]; refuse != nil {
			if err := refuse(db, s.account, id); err != nil {
				return err
			}
		}
		if remove := removeParts[s.t.Name]; remove != nil {
			remove(db, s.account, id)
		}
		s.in(db).set(s.account, id, nil)
		return nil
	})
}

// Trim does nothing: there is no other transaction that would have to wait.
func (s records) Trim(ctx context.Context, id int64, _ int) (trimmed bool, err error) {
	_, err = s.Get(ctx, id)
	return false, err
}

// plainTables are the tables of the plain nouns.
var plainTables = helpdesk.Nouns().Tables()

// refuseRemoval return why a row of a plain noun must stay, by the noun's table.
var refuseRemoval = map[string]func(db *data, account, id int64) error{
	"hw_roles": (*data).roleUnused,
}

// removeParts delete what belongs to a row of a plain noun and is not in one itself, by the noun's table.
var removeParts = map[string]func(db *data, account, id int64){
	"hw_companies": (*data).removeCompany,
	"hw_fields":    (*data).removeField,
	"hw_tags":      (*data).removeTag,
	"hw_webhooks":  (*data).removeWebhook,
}
