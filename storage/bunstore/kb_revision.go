package bunstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

// revisionRow has no primary key of its own, so that updates write exactly the columns they list.
type revisionRow struct {
	bun.BaseModel `bun:"table:hw_article_revisions,alias:hw_article_revisions"`
	AccountID     int64
	SiteID        int64
	ArticleID     int64
	Number        int64
	Status        string
	CollectionID  int64
	CategoryIDs   items[int64] `bun:"category_ids"`
	SortOrder     int64
	SourceLocale  string
	Translations  translations
	CreatedAt     int64
	UpdatedAt     int64
	Views         int64 `bun:",scanonly"`
	Positive      int64 `bun:",scanonly"`
	Negative      int64 `bun:",scanonly"`
}

func (r *revisionRow) revision() kb.Revision {
	return kb.Revision{
		ArticleID: r.ArticleID, Number: r.Number, Status: kb.Status(r.Status), CollectionID: r.CollectionID, CategoryIDs: r.CategoryIDs,
		SortOrder: kb.SortOrder(r.SortOrder), Text: r.Translations.text(r.SourceLocale), Views: r.Views, Positive: r.Positive, Negative: r.Negative,
		CreatedAt: timeOf(r.CreatedAt), UpdatedAt: timeOf(r.UpdatedAt),
	}
}

func revisionRowOf(s kb.Scope, r *kb.Revision) revisionRow {
	return revisionRow{
		AccountID: s.AccountID, SiteID: s.SiteID, ArticleID: r.ArticleID, Number: r.Number, Status: string(r.Status), CollectionID: r.CollectionID,
		CategoryIDs: r.CategoryIDs, SortOrder: int64(r.SortOrder), SourceLocale: r.SourceLocale, Translations: translationsOf(r.Text),
		CreatedAt: micros(r.CreatedAt), UpdatedAt: micros(r.UpdatedAt),
	}
}

var countedRevisions = counted("views", "positive", "negative")

// Revision implements [kb.ArticleReader].
func (r kbReader) Revision(ctx context.Context, articleID, number int64) (kb.Revision, error) {
	var row revisionRow
	q := countedRevisions(r.selects(&row)).ApplyQueryBuilder(r.site).Where("article_id = ?", articleID).Where("number = ?", number)
	if err := one(ctx, q, "revision", number); err != nil {
		return kb.Revision{}, err
	}
	return row.revision(), nil
}

// Revisions implements [kb.ArticleReader].
func (r kbReader) Revisions(ctx context.Context, articleID int64, seek storage.Seek) ([]kb.Revision, error) {
	if seek.Limit <= 0 {
		return nil, r.state()
	}
	var rows []revisionRow
	order, beyond := "number ASC", "number > ?"
	if seek.Desc {
		order, beyond = "number DESC", "number < ?"
	}
	q := countedRevisions(r.selects(&rows)).ApplyQueryBuilder(r.site).Where("article_id = ?", articleID).OrderExpr(order).Limit(int64(seek.Limit))
	if seek.From != nil {
		q.Where(beyond, seek.From.ID)
	}
	err := q.Scan(ctx)
	return mapped(rows, (*revisionRow).revision), failure(ctx, err, "revision", 0)
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
	q := r.selects((*articleRow)(nil)).ColumnExpr(articleColumns).ColumnExpr(revisionColumns, texts(false)).
		Join("JOIN hw_article_revisions AS r ON r.account_id = hw_articles.account_id AND r.article_id = hw_articles.id").
		ApplyQueryBuilder(r.site).Where("(hw_articles.id, r.number) IN (VALUES ?)", bun.Safe(strings.Join(pairs, ", ")))
	err := q.Scan(ctx, &rows)
	return mapped(rows, (*liveRow).both), failure(ctx, err, "revision", 0)
}

// InsertRevision implements [kb.RevisionWriter].
func (w kbWriter) InsertRevision(ctx context.Context, r *kb.Revision) error {
	row := revisionRowOf(w.scope, r)
	_, err := w.inserts(&row).Exec(ctx)
	return failure(ctx, err, "revision", r.Number)
}

// UpdateRevision implements [kb.RevisionWriter].
func (w kbWriter) UpdateRevision(ctx context.Context, r *kb.Revision) error {
	row := revisionRowOf(w.scope, r)
	res, err := w.updates(&row).ExcludeColumn("account_id", "article_id", "number").ApplyQueryBuilder(w.site).Where("article_id = ?", r.ArticleID).Where("number = ?", r.Number).Exec(ctx)
	return changed(ctx, res, err, "revision", r.Number)
}

// DeleteRevision implements [kb.RevisionWriter].
func (w kbWriter) DeleteRevision(ctx context.Context, articleID, number int64) error {
	res, err := w.deletes((*revisionRow)(nil)).ApplyQueryBuilder(w.site).Where("article_id = ?", articleID).Where("number = ?", number).Exec(ctx)
	return removed(ctx, res, err, "revision", number)
}
