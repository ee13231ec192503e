package kb

import (
	"context"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// UnimplementedStore answers every method of [Store] with a Disabled fault. A
// backend embeds it, so that methods added to Store later do not break its build.
type UnimplementedStore struct{}

// UnimplementedTx answers every method of [Reader] and [Tx] with a Disabled fault;
// it is embedded as [UnimplementedStore] is.
type UnimplementedTx struct{}

var (
	_ Store = UnimplementedStore{}
	_ Tx    = UnimplementedTx{}
)

func errUnimplemented() error {
	return fault.New(fault.Disabled, "This store cannot do this.")
}

// FindSite implements [Store].
func (UnimplementedStore) FindSite(context.Context, int64) (Site, error) {
	return Site{}, errUnimplemented()
}

// HasHost implements [Store].
func (UnimplementedStore) HasHost(context.Context, string) (bool, error) {
	return false, errUnimplemented()
}

// SiteByAddress implements [Store].
func (UnimplementedStore) SiteByAddress(context.Context, string, ...string) (Site, error) {
	return Site{}, errUnimplemented()
}

// Within implements [Store].
func (UnimplementedStore) Within(Scope) Reader { return UnimplementedTx{} }

// InTx implements [Store].
func (UnimplementedStore) InTx(context.Context, Scope, func(ctx context.Context, tx Tx) error) error {
	return errUnimplemented()
}

// Enqueue implements [Tx].
func (UnimplementedTx) Enqueue(context.Context, ...storage.Job) error { return errUnimplemented() }

// Emit implements [Tx].
func (UnimplementedTx) Emit(context.Context, ...storage.Event) error { return errUnimplemented() }

// InsertAudit implements [Tx].
func (UnimplementedTx) InsertAudit(context.Context, []storage.AuditEntry) error {
	return errUnimplemented()
}

// Site implements [Reader].
func (UnimplementedTx) Site(context.Context, int64) (Site, error) { return Site{}, errUnimplemented() }

// Sites implements [Reader].
func (UnimplementedTx) Sites(context.Context, storage.Seek) ([]Site, error) {
	return nil, errUnimplemented()
}

// SiteForUpdate implements [Tx].
func (UnimplementedTx) SiteForUpdate(context.Context, int64) (Site, error) {
	return Site{}, errUnimplemented()
}

// InsertSite implements [Tx].
func (UnimplementedTx) InsertSite(context.Context, *Site) error { return errUnimplemented() }

// UpdateSite implements [Tx].
func (UnimplementedTx) UpdateSite(context.Context, *Site) error { return errUnimplemented() }

// DeleteSite implements [Tx].
func (UnimplementedTx) DeleteSite(context.Context, int64) error { return errUnimplemented() }

// Collection implements [Reader].
func (UnimplementedTx) Collection(context.Context, int64) (Collection, error) {
	return Collection{}, errUnimplemented()
}

// Collections implements [Reader].
func (UnimplementedTx) Collections(context.Context, storage.Seek) ([]Collection, error) {
	return nil, errUnimplemented()
}

// CollectionsByID implements [Reader].
func (UnimplementedTx) CollectionsByID(context.Context, []int64) ([]Collection, error) {
	return nil, errUnimplemented()
}

// Category implements [Reader].
func (UnimplementedTx) Category(context.Context, int64) (Category, error) {
	return Category{}, errUnimplemented()
}

// Categories implements [Reader].
func (UnimplementedTx) Categories(context.Context, CategoryFilter, storage.Seek) ([]Category, error) {
	return nil, errUnimplemented()
}

// CategoriesByID implements [Reader].
func (UnimplementedTx) CategoriesByID(context.Context, []int64) ([]Category, error) {
	return nil, errUnimplemented()
}

// LiveArticle implements [Reader].
func (UnimplementedTx) LiveArticle(context.Context, int64) (ArticleRevision, error) {
	return ArticleRevision{}, errUnimplemented()
}

// LiveArticles implements [Reader].
func (UnimplementedTx) LiveArticles(context.Context, ArticleFilter, storage.Seek) ([]ArticleRevision, error) {
	return nil, errUnimplemented()
}

// Revision implements [Reader].
func (UnimplementedTx) Revision(context.Context, int64, int64) (Revision, error) {
	return Revision{}, errUnimplemented()
}

// Revisions implements [Reader].
func (UnimplementedTx) Revisions(context.Context, int64, storage.Seek) ([]Revision, error) {
	return nil, errUnimplemented()
}

// PublishedArticle implements [Reader].
func (UnimplementedTx) PublishedArticle(context.Context, int64) (ArticleRevision, error) {
	return ArticleRevision{}, errUnimplemented()
}

// PublishedArticles implements [Reader].
func (UnimplementedTx) PublishedArticles(context.Context, ArticleFilter, storage.Seek) ([]ArticleRevision, error) {
	return nil, errUnimplemented()
}

// TopArticles implements [Reader].
func (UnimplementedTx) TopArticles(context.Context, ArticleOrder, int) ([]ArticleRevision, error) {
	return nil, errUnimplemented()
}

// FirstArticles implements [Reader].
func (UnimplementedTx) FirstArticles(context.Context, []int64, int) ([]ArticleRevision, error) {
	return nil, errUnimplemented()
}

// PublishedLocales implements [Reader].
func (UnimplementedTx) PublishedLocales(context.Context) ([]string, error) {
	return nil, errUnimplemented()
}

// CollectionForUpdate implements [Tx].
func (UnimplementedTx) CollectionForUpdate(context.Context, int64) (Collection, error) {
	return Collection{}, errUnimplemented()
}

// InsertCollection implements [Tx].
func (UnimplementedTx) InsertCollection(context.Context, *Collection) error {
	return errUnimplemented()
}

// UpdateCollection implements [Tx].
func (UnimplementedTx) UpdateCollection(context.Context, *Collection) error {
	return errUnimplemented()
}

// DeleteCollection implements [Tx].
func (UnimplementedTx) DeleteCollection(context.Context, int64) error {
	return errUnimplemented()
}

// CategoryForUpdate implements [Tx].
func (UnimplementedTx) CategoryForUpdate(context.Context, int64) (Category, error) {
	return Category{}, errUnimplemented()
}

// InsertCategory implements [Tx].
func (UnimplementedTx) InsertCategory(context.Context, *Category) error {
	return errUnimplemented()
}

// UpdateCategory implements [Tx].
func (UnimplementedTx) UpdateCategory(context.Context, *Category) error {
	return errUnimplemented()
}

// DeleteCategory implements [Tx].
func (UnimplementedTx) DeleteCategory(context.Context, int64) error {
	return errUnimplemented()
}

// ArticleForUpdate implements [Tx].
func (UnimplementedTx) ArticleForUpdate(context.Context, int64) (Article, error) {
	return Article{}, errUnimplemented()
}

// ArticlesForUpdate implements [Tx].
func (UnimplementedTx) ArticlesForUpdate(context.Context, []int64) ([]Article, error) {
	return nil, errUnimplemented()
}

// InsertArticle implements [Tx].
func (UnimplementedTx) InsertArticle(context.Context, *Article) error {
	return errUnimplemented()
}

// UpdateArticle implements [Tx].
func (UnimplementedTx) UpdateArticle(context.Context, *Article) error {
	return errUnimplemented()
}

// DeleteArticle implements [Tx].
func (UnimplementedTx) DeleteArticle(context.Context, int64) error {
	return errUnimplemented()
}

// InsertRevision implements [Tx].
func (UnimplementedTx) InsertRevision(context.Context, *Revision) error {
	return errUnimplemented()
}

// UpdateRevision implements [Tx].
func (UnimplementedTx) UpdateRevision(context.Context, *Revision) error {
	return errUnimplemented()
}

// DeleteRevision implements [Tx].
func (UnimplementedTx) DeleteRevision(context.Context, int64, int64) error {
	return errUnimplemented()
}

// AddViews implements [Tx].
func (UnimplementedTx) AddViews(context.Context, []View) error {
	return errUnimplemented()
}

// AddCounts implements [Tx].
func (UnimplementedTx) AddCounts(context.Context, []Counts) error {
	return errUnimplemented()
}

// FindArticles implements [Reader].
func (UnimplementedTx) FindArticles(context.Context, SearchQuery, storage.Seek) ([]Hit, error) {
	return nil, errUnimplemented()
}

// FindPublishedEach implements [Reader].
func (UnimplementedTx) FindPublishedEach(context.Context, SearchQuery, []SearchTerm, int) ([][]Hit, error) {
	return nil, errUnimplemented()
}

// FindPublished implements [Reader].
func (UnimplementedTx) FindPublished(context.Context, SearchQuery, storage.Seek) ([]Hit, error) {
	return nil, errUnimplemented()
}

// Spellings implements [Reader].
func (UnimplementedTx) Spellings(context.Context, []string) ([]string, error) {
	return nil, errUnimplemented()
}

// SetDocuments implements [Tx].
func (UnimplementedTx) SetDocuments(context.Context, int64, []Document) error {
	return errUnimplemented()
}

// AddSpellings implements [Tx].
func (UnimplementedTx) AddSpellings(context.Context, []string) error { return errUnimplemented() }

// Feedback implements [Reader].
func (UnimplementedTx) Feedback(context.Context, int64) (Feedback, error) {
	return Feedback{}, errUnimplemented()
}

// Feedbacks implements [Reader].
func (UnimplementedTx) Feedbacks(context.Context, FeedbackFilter, storage.Seek) ([]Feedback, error) {
	return nil, errUnimplemented()
}

// RevisionsByKey implements [Reader].
func (UnimplementedTx) RevisionsByKey(context.Context, []RevisionKey) ([]ArticleRevision, error) {
	return nil, errUnimplemented()
}

// InsertFeedback implements [Tx].
func (UnimplementedTx) InsertFeedback(context.Context, *Feedback) error { return errUnimplemented() }

// DeleteFeedback implements [Tx].
func (UnimplementedTx) DeleteFeedback(context.Context, int64) error { return errUnimplemented() }

// SetReaction implements [Tx].
func (UnimplementedTx) SetReaction(context.Context, VisitorReaction) error {
	return errUnimplemented()
}

// ExchangeKeys implements [Reader].
func (UnimplementedTx) ExchangeKeys(context.Context) ([]ExchangeKey, error) {
	return nil, errUnimplemented()
}

// SetExchangeKeys implements [Tx].
func (UnimplementedTx) SetExchangeKeys(context.Context, []ExchangeKey) error {
	return errUnimplemented()
}
