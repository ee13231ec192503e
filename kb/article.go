package kb

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Status says whether visitors can see a revision when it is live.
type Status string

// The states of a revision.
const (
	Published   Status = "published"
	Unpublished Status = "unpublished"
)

// MaxCategories is the most categories that an article can be in.
const MaxCategories = 100

// Article holds what all revisions of an article share, and the place of the live one.
type Article struct {
	ID           int64
	SiteID       int64
	Live         int64 // number of the live revision
	Draft        int64 // number of the draft; 0: none
	LastRevision int64 // the highest number assigned so far
	Outdated     int64 // outdated translations of the draft, or of the live revision when there is no draft
	Views        int64 // of all revisions; changed by AddViews only
	Feedbacks    int64 // how many there are; changed by Insert and Delete of feedback
	// Fields of the live revision:
	Published    bool
	CollectionID int64
	CategoryIDs  []int64 // sorted
	SortOrder    SortOrder
	ChangedAt    time.Time // UpdatedAt of the live revision
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

// Revision is one version of an article: the live one, the draft, or a former one.
type Revision struct {
	ArticleID    int64
	Number       int64 // from 1
	Status       Status
	CollectionID int64
	CategoryIDs  []int64 // sorted
	SortOrder    SortOrder
	Text
	Views     int64 // changed by AddViews only; reactions alone change Positive and Negative
	Positive  int64
	Negative  int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

// ArticleRevision is an article with one of its revisions.
type ArticleRevision struct {
	Article  Article
	Revision Revision
}

// ArticleInput creates or changes an article. In a change, absent fields stay as they are.
type ArticleInput struct {
	TextInput
	CollectionID int64                  // required
	Status       storage.Opt[Status]    // a new article is published unless this says otherwise
	SortOrder    storage.Opt[SortOrder] // null, or none for a new one: last in its collection
	CategoryIDs  storage.Opt[[]int64]   // of the site, at most MaxCategories; null: none
	// Unfinished lets the source have no title and no content yet, so that a text is saved while it is written. A revision that
	// visitors can see is never unfinished.
	Unfinished bool
	// ExchangeKey is the key of a new article, see [ExchangeKey]; "": none yet.
	ExchangeKey string
}

// ArticleFilter filters a list of articles. The zero value matches all.
type ArticleFilter struct {
	CollectionID int64
	CategoryID   int64
	IDs          []int64 // nil: all; at most storage.MaxLimit
	Loose        bool    // in no category
	Outdated     bool    // with outdated translations
	Drafts       bool    // with a draft
	ByViews      bool    // listed by Views instead of SortOrder; for PublishedArticles alone
	Brief        bool    // without contents: Content, Markdown and MadeFrom of the texts are empty
}

// position is the place of an article in lists.
func (a ArticleRevision) position() storage.Position {
	return storage.Position{Key: int64(a.Article.SortOrder), ID: a.Article.ID}
}

// shown returns what visitors may see: nothing of drafts.
func (a ArticleRevision) shown() ArticleRevision {
	a.Article.Draft, a.Article.LastRevision, a.Article.Outdated = 0, a.Article.Live, 0
	return a
}

// put copies the fields of the live revision into the article.
func (a *Article) put(r Revision) {
	a.Live, a.Published = r.Number, r.Status == Published
	a.CollectionID, a.CategoryIDs, a.SortOrder = r.CollectionID, r.CategoryIDs, r.SortOrder
	a.ChangedAt = r.UpdatedAt
}

// apply validates in and applies it to r.
func (r *Revision) apply(ctx context.Context, tx Tx, in ArticleInput, now time.Time) error {
	isNew := r.CreatedAt.IsZero()
	var problems fault.Collector
	problems.Check(in.CollectionID != 0, "collection_id", "is required")
	status := in.Status.Or(r.Status)
	problems.Check(status == Published || status == Unpublished, "status", "must be published or unpublished")
	checkSortOrder(&problems, in.SortOrder)
	categories := sortedSet(in.CategoryIDs.Or(r.CategoryIDs))
	problems.Check(len(categories) <= MaxCategories, "categories", fmt.Sprintf("has more than %d ids", MaxCategories))
	seen := r.Text
	kind := titled
	kind.unfinished = in.Unfinished && status != Published
	r.Text.apply(&problems, in.TextInput, kind, now)
	if err := problems.Err(); err != nil {
		return err
	}
	if seen.crossed(in.TextInput) {
		return &fault.Error{Kind: fault.Conflict, Code: CodeCrossed, Message: "Someone else has changed this text since you read it."}
	}
	if _, err := tx.Collections().Get(ctx, in.CollectionID); err != nil {
		return err
	}
	if err := checkCategories(ctx, tx.Categories(), categories); err != nil {
		return err
	}
	r.Status, r.CollectionID, r.CategoryIDs, r.UpdatedAt = status, in.CollectionID, categories, now
	if isNew {
		r.CreatedAt = now
	}
	var err error
	r.SortOrder, err = place(in.SortOrder, r.SortOrder, isNew, func() (SortOrder, bool, error) {
		last, err := tx.LiveArticles(ctx, ArticleFilter{CollectionID: r.CollectionID}, storage.Seek{Desc: true, Limit: 1})
		if len(last) == 0 {
			return 0, false, err
		}
		return last[0].Article.SortOrder, true, err
	})
	return err
}

// checkCategories checks that categories exist.
func checkCategories(ctx context.Context, r storage.RowReader[Category, CategoryFilter], ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	found, err := r.ByIDs(ctx, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if !slices.ContainsFunc(found, func(c Category) bool { return c.ID == id }) {
			return fault.Missing("category", id)
		}
	}
	return nil
}

// sortedSet sorts ids and removes duplicates.
func sortedSet(ids []int64) []int64 {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
}

// counts returns what an article adds to the counters of its collection and categories, times sign.
func (a Article) counts(sign int64) []Counts {
	c := Counters{Articles: sign, Views: sign * a.Views}
	if a.Published {
		c.PublishedArticles, c.PublishedViews = c.Articles, c.Views
	}
	all := []Counts{{CollectionID: a.CollectionID, Counters: c}}
	for _, id := range a.CategoryIDs {
		all = append(all, Counts{CategoryID: id, Counters: c})
	}
	return all
}

// mayPublish returns a fault when visitors would notice a change and the member lacks articles.publish.
func (e *Editor) mayPublish(noticed bool) error {
	if noticed && !e.guard.Allows(ArticlesPublish) {
		return fault.Newf(fault.Forbidden, "You need the permission %s to change what visitors see.", ArticlesPublish)
	}
	return nil
}

// Articles lists live revisions by sort order. It needs articles.view.
func (e *Editor) Articles(ctx context.Context, filter ArticleFilter, desc bool, req storage.PageRequest) (storage.Page[ArticleRevision], error) {
	r, err := e.guard.Read(ArticlesView)
	if err != nil {
		return storage.Page[ArticleRevision]{}, err
	}
	if err := filter.check(ctx, r); err != nil {
		return storage.Page[ArticleRevision]{}, err
	}
	return storage.List(req, desc, ArticleRevision.position, func(seek storage.Seek) ([]ArticleRevision, error) { return r.LiveArticles(ctx, filter, seek) })
}

// ArticlesByViews lists published articles by their views, the most viewed first. It needs articles.view. Articles that are
// viewed meanwhile may be missed, or appear twice.
func (e *Editor) ArticlesByViews(ctx context.Context, req storage.PageRequest) (storage.Page[ArticleRevision], error) {
	r, err := e.guard.Read(ArticlesView)
	if err != nil {
		return storage.Page[ArticleRevision]{}, err
	}
	at := func(a ArticleRevision) storage.Position {
		return storage.Position{Key: a.Article.Views, ID: a.Article.ID}
	}
	return storage.List(req, true, at, func(seek storage.Seek) ([]ArticleRevision, error) {
		return r.PublishedArticles(ctx, ArticleFilter{ByViews: true, Brief: true}, seek)
	})
}

// shelves reads collections and categories.
type shelves interface {
	Collections() storage.RowReader[Collection, storage.NoFilter]
	Categories() storage.RowReader[Category, CategoryFilter]
}

// check validates a filter: its collection and categories must exist.
// narrows reports whether only some articles are wanted.
func (f ArticleFilter) narrows() bool {
	return f.CollectionID != 0 || f.CategoryID != 0 || f.IDs != nil || f.Loose || f.Outdated || f.Drafts
}

func (f ArticleFilter) check(ctx context.Context, r shelves) error {
	if err := f.bounded(); err != nil {
		return err
	}
	if f.CollectionID != 0 {
		if _, err := r.Collections().Get(ctx, f.CollectionID); err != nil {
			return err
		}
	}
	if f.CategoryID != 0 {
		if _, err := r.Categories().Get(ctx, f.CategoryID); err != nil {
			return err
		}
	}
	return nil
}

// bounded checks what can be checked without reading from the store.
func (f ArticleFilter) bounded() error {
	if len(f.IDs) > storage.MaxLimit {
		return fault.Field("ids", fmt.Sprintf("has more than %d ids", storage.MaxLimit))
	}
	return nil
}

// Article returns an article with its live revision. It needs articles.view.
func (e *Editor) Article(ctx context.Context, id int64) (ArticleRevision, error) {
	r, err := e.guard.Read(ArticlesView)
	if err != nil {
		return ArticleRevision{}, err
	}
	return r.LiveArticle(ctx, id)
}

// Draft returns an article with its draft, or with its live revision when there is no draft. It needs articles.view.
func (e *Editor) Draft(ctx context.Context, id int64) (ArticleRevision, error) {
	r, err := e.guard.Read(ArticlesView)
	if err != nil {
		return ArticleRevision{}, err
	}
	a, err := r.LiveArticle(ctx, id)
	if err != nil || a.Article.Draft == 0 {
		return a, err
	}
	draft, err := r.Revision(ctx, id, a.Article.Draft)
	if fault.Is(err, fault.NotFound) { // it has been deleted since
		return a, nil
	}
	if err != nil {
		return ArticleRevision{}, err
	}
	a.Revision = draft
	return a, removeDeletedPlaces(ctx, r, &a)
}

// Drafts returns the drafts of the articles that have one, in any order. It does what [Editor.Draft] does for many articles
// with few queries, and needs articles.view. A draft that was deleted after the articles were read is left out.
func (e *Editor) Drafts(ctx context.Context, articles []ArticleRevision) ([]ArticleRevision, error) {
	r, err := e.guard.Read(ArticlesView)
	if err != nil {
		return nil, err
	}
	var keys []RevisionKey
	for _, a := range articles {
		if a.Article.Draft != 0 {
			keys = append(keys, RevisionKey{ArticleID: a.Article.ID, Number: a.Article.Draft})
		}
	}
	var all []ArticleRevision
	for some := range slices.Chunk(keys, storage.MaxLimit) {
		drafts, err := r.RevisionsByKey(ctx, some)
		if err != nil {
			return nil, err
		}
		settling := make([]*ArticleRevision, len(drafts))
		for i := range drafts {
			settling[i] = &drafts[i]
		}
		if err := removeDeletedPlaces(ctx, r, settling...); err != nil {
			return nil, err
		}
		all = append(all, drafts...)
	}
	return all, nil
}

// removeDeletedPlaces removes deleted collections and categories from revisions that are not live; a deleted collection is replaced by
// that of the article.
func removeDeletedPlaces(ctx context.Context, r Reader, revisions ...*ArticleRevision) error {
	var collections, categories []int64
	for _, a := range revisions {
		collections = append(collections, a.Revision.CollectionID)
		categories = append(categories, a.Revision.CategoryIDs...)
	}
	inCollections, err := r.Collections().ByIDs(ctx, sortedSet(collections))
	if err != nil {
		return err
	}
	inCategories, err := r.Categories().ByIDs(ctx, sortedSet(categories))
	if err != nil {
		return err
	}
	for _, a := range revisions {
		if !slices.ContainsFunc(inCollections, func(c Collection) bool { return c.ID == a.Revision.CollectionID }) {
			a.Revision.CollectionID = a.Article.CollectionID
		}
		a.Revision.CategoryIDs = slices.DeleteFunc(slices.Clone(a.Revision.CategoryIDs), func(id int64) bool {
			return !slices.ContainsFunc(inCategories, func(c Category) bool { return c.ID == id })
		})
	}
	return nil
}

// CreateArticle creates an article with its first revision. It needs articles.create, and articles.publish unless the
// article is unpublished. A collection or category that is not in the site is a NotFound fault.
func (e *Editor) CreateArticle(ctx context.Context, in ArticleInput) (ArticleRevision, error) {
	begin, err := e.guard.Write(ArticlesCreate)
	if err != nil {
		return ArticleRevision{}, err
	}
	status := in.Status.Or(Published)
	if status == "" {
		status = Published
	}
	if err := e.mayPublish(status == Published); err != nil {
		return ArticleRevision{}, err
	}
	in.Status = storage.Some(status)
	if in.TextInput, err = e.prepared(ctx, ArticlesCreate, in.TextInput); err != nil {
		return ArticleRevision{}, err
	}
	var out ArticleRevision
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		now := e.svc.now()
		out = ArticleRevision{Article{SiteID: e.site.ID, LastRevision: 1, CreatedAt: now, UpdatedAt: now}, Revision{Number: 1}}
		if err := out.Revision.apply(ctx, tx, in, now); err != nil {
			return err
		}
		out.Article.put(out.Revision)
		out.Article.Outdated = out.Revision.outdated()
		if err := tx.Articles().Insert(ctx, &out.Article); err != nil {
			return err
		}
		out.Revision.ArticleID = out.Article.ID
		if err := tx.InsertRevision(ctx, &out.Revision); err != nil {
			return err
		}
		if err := index(ctx, tx, out.Article.ID, documents(out.Revision)); err != nil {
			return err
		}
		if err := addCounts(ctx, tx, out.Article.counts(1)); err != nil {
			return err
		}
		if err := setKey(ctx, tx, ArticleKey, out.Article.ID, in.ExchangeKey); err != nil {
			return err
		}
		if err := e.emit(ctx, tx, "article.created", out.Article.ID); err != nil || !out.Article.Published {
			return err
		}
		return e.emit(ctx, tx, "article.published", out.Article.ID)
	})
	return out, err
}

