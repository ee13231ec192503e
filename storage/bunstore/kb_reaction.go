package bunstore

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage/fault"
)

type reactionRow struct {
	bun.BaseModel `bun:"table:hw_article_reactions,alias:hw_article_reactions"`
	AccountID     int64
	ArticleID     int64
	Revision      int64
	Visitor       []byte
	Positive      bool
	CreatedAt     int64
}

// SetReaction implements [kb.ReactionWriter].
func (w kbWriter) SetReaction(ctx context.Context, r kb.VisitorReaction) error {
	// Lock the row of the revision first: one visitor at a time.
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

// sides adds n to the side of a reaction.
func sides(positive bool, n int64) (int64, int64) {
	if positive {
		return n, 0
	}
	return 0, n
}
