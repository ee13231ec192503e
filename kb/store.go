package kb

import (
	"context"

	"github.com/helpwright/helpwright/storage"
)

// Scope is the part of the data that a handle may touch: one site of one account.
// SiteID 0 is the account with all its sites, but nothing that is in a site.
type Scope struct{ AccountID, SiteID int64 }

// Store keeps the knowledge base's data. It stores and finds; all rules are the
// service's. The methods KB of bunstore and memstore give one, and so may you:
// storagetest proves it. Embed [UnimplementedStore], so that later additions do not
// break your build.
//
// Errors are faults: NotFound for a row that is absent or outside the scope (the
// two must be indistinguishable; lists leave it out), Conflict for a broken
// uniqueness (Code names which, see the Unique constants), Unavailable while the
// database cannot be reached. Strings are valid UTF-8 without NUL; times are UTC
// microseconds and the zero time means none. Insert methods set the ID of what they
// are given. There is nothing to write in an account or a site that is not there:
// NotFound.
type Store interface {
	Directory
	// Within gives the readers of a scope, each call on its own snapshot.
	Within(s Scope) Reader
	// InTx runs fn in one transaction: all of it is committed when fn returns nil,
	// none of it otherwise. It may run fn again after a passing conflict of the
	// database, so fn has no effects outside; those are jobs put into the outbox.
	InTx(ctx context.Context, s Scope, fn func(ctx context.Context, tx Tx) error) error
}

// Codes of the Conflict faults that a store returns for a broken uniqueness.
const (
	UniqueSitePath = "site_path" // (HostKey, Path) of sites, over all accounts
	UniqueSiteHost = "site_host" // HostKey of the sites of one account, but for SharedHost, which all may have
)

// Directory finds what is needed before an account is known.
type Directory interface {
	// FindSite finds a site of any account.
	FindSite(ctx context.Context, id int64) (Site, error)
	// SiteByAddress finds the site of any account that has a HostKey and the longest of
	// some paths.
	SiteByAddress(ctx context.Context, hostKey string, paths ...string) (Site, error)
	// HasHost reports whether any site has a HostKey, whatever its path.
	HasHost(ctx context.Context, hostKey string) (bool, error)
}

// Reader reads within a scope.
type Reader interface {
	SiteReader
	FileReader
	ThemeReader
	CollectionReader
	CategoryReader
	ArticleReader
	PublishedReader
	ShelfReader
	SearchReader
	PublicSearcher
	FeedbackReader
	ExchangeKeyReader
}

// PublicReader is what the handle of visitors reads with: nothing in it can ask for
// a draft or for what is unpublished.
type PublicReader interface {
	CollectionReader
	CategoryReader
	PublishedReader
	ShelfReader
	PublicSearcher
}

// CollectionReader reads the collections of a site.
type CollectionReader interface {
	Collection(ctx context.Context, id int64) (Collection, error)
	// Collections lists by SortOrder.
	Collections(ctx context.Context, seek storage.Seek) ([]Collection, error)
	// CollectionsByID returns those of ids that there are, in any order.
	CollectionsByID(ctx context.Context, ids []int64) ([]Collection, error)
}

// CategoryReader reads the categories of a site.
type CategoryReader interface {
	Category(ctx context.Context, id int64) (Category, error)
	// Categories lists by SortOrder.
	Categories(ctx context.Context, filter CategoryFilter, seek storage.Seek) ([]Category, error)
	// CategoriesByID returns those of ids that there are, in any order.
	CategoriesByID(ctx context.Context, ids []int64) ([]Category, error)
}

// ArticleReader reads the articles of a site, also what is not published.
type ArticleReader interface {
	LiveArticle(ctx context.Context, id int64) (ArticleRevision, error)
	// LiveArticles lists by SortOrder.
	LiveArticles(ctx context.Context, filter ArticleFilter, seek storage.Seek) ([]ArticleRevision, error)
	Revision(ctx context.Context, articleID, number int64) (Revision, error)
	// Revisions lists those of an article by their number, which is the id of a
	// position.
	Revisions(ctx context.Context, articleID int64, seek storage.Seek) ([]Revision, error)
	// RevisionsByKey returns those of the revisions that there are, with their
	// articles, in any order.
	RevisionsByKey(ctx context.Context, keys []RevisionKey) ([]ArticleRevision, error)
}