// revise locks an article, runs fn with its live revision, and writes the changed article. fn writes the revisions.
func (e *Editor) revise(ctx context.Context, begin func(context.Context, func(context.Context, Tx) error) error, id int64, fn func(ctx context.Context, tx Tx, a *ArticleRevision, now time.Time) error) (ArticleRevision, error) {
	var out ArticleRevision
	err := begin(ctx, func(ctx context.Context, tx Tx) error {
		a, err := tx.Articles().Lock(ctx, id)
		if err != nil {
			return err
		}
		live, err := tx.Revision(ctx, id, a.Live)
		if err != nil {
			return err
		}
		now := e.svc.now()
		out = ArticleRevision{a, live}
		if err := fn(ctx, tx, &out, now); err != nil {
			return err
		}
		out.Article.UpdatedAt = now
		if out.Article.Draft == 0 || out.Article.Draft == out.Revision.Number {
			out.Article.Outdated = out.Revision.outdated()
		}
		if err := tx.Articles().Update(ctx, &out.Article); err != nil {
			return err
		}
		if out.Revision.Number == out.Article.Live {
			if err := index(ctx, tx, id, documents(out.Revision)); err != nil {
				return err
			}
		}
		if err := addCounts(ctx, tx, append(a.counts(-1), out.Article.counts(1)...)); err != nil {
			return err
		}
		if err := e.emit(ctx, tx, "article.updated", id); err != nil {
			return err
		}
		switch {
		case out.Article.Published && (!a.Published || out.Article.Live != a.Live):
			return e.emit(ctx, tx, "article.published", id)
		case a.Published && !out.Article.Published:
			return e.emit(ctx, tx, "article.unpublished", id)
		}
		return nil
	})
	return out, err
}

