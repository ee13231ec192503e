package bunstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

type articleRow struct {
	bun.BaseModel `bun:"table:hw_articles,alias:hw_articles"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	SiteID        int64
	Live          int64
	Draft         int64
	LastRevision  int64
	Outdated      int64
	Published     bool
	CollectionID  int64
	CategoryIDs   items[int64] `bun:"category_ids"`
	SortOrder     int64
	ChangedAt     int64
	CreatedAt     int64
	UpdatedAt     int64
	Views         int64 `bun:",scanonly"`
	Feedbacks     int64 `bun:",scanonly"`
}

func (r *articleRow) article() kb.Article {
	return kb.Article{
		ID: r.ID, SiteID: r.SiteID, Live: r.Live, Draft: r.Draft, LastRevision: r.LastRevision, Outdated: r.Outdated, Views: r.Views, Feedbacks: r.Feedbacks,
		Published: r.Published, CollectionID: r.CollectionID, CategoryIDs: r.CategoryIDs, SortOrder: kb.SortOrder(r.SortOrder),
		ChangedAt: timeOf(r.ChangedAt), CreatedAt: timeOf(r.CreatedAt), UpdatedAt: timeOf(r.UpdatedAt),
	}
}

func articleRowOf(account int64, a *kb.Article) articleRow {
	return articleRow{
		ID: a.ID, AccountID: account, SiteID: a.SiteID, Live: a.Live, Draft: a.Draft, LastRevision: a.LastRevision, Outdated: a.Outdated,
		Published: a.Published, CollectionID: a.CollectionID, CategoryIDs: a.CategoryIDs, SortOrder: int64(a.SortOrder),
		ChangedAt: micros(a.ChangedAt), CreatedAt: micros(a.CreatedAt), UpdatedAt: micros(a.UpdatedAt),
	}
}

var countedArticles = counted("views", "feedbacks")

var articles = table[kbWriter, kb.Article, kb.ArticleFilter, articleRow]{
	Noun: kbNouns.Articles, row: articleRowOf, item: (*articleRow).article, scope: ofSite, with: countedArticles,
	match: func(_ context.Context, w kbWriter, q *bun.SelectQuery, f kb.ArticleFilter) error {
		return narrowed(q, w.scope, f)
	},
	order: func(kb.ArticleFilter) string { return "sort_order" },
	inserted: func(ctx context.Context, w kbWriter, a *kb.Article) error {
		return w.categorise(ctx, a.ID, a.CategoryIDs)
	},
	replaced: func(ctx context.Context, w kbWriter, old, a *kb.Article) error {
		if slices.Equal(old.CategoryIDs, a.CategoryIDs) {
			return nil
		}
		if _, err := w.deletes((*articleCategoryRow)(nil)).ApplyQueryBuilder(w.site).Where("article_id = ?", a.ID).Exec(ctx); err != nil {
			return failure(ctx, err, "article", a.ID)
		}
		return w.categorise(ctx, a.ID, a.CategoryIDs)
	},
}

// Articles implements [kb.Reader].
func (r kbReader) Articles() storage.RowReader[kb.Article, kb.ArticleFilter] {
	return rowsOf(r.placed(), &articles)
}

// Articles implements [kb.Rows].
func (w kbWriter) Articles() storage.Rows[kb.Article, kb.ArticleFilter] {
	return storedOf(w, &articles)
}

// LockArticles implements [kb.ArticleLocks].
func (w kbWriter) LockArticles(ctx context.Context, ids []int64) ([]kb.Article, error) {
	if len(ids) == 0 {
		return nil, w.state()
	}
	var rows []articleRow
	err := w.forUpdate(countedArticles(w.selects(&rows)).ApplyQueryBuilder(w.site).Where("id IN (?)", bun.List(ids)).Order("id")).Scan(ctx)
	return mapped(rows, (*articleRow).article), failure(ctx, err, "article", 0)
}

// categorise adds an article to categories.
func (w kbWriter) categorise(ctx context.Context, id int64, categories []int64) error {
	if len(categories) == 0 {
		return nil
	}
	rows := make([]articleCategoryRow, len(categories))
	for i, category := range categories {
		rows[i] = articleCategoryRow{AccountID: w.scope.AccountID, SiteID: w.scope.SiteID, ArticleID: id, CategoryID: category}
	}
	_, err := w.inserts(&rows).Exec(ctx)
	return failure(ctx, err, "article", id)
}

type articleCategoryRow struct {
	bun.BaseModel `bun:"table:hw_article_categories,alias:hw_article_categories"`
	AccountID     int64
	SiteID        int64
	ArticleID     int64
	CategoryID    int64
}

// narrowed applies a filter to a query for articles.
func narrowed(q *bun.SelectQuery, s kb.Scope, f kb.ArticleFilter) error {
	if f.CollectionID != 0 {
		q.Where("hw_articles.collection_id = ?", f.CollectionID)
	}
	if f.CategoryID != 0 {
		q.Where("hw_articles.id IN (SELECT article_id FROM hw_article_categories WHERE account_id = ? AND category_id = ?)", s.AccountID, f.CategoryID)
	}
	if f.IDs != nil {
		if len(f.IDs) == 0 {
			return errNone
		}
		q.Where("hw_articles.id IN (?)", bun.List(f.IDs))
	}
	if f.Outdated {
		q.Where("hw_articles.outdated > 0")
	}
	if f.Drafts {
		q.Where("hw_articles.draft > 0")
	}
	if f.Loose {
		q.Where("hw_articles.category_ids = '[]'")
	}
	return nil
}

// liveRow is an article with its live revision.
type liveRow struct {
	articleRow
	RNumber       int64
	RStatus       string
	RCollectionID int64
	RCategoryIDs  items[int64] `bun:"r_category_ids"`
	RSortOrder    int64
	RSourceLocale string
	RTranslations translations
	RCreatedAt    int64
	RUpdatedAt    int64
	RViews        int64
	RPositive     int64
	RNegative     int64
}

const articleColumns = `hw_articles.id, hw_articles.site_id, hw_articles.live, hw_articles.draft, hw_articles.last_revision, hw_articles.outdated,
	hw_articles.published, hw_articles.collection_id, hw_articles.category_ids, hw_articles.sort_order, hw_articles.changed_at,
	hw_articles.created_at, hw_articles.updated_at, hw_articles.views, hw_articles.feedbacks`

const revisionColumns = `r.number AS r_number, r.status AS r_status, r.collection_id AS r_collection_id, r.category_ids AS r_category_ids,
	r.sort_order AS r_sort_order, r.source_locale AS r_source_locale, ? AS r_translations, r.created_at AS r_created_at,
	r.updated_at AS r_updated_at, r.views AS r_views, r.positive AS r_positive, r.negative AS r_negative`

// into are the places of the columns that live selects.
func (r *liveRow) into() []any {
	return []any{
		&r.ID, &r.SiteID, &r.Live, &r.Draft, &r.LastRevision, &r.Outdated, &r.Published, &r.CollectionID, &r.CategoryIDs, &r.SortOrder,
		&r.ChangedAt, &r.CreatedAt, &r.UpdatedAt, &r.Views, &r.Feedbacks,
		&r.RNumber, &r.RStatus, &r.RCollectionID, &r.RCategoryIDs, &r.RSortOrder, &r.RSourceLocale, &r.RTranslations, &r.RCreatedAt, &r.RUpdatedAt,
		&r.RViews, &r.RPositive, &r.RNegative,
	}
}

// read reads what live selects. It is done by hand: pages of help centres read many of these rows.
func (r kbReader) read(ctx context.Context, q *bun.SelectQuery) ([]kb.ArticleRevision, error) {
	var all []kb.ArticleRevision
	err := r.rows(ctx, func(rows *sql.Rows) error {
		var row liveRow
		err := rows.Scan(row.into()...)
		all = append(all, row.both())
		return err
	}, "?", q)
	return all, failure(ctx, err, "article", 0)
}

func (r *liveRow) both() kb.ArticleRevision {
	revision := revisionRow{
		ArticleID: r.ID, Number: r.RNumber, Status: r.RStatus, CollectionID: r.RCollectionID, CategoryIDs: r.RCategoryIDs, SortOrder: r.RSortOrder,
		SourceLocale: r.RSourceLocale, Translations: r.RTranslations, CreatedAt: r.RCreatedAt, UpdatedAt: r.RUpdatedAt,
		Views: r.RViews, Positive: r.RPositive, Negative: r.RNegative,
	}
	return kb.ArticleRevision{Article: r.article(), Revision: revision.revision()}
}

// texts are the translations of a revision; brief leaves out contents. Triggers fill the brief column.
func texts(brief bool) bun.Safe {
	if brief {
		return "r.brief"
	}
	return "r.translations"
}

// live selects articles with their live revisions.
func (r kbReader) live(published, brief bool) *bun.SelectQuery {
	q := r.selects((*articleRow)(nil)).ColumnExpr(articleColumns).ColumnExpr(revisionColumns, texts(brief)).
		Join(`JOIN hw_article_revisions AS r ON r.account_id = hw_articles.account_id AND r.article_id = hw_articles.id
			AND r.number = hw_articles.live`).ApplyQueryBuilder(r.site)
	if published {
		q.Where("hw_articles.published = TRUE")
	}
	return q
}

func (r kbReader) liveArticle(ctx context.Context, id int64, published bool) (kb.ArticleRevision, error) {
	found, err := r.read(ctx, locked(ctx, r.live(published, false).Where("hw_articles.id = ?", id)))
	if err == nil && len(found) == 0 {
		err = fault.Missing("article", id)
	}
	if err != nil {
		return kb.ArticleRevision{}, err
	}
	return found[0], nil
}

func (r kbReader) liveArticles(ctx context.Context, f kb.ArticleFilter, published bool, seek storage.Seek) ([]kb.ArticleRevision, error) {
	q := r.live(published, f.Brief)
	switch err := narrowed(q, r.scope, f); {
	case errors.Is(err, errNone):
		return nil, r.state()
	case err != nil:
		return nil, err
	}
	if f.ByViews {
		return r.read(ctx, page(q, "views", seek))
	}
	return r.read(ctx, page(q, "sort_order", seek))
}

// LiveArticle implements [kb.ArticleReader].
func (r kbReader) LiveArticle(ctx context.Context, id int64) (kb.ArticleRevision, error) {
	return r.liveArticle(ctx, id, false)
}

// LiveArticles implements [kb.ArticleReader].
func (r kbReader) LiveArticles(ctx context.Context, f kb.ArticleFilter, seek storage.Seek) ([]kb.ArticleRevision, error) {
	return r.liveArticles(ctx, f, false, seek)
}

// PublishedArticle implements [kb.PublishedReader].
func (r kbReader) PublishedArticle(ctx context.Context, id int64) (kb.ArticleRevision, error) {
	return r.liveArticle(ctx, id, true)
}

// PublishedArticles implements [kb.PublishedReader].
func (r kbReader) PublishedArticles(ctx context.Context, f kb.ArticleFilter, seek storage.Seek) ([]kb.ArticleRevision, error) {
	return r.liveArticles(ctx, f, true, seek)
}

// Beside implements [kb.ShelfReader] with one statement.
func (r kbReader) Beside(ctx context.Context, f kb.ArticleFilter, at storage.Position) (before, after kb.ArticleRevision, err error) {
	next := func(desc bool) *bun.SelectQuery {
		q := r.selects((*articleRow)(nil)).Column("id").ApplyQueryBuilder(r.site).Where("hw_articles.published = TRUE")
		if e := narrowed(q, r.scope, f); e != nil {
			err = e
		}
		return page(q, "sort_order", storage.Seek{From: &at, Desc: desc, Limit: 1})
	}
	last, first := next(true), next(false)
	if errors.Is(err, errNone) {
		return before, after, r.state()
	}
	if err != nil {
		return before, after, err
	}
	both, err := r.read(ctx, r.live(true, true).
		Where("hw_articles.id IN (SELECT b.id FROM (?) AS b UNION ALL SELECT a.id FROM (?) AS a)", last, first))
	for _, a := range both {
		if cmp.Or(cmp.Compare(int64(a.Article.SortOrder), at.Key), cmp.Compare(a.Article.ID, at.ID)) < 0 {
			before = a
		} else {
			after = a
		}
	}
	return before, after, err
}

// TopArticles implements [kb.ShelfReader].
func (r kbReader) TopArticles(ctx context.Context, order kb.ArticleOrder, limit int) ([]kb.ArticleRevision, error) {
	if limit <= 0 {
		return nil, r.state()
	}
	q := r.live(true, true).Limit(int64(limit))
	if order == kb.MostViewed {
		q.Where("hw_articles.views > 0").OrderExpr("hw_articles.views DESC, hw_articles.id DESC")
	} else {
		q.OrderExpr("hw_articles.changed_at DESC, hw_articles.id DESC")
	}
	return r.read(ctx, q)
}

// FirstArticles implements [kb.ShelfReader].
func (r kbReader) FirstArticles(ctx context.Context, of []kb.FirstOf) ([]kb.ArticleRevision, error) {
	most, ids := 0, make([]int64, len(of))
	for i, f := range of {
		most, ids[i] = max(most, f.N), f.CategoryID
	}
	if most <= 0 {
		return nil, r.state()
	}
	// The number of each category, for those that are not asked for the most.
	var limits strings.Builder
	args := []any{r.scope.AccountID, r.scope.SiteID, bun.List(ids)}
	limits.WriteString("x.place <= CASE")
	for i, f := range of {
		if f.N != most && !slices.Contains(ids[i+1:], f.CategoryID) {
			limits.WriteString(" WHEN x.category_id = ? THEN ?")
			args = append(args, f.CategoryID, f.N)
		}
	}
	limits.WriteString(" ELSE ? END")
	args = append(args, most)
	if len(args) == 4 {
		limits.Reset()
		limits.WriteString("x.place <= ?")
	}
	return r.read(ctx, r.live(true, true).Where(`hw_articles.id IN (SELECT x.article_id FROM (
			SELECT c.article_id, c.category_id, ROW_NUMBER() OVER (PARTITION BY c.category_id ORDER BY a.sort_order, a.id) AS place
			FROM hw_article_categories AS c
			JOIN hw_articles AS a ON a.account_id = c.account_id AND a.site_id = c.site_id AND a.id = c.article_id AND a.published = TRUE
			WHERE c.account_id = ? AND c.site_id = ? AND c.category_id IN (?)) AS x WHERE `+limits.String()+`)`, args...).
		OrderExpr("hw_articles.sort_order, hw_articles.id"))
}