// RevisionKey names a revision.
type RevisionKey struct{ ArticleID, Number int64 }

// PublishedReader reads the live revisions of the articles that are published.
type PublishedReader interface {
	PublishedArticle(ctx context.Context, id int64) (ArticleRevision, error)
	// PublishedArticles lists by SortOrder.
	PublishedArticles(ctx context.Context, filter ArticleFilter, seek storage.Seek) ([]ArticleRevision, error)
}

// ArticleOrder is an order of articles beside their sort order.
type ArticleOrder string

// The orders.
const (
	MostViewed    ArticleOrder = "views"   // those with a view only, by Views, then the newest
	LatestChanged ArticleOrder = "changed" // by ChangedAt, then the newest
)

// ShelfReader reads what is published for the pages that readers choose from. Its
// articles are brief, see [ArticleFilter].
type ShelfReader interface {
	// TopArticles returns the first articles of the site in an order.
	TopArticles(ctx context.Context, order ArticleOrder, limit int) ([]ArticleRevision, error)
	// FirstArticles returns the first n articles of each category by SortOrder, each
	// article once, also by SortOrder.
	FirstArticles(ctx context.Context, categoryIDs []int64, n int) ([]ArticleRevision, error)
	// PublishedLocales lists, in order, the locales of the documents that are published.
	PublishedLocales(ctx context.Context) ([]string, error)
}

// SiteReader reads the sites of the scope: those of the account, or the one.
type SiteReader interface {
	Site(ctx context.Context, id int64) (Site, error)
	// Sites lists by id.
	Sites(ctx context.Context, seek storage.Seek) ([]Site, error)
}

// Tx reads and writes within a scope, in one transaction.
type Tx interface {
	Reader
	storage.Outbox
	storage.AuditWriter
	SiteWriter
	FileWriter
	ThemeWriter
	CollectionWriter
	CategoryWriter
	ArticleWriter
	CountWriter
	SearchWriter
	FeedbackWriter
	ResponseWriter
	ExchangeKeyWriter
}

// SiteWriter changes sites. The AccountID of what is written is the scope's, and
// what [Site] has of the account is ignored. A mailbox that is not of the account
// is NotFound.
type SiteWriter interface {
	// SiteForUpdate reads a site and keeps others from changing it until the
	// transaction ends.
	SiteForUpdate(ctx context.Context, id int64) (Site, error)
	// InsertSite stores a site of the scope's account.
	InsertSite(ctx context.Context, s *Site) error
	UpdateSite(ctx context.Context, s *Site) error
	// DeleteSite removes a site with all that is in it.
	DeleteSite(ctx context.Context, id int64) error
}

// CollectionWriter changes collections. It leaves their counters alone.
type CollectionWriter interface {
	// CollectionForUpdate reads a collection and keeps others from changing it until
	// the transaction ends.
	CollectionForUpdate(ctx context.Context, id int64) (Collection, error)
	// InsertCollection sets the SiteID too.
	InsertCollection(ctx context.Context, c *Collection) error
	UpdateCollection(ctx context.Context, c *Collection) error
	// DeleteCollection removes a collection. One that has categories or articles is a
	// Conflict fault.
	DeleteCollection(ctx context.Context, id int64) error
}

// CategoryWriter changes categories. It leaves their counters alone. A collection
// that is not of the site is NotFound.
type CategoryWriter interface {
	// CategoryForUpdate reads a category and keeps others from changing it until the
	// transaction ends.
	CategoryForUpdate(ctx context.Context, id int64) (Category, error)
	// InsertCategory sets the SiteID too.
	InsertCategory(ctx context.Context, c *Category) error
	UpdateCategory(ctx context.Context, c *Category) error
	// DeleteCategory removes a category. One that has articles is a Conflict fault.
	DeleteCategory(ctx context.Context, id int64) error
}

// ArticleWriter changes articles and their revisions. A collection or a category
// that is not of the site is NotFound, but for those of a revision, which are not
// looked up. CategoryIDs are sorted, and none is there twice.
type ArticleWriter interface {
	// ArticleForUpdate reads an article and keeps others from changing it until the
	// transaction ends.
	ArticleForUpdate(ctx context.Context, id int64) (Article, error)
	// ArticlesForUpdate does so with those of ids that there are, by id.
	ArticlesForUpdate(ctx context.Context, ids []int64) ([]Article, error)
	// InsertArticle sets the SiteID too. Views and Feedbacks begin at 0.
	InsertArticle(ctx context.Context, a *Article) error
	// UpdateArticle leaves Views and Feedbacks alone.
	UpdateArticle(ctx context.Context, a *Article) error
	// DeleteArticle removes an article with its revisions.
	DeleteArticle(ctx context.Context, id int64) error
	RevisionWriter
}