// prepared cleans the contents of a text and puts references into them. That takes time, so it happens before the
// transaction.
func (e *Editor) prepared(ctx context.Context, needs Permission, in TextInput) (TextInput, error) {
	r, err := e.guard.Read(needs)
	if err != nil {
		return in, err
	}
	return e.refer(ctx, r.Files(), in.cleaned())
}

// UpdateArticle changes the live revision in place; the draft is unchanged. It needs articles.update, and articles.publish
// if the article is published before or after the change.
func (e *Editor) UpdateArticle(ctx context.Context, id int64, in ArticleInput) (ArticleRevision, error) {
	begin, err := e.guard.Write(ArticlesUpdate)
	if err != nil {
		return ArticleRevision{}, err
	}
	if in.TextInput, err = e.prepared(ctx, ArticlesUpdate, in.TextInput); err != nil {
		return ArticleRevision{}, err
	}
	return e.revise(ctx, begin, id, func(ctx context.Context, tx Tx, a *ArticleRevision, now time.Time) error {
		if err := a.Revision.apply(ctx, tx, in, now); err != nil {
			return err
		}
		if err := e.mayPublish(a.Article.Published || a.Revision.Status == Published); err != nil {
			return err
		}
		a.Article.put(a.Revision)
		return tx.UpdateRevision(ctx, &a.Revision)
	})
}

