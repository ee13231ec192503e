package bunstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

type feedbackRow struct {
	bun.BaseModel `bun:"table:hw_article_feedback,alias:hw_article_feedback"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	SiteID        int64
	ArticleID     int64
	Revision      int64
	Text          string
	CreatedAt     int64
}

func (r *feedbackRow) feedback() kb.Feedback {
	return kb.Feedback{
		ID: r.ID, SiteID: r.SiteID, ArticleID: r.ArticleID, Revision: r.Revision, Text: r.Text, CreatedAt: timeOf(r.CreatedAt),
	}
}

// Feedback implements [kb.FeedbackReader].
func (r kbReader) Feedback(ctx context.Context, id int64) (kb.Feedback, error) {
	var row feedbackRow
	if err := one(ctx, r.selects(&row).ApplyQueryBuilder(r.site).Where("id = ?", id), "feedback", id); err != nil {
		return kb.Feedback{}, err
	}
	return row.feedback(), nil
}

// Feedbacks implements [kb.FeedbackReader].
func (r kbReader) Feedbacks(ctx context.Context, filter kb.FeedbackFilter, seek storage.Seek) ([]kb.Feedback, error) {
	var rows []feedbackRow
	q := page(r.selects(&rows).ApplyQueryBuilder(r.site), "id", seek)
	if filter.ArticleID != 0 {
		q.Where("article_id = ?", filter.ArticleID)
	}
	err := q.Scan(ctx)
	return mapped(rows, (*feedbackRow).feedback), failure(ctx, err, "feedback", 0)
}

// InsertFeedback implements [kb.ResponseWriter].
func (w kbWriter) InsertFeedback(ctx context.Context, f *kb.Feedback) error {
	row := feedbackRow{
		AccountID: w.scope.AccountID, SiteID: w.scope.SiteID, ArticleID: f.ArticleID, Revision: f.Revision, Text: f.Text, CreatedAt: micros(f.CreatedAt),
	}
	if err := checkText(&row); err != nil {
		return err
	}
	if err := w.countFeedback(ctx, f.ArticleID, 1); err != nil {
		return err
	}
	if _, err := w.inserts(&row).Exec(ctx); err != nil {
		return failure(ctx, err, "feedback", 0)
	}
	f.ID, f.SiteID = row.ID, row.SiteID
	return nil
}

// countFeedback also makes sure that the article is there, and keeps it until the transaction ends.
func (w kbWriter) countFeedback(ctx context.Context, articleID, n int64) error {
	res, err := w.raw("UPDATE hw_articles SET feedbacks = feedbacks + ? WHERE account_id = ? AND site_id = ? AND id = ?",
		n, w.scope.AccountID, w.scope.SiteID, articleID).Exec(ctx)
	return changed(ctx, res, err, "article", articleID)
}

// DeleteFeedback implements [kb.FeedbackWriter].
func (w kbWriter) DeleteFeedback(ctx context.Context, id int64) error {
	f, err := w.Feedback(ctx, id)
	if err != nil {
		return err
	}
	if err := w.countFeedback(ctx, f.ArticleID, -1); err != nil { // locks, so that nobody counts it twice
		return err
	}
	res, err := w.deletes((*feedbackRow)(nil)).ApplyQueryBuilder(w.site).Where("id = ?", id).Exec(ctx)
	return removed(ctx, res, err, "feedback", id)
}

type reactionRow struct {
	bun.BaseModel `bun:"table:hw_article_reactions,alias:hw_article_reactions"`
	AccountID     int64
	ArticleID     int64
	Revision      int64
	Visitor       []byte
	Positive      bool
	CreatedAt     int64
}

// SetReaction implements [kb.ResponseWriter].
func (w kbWriter) SetReaction(ctx context.Context, r kb.VisitorReaction) error {
	// The row of the revision is locked first: one visitor at a time.
	count := func(positive, negative int64) error {
		res, err := w.raw(`UPDATE hw_article_revisions SET positive = positive + ?, negative = negative + ?
			WHERE account_id = ? AND site_id = ? AND article_id = ? AND number = ?`,
			positive, negative, w.scope.AccountID, w.scope.SiteID, r.ArticleID, r.Revision).Exec(ctx)
		return changed(ctx, res, err, "revision", r.Revision)
	}
	if err := count(0, 0); err != nil {
		return err
	}
	own := func(q bun.QueryBuilder) bun.QueryBuilder {
		return q.Where("?TableName.account_id = ? AND ?TableName.article_id = ? AND ?TableName.revision = ? AND ?TableName.visitor = ?",
			w.scope.AccountID, r.ArticleID, r.Revision, r.Visitor)
	}
	var old reactionRow
	switch err := one(ctx, w.selects(&old).ApplyQueryBuilder(own), "reaction", 0); {
	case err == nil && old.Positive == r.Positive:
		return nil
	case err == nil:
		if _, err := w.deletes((*reactionRow)(nil)).ApplyQueryBuilder(own).Exec(ctx); err != nil {
			return failure(ctx, err, "reaction", 0)
		}
		if err := count(sides(old.Positive, -1)); err != nil {
			return err
		}
	case !fault.Is(err, fault.NotFound):
		return err
	}
	row := reactionRow{
		AccountID: w.scope.AccountID, ArticleID: r.ArticleID, Revision: r.Revision,
		Visitor: r.Visitor, Positive: r.Positive, CreatedAt: micros(r.CreatedAt),
	}
	if _, err := w.inserts(&row).Exec(ctx); err != nil {
		return failure(ctx, err, "reaction", 0)
	}
	return count(sides(r.Positive, 1))
}

// sides puts n on the side of a reaction.
func sides(positive bool, n int64) (int64, int64) {
	if positive {
		return n, 0
	}
	return 0, n
}

// RevisionsByKey implements [kb.ArticleReader].
func (r kbReader) RevisionsByKey(ctx context.Context, keys []kb.RevisionKey) ([]kb.ArticleRevision, error) {
	if len(keys) == 0 {
		return nil, r.state()
	}
	pairs := make([]string, len(keys))
	for i, k := range keys {
		pairs[i] = fmt.Sprintf("(%d, %d)", k.ArticleID, k.Number)
	}
	var rows []liveRow
	q := r.selects((*articleRow)(nil)).ColumnExpr("hw_articles.*").ColumnExpr(revisionColumns, r.texts(false)).
		Join("JOIN hw_article_revisions AS r ON r.account_id = hw_articles.account_id AND r.article_id = hw_articles.id").
		ApplyQueryBuilder(r.site).Where("(hw_articles.id, r.number) IN (VALUES ?)", bun.Safe(strings.Join(pairs, ", ")))
	err := q.Scan(ctx, &rows)
	return mapped(rows, (*liveRow).both), failure(ctx, err, "revision", 0)
}