// RevisionWriter changes revisions.
type RevisionWriter interface {
	// InsertRevision stores a revision of an article, one with the number of another
	// is a Conflict fault. Views, Positive and Negative begin at 0.
	InsertRevision(ctx context.Context, r *Revision) error
	// UpdateRevision leaves Views, Positive and Negative alone.
	UpdateRevision(ctx context.Context, r *Revision) error
	DeleteRevision(ctx context.Context, articleID, number int64) error
}

// View is a number of views of a revision.
type View struct{ ArticleID, Revision, N int64 }

// Counts are to be added to the counters of a collection, or else of a category.
type Counts struct {
	CollectionID int64
	CategoryID   int64
	Counters
}

// CountWriter adds to counters, whatever others add at the same time.
type CountWriter interface {
	// AddViews adds to the views of revisions and of their articles. A revision that
	// is not there is passed over, an article that is not there NotFound.
	AddViews(ctx context.Context, views []View) error
	// AddCounts adds to counters in the order given, which lets nobody wait for each
	// other. One that is not there is NotFound.
	AddCounts(ctx context.Context, counts []Counts) error
}

// SearchReader finds articles of the site by their documents, also those that are
// not published.
type SearchReader interface {
	// FindArticles lists the documents that a query finds by document id. At most one
	// document of an article is found.
	FindArticles(ctx context.Context, q SearchQuery, seek storage.Seek) ([]Hit, error)
}

// PublicSearcher finds articles that are published.
type PublicSearcher interface {
	// FindPublished is FindArticles among those that are published.
	FindPublished(ctx context.Context, q SearchQuery, seek storage.Seek) ([]Hit, error)
	// FindPublishedEach is FindPublished for each of some words by itself, in place of the
	// Words of the query: the first hits of each, at most limit, in the order of the words.
	FindPublishedEach(ctx context.Context, q SearchQuery, words []SearchTerm, limit int) ([][]Hit, error)
	// Spellings lists, in order and at most 100, the words of AddSpellings that have a
	// variant (search.Variants) in common with the given ones.
	Spellings(ctx context.Context, variants []string) ([]string, error)
}

// SearchWriter keeps what articles are found by.
type SearchWriter interface {
	// SetDocuments replaces the documents of an article. That of a locale which it
	// had already keeps its id.
	SetDocuments(ctx context.Context, articleID int64, documents []Document) error
	// AddSpellings makes words of the site known to Spellings; those that are, stay.
	AddSpellings(ctx context.Context, words []string) error
}

// FeedbackReader reads what readers wrote.
type FeedbackReader interface {
	Feedback(ctx context.Context, id int64) (Feedback, error)
	// Feedbacks lists by id.
	Feedbacks(ctx context.Context, filter FeedbackFilter, seek storage.Seek) ([]Feedback, error)
}

// FeedbackWriter removes feedback.
type FeedbackWriter interface {
	// DeleteFeedback takes one off its article's Feedbacks.
	DeleteFeedback(ctx context.Context, id int64) error
}

// ResponseWriter keeps what visitors say.
type ResponseWriter interface {
	// InsertFeedback sets the SiteID too and adds one to the article's Feedbacks.
	InsertFeedback(ctx context.Context, f *Feedback) error
	// SetReaction replaces the visitor's reaction to the revision, and counts it in the
	// revision's Positive and Negative.
	SetReaction(ctx context.Context, r VisitorReaction) error
}

// VisitorTx is what the handle of visitors writes with.
type VisitorTx interface {
	PublicReader
	storage.Outbox
	ResponseWriter
}

// ExchangeKeyReader reads the keys of the site.
type ExchangeKeyReader interface {
	ExchangeKeys(ctx context.Context) ([]ExchangeKey, error)
}

// ExchangeKeyWriter gives keys.
type ExchangeKeyWriter interface {
	// SetExchangeKeys replaces the keys of what is named, and takes each key from what
	// had it. It does not look whether what is named is there.
	SetExchangeKeys(ctx context.Context, keys []ExchangeKey) error
}