// UpdateDraft changes the draft. Without a draft it first creates one from the live revision, with the next revision number.
// The live revision is unchanged, unless the status is published: then the draft becomes the live revision, and the former
// live revision is kept. It needs articles.update, and articles.publish to publish.
func (e *Editor) UpdateDraft(ctx context.Context, id int64, in ArticleInput) (ArticleRevision, error) {
	begin, err := e.guard.Write(ArticlesUpdate)
	if err != nil {
		return ArticleRevision{}, err
	}
	status, _ := in.Status.Get()
	if err := e.mayPublish(status == Published); err != nil {
		return ArticleRevision{}, err
	}
	if in.TextInput, err = e.prepared(ctx, ArticlesUpdate, in.TextInput); err != nil {
		return ArticleRevision{}, err
	}
	return e.revise(ctx, begin, id, func(ctx context.Context, tx Tx, a *ArticleRevision, now time.Time) error {
		write := tx.UpdateRevision
		if a.Article.Draft == 0 {
			a.Revision = a.Article.revise(a.Revision, now)
			a.Revision.Status = Unpublished
			a.Article.Draft, write = a.Revision.Number, tx.InsertRevision
		} else {
			if a.Revision, err = tx.Revision(ctx, id, a.Article.Draft); err != nil {
				return err
			}
			if err := removeDeletedPlaces(ctx, tx.Reader(), a); err != nil {
				return err
			}
		}
		if err := a.Revision.apply(ctx, tx, in, now); err != nil {
			return err
		}
		if a.Revision.Status == Published {
			a.Article.Draft = 0
			a.Article.put(a.Revision)
		}
		return write(ctx, &a.Revision)
	})
}

