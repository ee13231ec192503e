package bunstore

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

type feedbackRow struct {
	bun.BaseModel `bun:"table:hw_article_feedback,alias:hw_article_feedback"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	SiteID        int64
	ArticleID     int64 `bun:",skipupdate"`
	Revision      int64
	Text          string
	DoneAt        int64
	CreatedAt     int64
}

func (r *feedbackRow) feedback() kb.Feedback {
	return kb.Feedback{
		ID: r.ID, SiteID: r.SiteID, ArticleID: r.ArticleID, Revision: r.Revision, Text: r.Text, DoneAt: timeOf(r.DoneAt), CreatedAt: timeOf(r.CreatedAt),
	}
}

func feedbackRowOf(account int64, f *kb.Feedback) feedbackRow {
	return feedbackRow{
		ID: f.ID, AccountID: account, SiteID: f.SiteID, ArticleID: f.ArticleID, Revision: f.Revision, Text: f.Text, DoneAt: micros(f.DoneAt), CreatedAt: micros(f.CreatedAt),
	}
}

var feedback = table[kbWriter, kb.Feedback, kb.FeedbackFilter, feedbackRow]{
	Noun: kbNouns.Feedback, row: feedbackRowOf, item: (*feedbackRow).feedback, scope: ofSite,
	match: func(_ context.Context, _ kbWriter, q *bun.SelectQuery, f kb.FeedbackFilter) error {
		if f.ArticleID != 0 {
			q.Where("article_id = ?", f.ArticleID)
		}
		switch done, given := f.Done.Get(); {
		case done:
			q.Where("done_at >= 0")
		case given:
			q.Where("done_at < 0") // as in the index's condition
		}
		return nil
	},
	inserted: func(ctx context.Context, w kbWriter, f *kb.Feedback) error {
		return w.countFeedback(ctx, f.ArticleID, 1)
	},
	remove: func(ctx context.Context, w kbWriter, id int64) error {
		var article int64
		if err := w.raw("SELECT article_id FROM hw_article_feedback WHERE account_id = ? AND id = ?", w.scope.AccountID, id).Scan(ctx, &article); err != nil {
			return failure(ctx, err, "feedback", id)
		}
		return w.countFeedback(ctx, article, -1)
	},
}

// Feedback implements [kb.Reader].
func (r kbReader) Feedback() storage.RowReader[kb.Feedback, kb.FeedbackFilter] {
	return rowsOf(r.placed(), &feedback)
}

// Feedback implements [kb.Rows].
func (w kbWriter) Feedback() storage.Rows[kb.Feedback, kb.FeedbackFilter] {
	return storedOf(w, &feedback)
}

// countFeedback also makes sure that the article exists, and locks it until the transaction ends.
func (w kbWriter) countFeedback(ctx context.Context, articleID, n int64) error {
	res, err := w.raw("UPDATE hw_articles SET feedbacks = feedbacks + ? WHERE account_id = ? AND site_id = ? AND id = ?",
		n, w.scope.AccountID, w.scope.SiteID, articleID).Exec(ctx)
	return changed(ctx, res, err, "article", articleID)
}
