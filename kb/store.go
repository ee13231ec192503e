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
// storagetest proves it. What is added to it later breaks your build, and the
// changelog tells it.
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

	UniqueActiveTheme = "active_theme" // SiteID of the themes that are active
	UniqueThemeFile   = "theme_file"   // (ThemeID, Path) of theme files
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
	Finder
	// Articles are the articles without their revisions, listed by SortOrder; Brief means
	// nothing to them.
	Articles() storage.RowReader[Article, ArticleFilter]
	// Categories are listed by SortOrder.
	Categories() storage.RowReader[Category, CategoryFilter]
	// Collections are listed by SortOrder.
	Collections() storage.RowReader[Collection, storage.NoFilter]
	Feedback() storage.RowReader[Feedback, FeedbackFilter]
	Files() storage.RowReader[File, storage.NoFilter]
	// Sites are those of the account, or the one of the scope, with what they have of the
	// account.
	Sites() storage.RowReader[Site, storage.NoFilter]
	// Themes have no UpdateAvailable, which is the service's to say.
	Themes() storage.RowReader[Theme, storage.NoFilter]
	// ThemeFiles are listed of the theme that the filter names, and of no other.
	ThemeFiles() storage.RowReader[ThemeFile, ThemeFileFilter]
}

// Rows are the rows of a scope in a transaction. How their nouns are declared is what
// [Nouns] returns. A row that refers to what is not of the site is NotFound.
type Rows interface {
	// Articles: CategoryIDs are sorted, and none is there twice. Delete removes an article
	// with its revisions.
	Articles() storage.Rows[Article, ArticleFilter]
	// Categories: one that has articles cannot be deleted.
	Categories() storage.Rows[Category, CategoryFilter]
	// Collections: one that has categories or articles cannot be deleted.
	Collections() storage.Rows[Collection, storage.NoFilter]
	// Feedback: Insert adds one to the article's Feedbacks, Delete takes one off.
	Feedback() storage.Rows[Feedback, FeedbackFilter]
	Files() storage.Rows[File, storage.NoFilter]
	// Sites: what one has of the account is not written. A host that another account has is
	// a Conflict fault with the code UniqueSiteHost. Delete removes a site with all that is
	// in it.
	Sites() storage.Rows[Site, storage.NoFilter]
	// Themes: Delete removes a theme with its files.
	Themes() storage.Rows[Theme, storage.NoFilter]
	ThemeFiles() storage.Rows[ThemeFile, ThemeFileFilter]
}

// ThemeFileFilter names the theme whose files are listed.
type ThemeFileFilter struct {
	ThemeID int64
}

// Finder finds what is more than rows of one noun, or finds them by more than their ids.
type Finder interface {
	ThemeReader
	ArticleReader
	PublishedReader
	ShelfReader
	SearchReader
	PublicSearcher
	ExchangeKeyReader
}

// PublicReader is what the handle of visitors reads with: nothing in it can ask for
// a draft or for what is unpublished.
type PublicReader interface {
	// Categories are those of Reader.
	Categories() storage.RowReader[Category, CategoryFilter]
	// Collections are those of Reader.
	Collections() storage.RowReader[Collection, storage.NoFilter]
	PublishedReader
	ShelfReader
	PublicSearcher
}

// ThemeReader finds themes and their files.
type ThemeReader interface {
	// ActiveTheme is NotFound when the site has none.
	ActiveTheme(ctx context.Context) (Theme, error)
	// ThemeFileByPath finds a file of a theme, byte by byte.
	ThemeFileByPath(ctx context.Context, themeID int64, path string) (ThemeFile, error)
}

// ArticleReader reads the articles of a site with their revisions, also what is not
// published.
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

// Tx reads and writes within a scope, in one transaction.
type Tx interface {
	Rows
	Finder
	// Reader is the transaction for who only reads.
	Reader() Reader
	storage.Outbox
	storage.AuditWriter
	ThemeWriter
	ArticleLocks
	RevisionWriter
	CountWriter
	SearchWriter
	ReactionWriter
	ExchangeKeyWriter
}

// ThemeWriter changes the files of themes.
type ThemeWriter interface {
	// DeleteThemeFiles removes those of the files that the theme has.
	DeleteThemeFiles(ctx context.Context, themeID int64, ids []int64) error
}

// ArticleLocks reads articles that are changed after they were read.
type ArticleLocks interface {
	// LockArticles returns those of ids that there are, by id, and keeps others from
	// changing them until the transaction ends.
	LockArticles(ctx context.Context, ids []int64) ([]Article, error)
}

// RevisionWriter changes revisions, which have no ids: an article and a number name them.
// The collection and the categories of one are not looked up.
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

// ReactionWriter keeps what visitors think.
type ReactionWriter interface {
	// SetReaction replaces the visitor's reaction to the revision, and counts it in the
	// revision's Positive and Negative.
	SetReaction(ctx context.Context, r VisitorReaction) error
}

// VisitorTx is what the handle of visitors writes with.
type VisitorTx interface {
	PublicReader
	storage.Outbox
	ReactionWriter
	// AddFeedback inserts a row of Feedback.
	AddFeedback(ctx context.Context, f *Feedback) error
}

// visitorTx is a transaction for a visitor, who may do nothing else in it.
type visitorTx struct {
	PublicReader
	storage.Outbox
	ReactionWriter
	rows Rows
}

func visiting(tx Tx) VisitorTx { return visitorTx{tx.Reader(), tx, tx, tx} }

// AddFeedback implements [VisitorTx].
func (t visitorTx) AddFeedback(ctx context.Context, f *Feedback) error {
	return t.rows.Feedback().Insert(ctx, f)
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
