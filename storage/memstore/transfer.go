package memstore

import (
	"context"
	"maps"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

// take makes a table's rows those of another table. Values are shared: they are never changed.
func (t *table[T]) take(of any) {
	from := of.(*table[T]) //nolint:forcetypeassert // the same table of other data
	t.last, t.rows = from.last, make(map[int64][]row, len(from.rows))
	for account, rows := range from.rows {
		t.rows[account] = slices.Clone(rows)
	}
}

// freeze copies all rows.
func (s *store) freeze(ctx context.Context) (*session, error) {
	db, end, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	copied := newData()
	from := db.tables()
	for n, t := range copied.tables() {
		t.rows.take(from[n].rows)
	}
	return &session{db: copied}, nil
}

// InSnapshot implements [helpdesk.Store] with a copy of all rows.
func (s *store) InSnapshot(ctx context.Context, scope helpdesk.Scope, fn func(ctx context.Context, r helpdesk.Reader) error) error {
	then, err := s.freeze(ctx)
	if err != nil {
		return err
	}
	defer then.close()
	return fn(ctx, reader{then, cloneScope(scope)})
}

// InSnapshot implements [kb.Store] with a copy of all rows.
func (s kbStore) InSnapshot(ctx context.Context, fn func(ctx context.Context, within func(kb.Scope) kb.Reader) error) error {
	then, err := s.store.freeze(ctx)
	if err != nil {
		return err
	}
	defer then.close()
	return fn(ctx, func(scope kb.Scope) kb.Reader { return kbReader{then, scope} })
}

func (r reader) AllInteractions(ctx context.Context, seek storage.Seek) ([]helpdesk.Interaction, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.Interaction, error) {
		return db.interactions.list(r.scope.AccountID, seek, func(i *helpdesk.Interaction) bool { return db.within(r.scope, i) }), nil
	})
}

// inOrder are the conversations of ids that are in the scope, each once.
func (r reader) inOrder(db *data, ids []int64) []int64 {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	return slices.DeleteFunc(ids, func(id int64) bool {
		_, err := db.conversation(r.scope, id)
		return err != nil
	})
}

func (r reader) ParticipantsOf(ctx context.Context, conversationIDs []int64) ([]helpdesk.Participants, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.Participants, error) {
		var all []helpdesk.Participants
		for _, id := range r.inOrder(db, conversationIDs) {
			if keys, err := db.participants.get(r.scope.AccountID, id); err == nil && len(*keys) > 0 {
				all = append(all, helpdesk.Participants{ConversationID: id, Keys: slices.Sorted(slices.Values(*keys))})
			}
		}
		return all, nil
	})
}

func (r reader) ReadMarks(ctx context.Context, conversationIDs []int64) ([]helpdesk.ReadMark, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.ReadMark, error) {
		var all []helpdesk.ReadMark
		for _, id := range r.inOrder(db, conversationIDs) {
			marks := slices.Clone(db.marksOf(r.scope.AccountID, id))
			slices.SortFunc(marks, func(a, b helpdesk.ReadMark) int { return int(a.UserID - b.UserID) })
			all = append(all, marks...)
		}
		return all, nil
	})
}

func (r reader) Redirects(ctx context.Context, intoIDs []int64) ([]helpdesk.Redirect, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.Redirect, error) {
		into := r.inOrder(db, intoIDs)
		var all []helpdesk.Redirect
		for id, to := range db.redirects.all(r.scope.AccountID) {
			if slices.Contains(into, to.into) {
				all = append(all, helpdesk.Redirect{ConversationID: id, MailboxID: to.mailbox, IntoID: to.into})
			}
		}
		return all, nil
	})
}

