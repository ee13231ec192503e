package bunstore

import (
	"bytes"
	"context"
	"database/sql/driver"
	"encoding/json"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

// translation is a [kb.Translation] in the column of its resource.
type translation struct {
	Locale    string `json:"l"`
	Number    int64  `json:"n"`
	Title     string `json:"t,omitempty"`
	Summary   string `json:"s,omitempty"`
	Content   string `json:"c,omitempty"`
	Markdown  string `json:"m,omitempty"`
	UpdatedAt int64  `json:"u"`
	SourceAt  int64  `json:"a,omitempty"`
	MadeFrom  *made  `json:"f,omitempty"`
}

// made is a [kb.SourceText].
type made struct {
	Title    string `json:"t,omitempty"`
	Summary  string `json:"s,omitempty"`
	Content  string `json:"c,omitempty"`
	Markdown string `json:"m,omitempty"`
}

// translations is a column with a JSON array. HTML stays as it is: escaped, it would be twice as long.
type translations []translation

// Value implements [driver.Valuer].
func (l translations) Value() (driver.Value, error) {
	if len(l) == 0 {
		return "[]", nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode([]translation(l))
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), err
}

// Scan implements [sql.Scanner].
func (l *translations) Scan(src any) error {
	*l = nil
	return scanJSON(src, (*[]translation)(l))
}

func (l translations) text(source string) kb.Text {
	return kb.Text{SourceLocale: source, Translations: mapped(l, func(t *translation) kb.Translation {
		o := kb.Translation{
			Locale: t.Locale, Number: t.Number, Title: t.Title, Summary: t.Summary, Content: t.Content, Markdown: t.Markdown, UpdatedAt: timeOf(t.UpdatedAt),
			SourceAt: timeOf(t.SourceAt),
		}
		if t.MadeFrom != nil {
			o.MadeFrom = kb.SourceText(*t.MadeFrom)
		}
		return o
	})}
}

func translationsOf(t kb.Text) translations {
	return mapped(t.Translations, func(t *kb.Translation) translation {
		o := translation{
			Locale: t.Locale, Number: t.Number, Title: t.Title, Summary: t.Summary, Content: t.Content, Markdown: t.Markdown, UpdatedAt: micros(t.UpdatedAt),
			SourceAt: micros(t.SourceAt),
		}
		if t.MadeFrom != (kb.SourceText{}) {
			of := made(t.MadeFrom)
			o.MadeFrom = &of
		}
		return o
	})
}

// counters are columns of collections and categories. They are never written as a whole.
type counters struct {
	Articles          int64 `bun:",scanonly"`
	Categories        int64 `bun:",scanonly"`
	Views             int64 `bun:",scanonly"`
	PublishedArticles int64 `bun:",scanonly"`
	PublishedViews    int64 `bun:",scanonly"`
}

func (c counters) counters() kb.Counters {
	return kb.Counters{
		Articles: c.Articles, Categories: c.Categories, Views: c.Views, PublishedArticles: c.PublishedArticles, PublishedViews: c.PublishedViews,
	}
}

// site keeps a statement within the scope's site.
func (r kbReader) site(q bun.QueryBuilder) bun.QueryBuilder {
	return r.account(q).Where("?TableName.site_id = ?", r.scope.SiteID)
}

type collectionRow struct {
	bun.BaseModel `bun:"table:hw_collections,alias:hw_collections"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	SiteID        int64
	SortOrder     int64
	Icon          string
	SourceLocale  string
	Translations  translations
	CreatedAt     int64
	UpdatedAt     int64
	counters
}

func (r *collectionRow) collection() kb.Collection {
	return kb.Collection{
		ID: r.ID, SiteID: r.SiteID, SortOrder: kb.SortOrder(r.SortOrder), Icon: r.Icon, Text: r.Translations.text(r.SourceLocale),
		Counters: r.counters.counters(), CreatedAt: timeOf(r.CreatedAt), UpdatedAt: timeOf(r.UpdatedAt),
	}
}

func collectionRowOf(s kb.Scope, c *kb.Collection) collectionRow {
	return collectionRow{
		ID: c.ID, AccountID: s.AccountID, SiteID: s.SiteID, SortOrder: int64(c.SortOrder), Icon: c.Icon, SourceLocale: c.SourceLocale,
		Translations: translationsOf(c.Text), CreatedAt: micros(c.CreatedAt), UpdatedAt: micros(c.UpdatedAt),
	}
}

// Collection implements [kb.CollectionReader].
func (r kbReader) Collection(ctx context.Context, id int64) (kb.Collection, error) {
	return r.oneCollection(ctx, id, r.plain)
}

// plain leaves a query as it is.
func (r kbReader) plain(q *bun.SelectQuery) *bun.SelectQuery { return q }

func (r kbReader) oneCollection(ctx context.Context, id int64, lock func(*bun.SelectQuery) *bun.SelectQuery) (kb.Collection, error) {
	var row collectionRow
	q := r.selects(&row).ColumnExpr("*").ApplyQueryBuilder(r.site).Where("id = ?", id)
	if err := one(ctx, lock(q), "collection", id); err != nil {
		return kb.Collection{}, err
	}
	return row.collection(), nil
}

// Collections implements [kb.CollectionReader].
func (r kbReader) Collections(ctx context.Context, seek storage.Seek) ([]kb.Collection, error) {
	var rows []collectionRow
	err := page(r.selects(&rows).ColumnExpr("*").ApplyQueryBuilder(r.site), "sort_order", seek).Scan(ctx)
	return mapped(rows, (*collectionRow).collection), failure(ctx, err, "collection", 0)
}

// CollectionsByID implements [kb.CollectionReader].
func (r kbReader) CollectionsByID(ctx context.Context, ids []int64) ([]kb.Collection, error) {
	if len(ids) == 0 {
		return nil, r.state()
	}
	var rows []collectionRow
	err := r.selects(&rows).ColumnExpr("*").ApplyQueryBuilder(r.site).Where("id IN (?)", bun.List(ids)).Scan(ctx)
	return mapped(rows, (*collectionRow).collection), failure(ctx, err, "collection", 0)
}

type categoryRow struct {
	bun.BaseModel `bun:"table:hw_categories,alias:hw_categories"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	SiteID        int64
	CollectionID  int64
	SortOrder     int64
	SourceLocale  string
	Translations  translations
	CreatedAt     int64
	UpdatedAt     int64
	counters
}

func (r *categoryRow) category() kb.Category {
	return kb.Category{
		ID: r.ID, SiteID: r.SiteID, CollectionID: r.CollectionID, SortOrder: kb.SortOrder(r.SortOrder), Text: r.Translations.text(r.SourceLocale),
		Counters: r.counters.counters(), CreatedAt: timeOf(r.CreatedAt), UpdatedAt: timeOf(r.UpdatedAt),
	}
}

func categoryRowOf(s kb.Scope, c *kb.Category) categoryRow {
	return categoryRow{
		ID: c.ID, AccountID: s.AccountID, SiteID: s.SiteID, CollectionID: c.CollectionID, SortOrder: int64(c.SortOrder),
		SourceLocale: c.SourceLocale, Translations: translationsOf(c.Text), CreatedAt: micros(c.CreatedAt), UpdatedAt: micros(c.UpdatedAt),
	}
}

// Category implements [kb.CategoryReader].
func (r kbReader) Category(ctx context.Context, id int64) (kb.Category, error) {
	return r.oneCategory(ctx, id, r.plain)
}

func (r kbReader) oneCategory(ctx context.Context, id int64, lock func(*bun.SelectQuery) *bun.SelectQuery) (kb.Category, error) {
	var row categoryRow
	q := r.selects(&row).ColumnExpr("*").ApplyQueryBuilder(r.site).Where("id = ?", id)
	if err := one(ctx, lock(q), "category", id); err != nil {
		return kb.Category{}, err
	}
	return row.category(), nil
}

// Categories implements [kb.CategoryReader].
func (r kbReader) Categories(ctx context.Context, filter kb.CategoryFilter, seek storage.Seek) ([]kb.Category, error) {
	var rows []categoryRow
	q := r.selects(&rows).ColumnExpr("*").ApplyQueryBuilder(r.site)
	if filter.CollectionID != 0 {
		q.Where("collection_id = ?", filter.CollectionID)
	}
	err := page(q, "sort_order", seek).Scan(ctx)
	return mapped(rows, (*categoryRow).category), failure(ctx, err, "category", 0)
}

// CategoriesByID implements [kb.CategoryReader].
func (r kbReader) CategoriesByID(ctx context.Context, ids []int64) ([]kb.Category, error) {
	if len(ids) == 0 {
		return nil, r.state()
	}
	var rows []categoryRow
	err := r.selects(&rows).ColumnExpr("*").ApplyQueryBuilder(r.site).Where("id IN (?)", bun.List(ids)).Scan(ctx)
	return mapped(rows, (*categoryRow).category), failure(ctx, err, "category", 0)
}

// CollectionForUpdate implements [kb.CollectionWriter].
func (w kbWriter) CollectionForUpdate(ctx context.Context, id int64) (kb.Collection, error) {
	return w.oneCollection(ctx, id, w.forUpdate)
}

// InsertCollection implements [kb.CollectionWriter].
func (w kbWriter) InsertCollection(ctx context.Context, c *kb.Collection) error {
	row := collectionRowOf(w.scope, c)
	row.ID = 0
	if _, err := w.inserts(&row).Exec(ctx); err != nil {
		return failure(ctx, err, "collection", 0)
	}
	c.ID, c.SiteID = row.ID, row.SiteID
	w.foundAccount()
	return nil
}

// UpdateCollection implements [kb.CollectionWriter].
func (w kbWriter) UpdateCollection(ctx context.Context, c *kb.Collection) error {
	row := collectionRowOf(w.scope, c)
	res, err := w.updates(&row).ApplyQueryBuilder(w.site).Where("id = ?", c.ID).Exec(ctx)
	return changed(ctx, res, err, "collection", c.ID)
}

// DeleteCollection implements [kb.CollectionWriter].
func (w kbWriter) DeleteCollection(ctx context.Context, id int64) error {
	res, err := w.deletes((*collectionRow)(nil)).ApplyQueryBuilder(w.site).Where("id = ?", id).Exec(ctx)
	return emptied(ctx, res, err, "collection", id)
}

// CategoryForUpdate implements [kb.CategoryWriter].
func (w kbWriter) CategoryForUpdate(ctx context.Context, id int64) (kb.Category, error) {
	return w.oneCategory(ctx, id, w.forUpdate)
}

// InsertCategory implements [kb.CategoryWriter].
func (w kbWriter) InsertCategory(ctx context.Context, c *kb.Category) error {
	row := categoryRowOf(w.scope, c)
	row.ID = 0
	if _, err := w.inserts(&row).Exec(ctx); err != nil {
		return failure(ctx, err, "category", 0)
	}
	c.ID, c.SiteID = row.ID, row.SiteID
	w.foundAccount()
	return nil
}

// UpdateCategory implements [kb.CategoryWriter].
func (w kbWriter) UpdateCategory(ctx context.Context, c *kb.Category) error {
	row := categoryRowOf(w.scope, c)
	res, err := w.updates(&row).ApplyQueryBuilder(w.site).Where("id = ?", c.ID).Exec(ctx)
	return changed(ctx, res, err, "category", c.ID)
}

// DeleteCategory implements [kb.CategoryWriter].
func (w kbWriter) DeleteCategory(ctx context.Context, id int64) error {
	res, err := w.deletes((*categoryRow)(nil)).ApplyQueryBuilder(w.site).Where("id = ?", id).Exec(ctx)
	return emptied(ctx, res, err, "category", id)
}