// revise returns a copy of a revision with the next number.
func (a *Article) revise(of Revision, now time.Time) Revision {
	a.LastRevision++
	of.Number, of.CreatedAt, of.UpdatedAt = a.LastRevision, now, now
	of.Views, of.Positive, of.Negative = 0, 0, 0
	return of
}

// DeleteDraft deletes the draft. It needs articles.update. An article without a draft is a NotFound fault.
func (e *Editor) DeleteDraft(ctx context.Context, id int64) error {
	begin, err := e.guard.Write(ArticlesUpdate)
	if err != nil {
		return err
	}
	_, err = e.revise(ctx, begin, id, func(ctx context.Context, tx Tx, a *ArticleRevision, _ time.Time) error {
		if a.Article.Draft == 0 {
			return fault.Missing("draft", id)
		}
		draft := a.Article.Draft
		a.Article.Draft = 0
		return tx.DeleteRevision(ctx, id, draft)
	})
	return err
}

// DeleteArticle deletes an article with all its revisions. It needs articles.delete.
func (e *Editor) DeleteArticle(ctx context.Context, id int64) error {
	begin, err := e.guard.Write(ArticlesDelete)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		a, err := tx.Articles().Lock(ctx, id)
		if err != nil {
			return err
		}
		if err := tx.Articles().Delete(ctx, id); err != nil {
			return err
		}
		if err := addCounts(ctx, tx, a.counts(-1)); err != nil {
			return err
		}
		return e.emit(ctx, tx, "article.deleted", id)
	})
}

