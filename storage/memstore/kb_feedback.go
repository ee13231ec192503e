package memstore

import (
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

var feedback = noun[kb.Scope, kb.Feedback, kb.FeedbackFilter]{
	Noun: kbNouns.Feedback, of: func(db *data) *table[kb.Feedback] { return &db.feedback },
	sees: func(_ *data, s kb.Scope, f *kb.Feedback) bool { return f.SiteID == s.SiteID },
	match: func(_ *data, _ kb.Scope, filter kb.FeedbackFilter, f *kb.Feedback) bool {
		return (filter.ArticleID == 0 || f.ArticleID == filter.ArticleID) && filter.Done.Or(!f.DoneAt.IsZero()) == !f.DoneAt.IsZero()
	},
	refers: func(db *data, s kb.Scope, f *kb.Feedback) error {
		_, err := db.article(s, f.ArticleID)
		return err
	},
	inserted: func(db *data, s kb.Scope, f *kb.Feedback) { db.countFeedback(s, f.ArticleID, 1) },
	remove: func(db *data, s kb.Scope, id int64) error {
		f, err := db.feedback.get(s.AccountID, id)
		if err == nil {
			db.countFeedback(s, f.ArticleID, -1)
		}
		return err
	},
}

// countFeedback updates the feedback count of an article, which must exist.
func (db *data) countFeedback(s kb.Scope, articleID, n int64) {
	if a, err := copyOf(db.article(s, articleID)); err == nil {
		a.Feedbacks += n
		db.articles.set(s.AccountID, a.ID, &a)
	}
}

// Feedback implements [kb.Reader].
func (r kbReader) Feedback() storage.RowReader[kb.Feedback, kb.FeedbackFilter] {
	return kbRowsOf(r, &feedback)
}

// Feedback implements [kb.Rows].
func (t kbTx) Feedback() storage.Rows[kb.Feedback, kb.FeedbackFilter] {
	return kbStoredOf(t, &feedback)
}