func (t tx) InsertMoves(ctx context.Context, moves []helpdesk.Move) error {
	return t.write(ctx, func(db *data) error {
		for _, m := range moves {
			if _, err := db.interaction(t.scope, m.InteractionID); err != nil {
				return err
			}
			var id int64
			if err := db.moves.insert(t.scope.AccountID, &m, &id); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t tx) InsertRedirects(ctx context.Context, redirects []helpdesk.Redirect) error {
	return t.write(ctx, func(db *data) error {
		for _, r := range redirects {
			if _, err := db.conversation(t.scope, r.IntoID); err != nil {
				return err
			}
			if _, taken := db.redirects.find(t.scope.AccountID, r.ConversationID); taken {
				return unique("", "There is such a redirect already.")
			}
			db.redirects.set(t.scope.AccountID, r.ConversationID, &redirect{r.IntoID, r.MailboxID})
		}
		return nil
	})
}

func (t kbTx) AddReactions(ctx context.Context, all []kb.Reactions) error {
	if len(all) == 0 {
		return nil
	}
	return t.writeSite(ctx, func(db *data) error {
		for _, n := range all {
			r, err := copyOf(db.revision(t.scope, n.ArticleID, n.Revision))
			if err != nil {
				return err
			}
			r.Positive, r.Negative = r.Positive+n.Positive, r.Negative+n.Negative
			db.revisions.set(t.scope.AccountID, revisionID(r.ArticleID, r.Number), &r)
		}
		return nil
	})
}

// newIDs are the notes of an account: which ids the rows of a noun have here.
type newIDs struct {
	Noun string
	IDs  map[int64]int64
}

func noted(ctx context.Context, src source, account int64, noun string, old []int64) (map[int64]int64, error) {
	return query(ctx, src, func(db *data) (map[int64]int64, error) {
		found := map[int64]int64{}
		for _, n := range db.newIDs.all(account) {
			if n.Noun != noun {
				continue
			}
			for _, id := range old {
				if to, ok := n.IDs[id]; ok {
					found[id] = to
				}
			}
		}
		return found, nil
	})
}

func note(db *data, account int64, noun string, ids map[int64]int64) error {
	for id, n := range db.newIDs.all(account) {
		if n.Noun == noun {
			more := maps.Clone(n.IDs)
			if more == nil {
				more = map[int64]int64{}
			}
			for old, to := range ids {
				if _, twice := more[old]; twice {
					return unique("", "There is such an id already.")
				}
				more[old] = to
			}
			return db.newIDs.update(account, id, &newIDs{noun, more})
		}
	}
	var id int64
	return db.newIDs.insert(account, &newIDs{noun, ids}, &id)
}

func forget(db *data, account int64, n int) (removed int, err error) {
	for id, notes := range maps.Collect(db.newIDs.all(account)) {
		left := maps.Clone(notes.IDs)
		for old := range notes.IDs {
			if removed < n {
				delete(left, old)
				removed++
			}
		}
		if err := db.newIDs.update(account, id, &newIDs{notes.Noun, left}); err != nil {
			return 0, err
		}
	}
	return removed, nil
}

func (t tx) NewIDs(ctx context.Context, noun string, old []int64) (map[int64]int64, error) {
	return noted(ctx, t.src, t.scope.AccountID, noun, old)
}

func (t tx) SaveNewIDs(ctx context.Context, noun string, ids map[int64]int64) error {
	return t.write(ctx, func(db *data) error { return note(db, t.scope.AccountID, noun, ids) })
}

func (t tx) ForgetNewIDs(ctx context.Context, n int) (removed int, err error) {
	err = t.write(ctx, func(db *data) error {
		removed, err = forget(db, t.scope.AccountID, n)
		return err
	})
	return removed, err
}

func (t kbTx) NewIDs(ctx context.Context, noun string, old []int64) (map[int64]int64, error) {
	return noted(ctx, t.src, t.scope.AccountID, noun, old)
}

func (t kbTx) SaveNewIDs(ctx context.Context, noun string, ids map[int64]int64) error {
	return t.write(ctx, func(db *data) error { return note(db, t.scope.AccountID, noun, ids) })
}

func (t kbTx) ForgetNewIDs(ctx context.Context, n int) (removed int, err error) {
	err = t.write(ctx, func(db *data) error {
		removed, err = forget(db, t.scope.AccountID, n)
		return err
	})
	return removed, err
}