// Revisions lists the revisions of an article, newest first: the live one, the draft and all former ones. It needs
// articles.view.
func (e *Editor) Revisions(ctx context.Context, id int64, req storage.PageRequest) (Article, storage.Page[Revision], error) {
	r, err := e.guard.Read(ArticlesView)
	if err != nil {
		return Article{}, storage.Page[Revision]{}, err
	}
	a, err := r.LiveArticle(ctx, id)
	if err != nil {
		return Article{}, storage.Page[Revision]{}, err
	}
	page, err := storage.List(req, true, func(r Revision) storage.Position { return storage.Position{ID: r.Number} },
		func(seek storage.Seek) ([]Revision, error) { return r.Revisions(ctx, id, seek) })
	return a.Article, page, err
}

// Revision returns an article with one of its revisions as it was. It needs articles.view.
func (e *Editor) Revision(ctx context.Context, id, number int64) (ArticleRevision, error) {
	r, err := e.guard.Read(ArticlesView)
	if err != nil {
		return ArticleRevision{}, err
	}
	a, err := r.LiveArticle(ctx, id)
	if err != nil {
		return ArticleRevision{}, err
	}
	a.Revision, err = r.Revision(ctx, id, number)
	return a, err
}

// Restore makes the text of a former revision live again, as a new revision. The article keeps its collection, its
// categories and its status, and all revisions and the draft are kept. It needs articles.update, and articles.publish if the
// article is published.
func (e *Editor) Restore(ctx context.Context, id, number int64) (ArticleRevision, error) {
	begin, err := e.guard.Write(ArticlesUpdate)
	if err != nil {
		return ArticleRevision{}, err
	}
	return e.revise(ctx, begin, id, func(ctx context.Context, tx Tx, a *ArticleRevision, now time.Time) error {
		former, err := tx.Revision(ctx, id, number)
		if err != nil {
			return err
		}
		if number == a.Article.Draft || number == a.Article.Live {
			return fault.New(fault.Conflict, "Only an earlier revision can be restored.")
		}
		if err := e.mayPublish(a.Article.Published); err != nil {
			return err
		}
		var problems fault.Collector
		former.Text.complete(&problems, TextInput{}, textKind{title: titled.title, content: titled.content, unfinished: !a.Article.Published})
		if err := problems.Err(); err != nil {
			return err
		}
		live := a.Article.revise(a.Revision, now)
		live.Text = former.Text
		a.Revision = live
		a.Article.put(live)
		return tx.InsertRevision(ctx, &a.Revision)
	})
}

// Articles lists published articles by sort order.
func (v *Visitor) Articles(ctx context.Context, filter ArticleFilter, desc bool, req storage.PageRequest) (storage.Page[ArticleRevision], error) {
	r, err := v.guard.Read(published)
	if err != nil {
		return storage.Page[ArticleRevision]{}, err
	}
	if err := filter.bounded(); err != nil {
		return storage.Page[ArticleRevision]{}, err
	}
	page, err := storage.List(req, desc, ArticleRevision.position, func(seek storage.Seek) ([]ArticleRevision, error) {
		return r.PublishedArticles(ctx, filter, seek)
	})
	if err != nil || len(page.Items) == 0 { // an article in it proves that the collection or category exists
		if missing := filter.check(ctx, r); missing != nil {
			return storage.Page[ArticleRevision]{}, missing
		}
	}
	for i, a := range page.Items {
		page.Items[i] = a.shown()
	}
	return page, err
}

// Article returns a published article and counts a view of it, see [Service.Run].
func (v *Visitor) Article(ctx context.Context, id int64) (ArticleRevision, error) {
	r, err := v.guard.Read(published)
	if err != nil {
		return ArticleRevision{}, err
	}
	a, err := r.PublishedArticle(ctx, id)
	if err != nil {
		return ArticleRevision{}, err
	}
	v.svc.countView(ctx, v.site, a.Article)
	return a.shown(), nil
}
