package kb

import (
	"context"

	"github.com/helpwright/helpwright/storage"
)

// Scope is the part of the data that a handle may touch: one site of one account. SiteID 0 covers the account and its list
// of sites, but not their contents.
type Scope struct{ AccountID, SiteID int64 }

// Store stores the data of the knowledge base. It only stores and finds; the service holds all rules. The KB methods of
// bunstore and memstore return one. You can write your own: storagetest checks it. Methods added later break your build, and
// the changelog announces them.
//
// Errors are faults: NotFound for a row that is absent or outside the scope (the two must be indistinguishable; lists leave
// such rows out), Conflict for a violated uniqueness rule (Code says which, see the Unique constants), Unavailable while the
// database cannot be reached. Strings are valid UTF-8 without NUL; times are UTC in microseconds, and the zero time means
// none. Insert methods set the IDs of the rows they are given. Writing to an account or a site that does not exist is a
// NotFound fault.
type Store interface {
	Directory
	// Within returns the readers of a scope. Each call reads its own snapshot.
	Within(s Scope) Reader
	// InTx runs fn in one transaction, which it commits when fn returns nil and rolls back otherwise. It may run fn again after
	// a transient conflict of the database, so fn must have no effects outside the transaction; such effects are jobs put into
	// the outbox.
	InTx(ctx context.Context, s Scope, fn func(ctx context.Context, tx Tx) error) error
	// InSnapshot runs fn once with readers that all see one state, whatever is written meanwhile: of the sites that fn asks for
	// by their scopes. It may last long and keeps nobody from writing; the readers are used up when fn returns.
	InSnapshot(ctx context.Context, fn func(ctx context.Context, within func(Scope) Reader) error) error
}

// Codes of the Conflict faults that a store returns for a violated uniqueness rule.
const (
	UniqueSitePath = "site_path" // (HostKey, Path) of sites, over all accounts
	UniqueSiteHost = "site_host" // HostKey of the sites of one account, except SharedHost, which all accounts use

	UniqueActiveTheme = "active_theme" // SiteID of the themes that are active
	UniqueThemeFile   = "theme_file"   // (ThemeID, Path) of theme files
)

// Directory finds rows before the account is known.
type Directory interface {
	// FindSite finds a site of any account.
	FindSite(ctx context.Context, id int64) (Site, error)
	// SiteByAddress returns the site, in any account, that has the HostKey and the longest of the given paths, which differ in
	// length.
	SiteByAddress(ctx context.Context, hostKey string, paths ...string) (Site, error)
	// HasHost reports whether any site has a HostKey, whatever its path.
	HasHost(ctx context.Context, hostKey string) (bool, error)
	// PublicSites returns the public sites, of all accounts, that have a HostKey, by path; at most limit.
	PublicSites(ctx context.Context, hostKey string, limit int) ([]Site, error)
}

// Reader reads within a scope.
type Reader interface {
	Finder
	// Articles returns articles without their revisions, listed by SortOrder. It ignores the filter's Brief and ByViews.
	Articles() storage.RowReader[Article, ArticleFilter]
	// Categories are listed by SortOrder.
	Categories() storage.RowReader[Category, CategoryFilter]
	// Collections are listed by SortOrder.
	Collections() storage.RowReader[Collection, storage.NoFilter]
	Feedback() storage.RowReader[Feedback, FeedbackFilter]
	Files() storage.RowReader[File, storage.NoFilter]
	// Sites returns the sites of the account, or the one of the scope, with the fields that come from the account.
	Sites() storage.RowReader[Site, storage.NoFilter]
	// Themes leaves UpdateAvailable to the service.
	Themes() storage.RowReader[Theme, storage.NoFilter]
	// ThemeFiles lists the files of the theme in the filter only.
	ThemeFiles() storage.RowReader[ThemeFile, ThemeFileFilter]
}

// rowsOf returns what a reader returns for each noun, by the name of the method.
func rowsOf(r Reader) map[string]any {
	return map[string]any{
		"Articles": r.Articles(), "Categories": r.Categories(), "Collections": r.Collections(), "Feedback": r.Feedback(),
		"Files": r.Files(), "Sites": r.Sites(), "Themes": r.Themes(), "ThemeFiles": r.ThemeFiles(),
	}
}

// Rows reads and writes the rows of a scope in a transaction. [Nouns] declares the nouns. A row that refers to something
// outside the site is a NotFound fault.
type Rows interface {
	// Articles: CategoryIDs are sorted and distinct. Delete deletes an article with its revisions.
	Articles() storage.Rows[Article, ArticleFilter]
	// Categories: one that has articles cannot be deleted.
	Categories() storage.Rows[Category, CategoryFilter]
	// Collections: one that has categories or articles cannot be deleted.
	Collections() storage.Rows[Collection, storage.NoFilter]
	// Feedback: Insert increments the article's Feedbacks, Delete decrements it.
	Feedback() storage.Rows[Feedback, FeedbackFilter]
	Files() storage.Rows[File, storage.NoFilter]
	// Sites: fields that come from the account are not written. A host that another account uses is a Conflict fault with the
	// code UniqueSiteHost. Delete deletes a site with everything in it.
	Sites() storage.Rows[Site, storage.NoFilter]
	// Themes: Delete removes a theme with its files.
	Themes() storage.Rows[Theme, storage.NoFilter]
	ThemeFiles() storage.Rows[ThemeFile, ThemeFileFilter]
}

// ThemeFileFilter selects the theme whose files are listed.
type ThemeFileFilter struct {
	ThemeID int64
}

// Finder holds the queries beyond the rows of one noun by id or filter.
type Finder interface {
	ThemeReader
	ArticleReader
	PublishedReader
	ShelfReader
	SearchReader
	PublicSearcher
	ExchangeKeyReader
}

// PublicReader is what visitors' handles read with: none of its methods can return a draft or unpublished content.
type PublicReader interface {
	// Categories is that of Reader.
	Categories() storage.RowReader[Category, CategoryFilter]
	// Collections is that of Reader.
	Collections() storage.RowReader[Collection, storage.NoFilter]
	PublishedReader
	ShelfReader
	PublicSearcher
}

// ThemeReader finds themes and their files.
type ThemeReader interface {
	// ActiveTheme returns the active theme, or a NotFound fault when the site has none.
	ActiveTheme(ctx context.Context) (Theme, error)
	// ThemeFileByPath finds a file of a theme by its exact path, compared bytewise.
	ThemeFileByPath(ctx context.Context, themeID int64, path string) (ThemeFile, error)
}

// ArticleReader reads the articles of a site with their revisions, including unpublished ones.
type ArticleReader interface {
	LiveArticle(ctx context.Context, id int64) (ArticleRevision, error)
	// LiveArticles lists by SortOrder.
	LiveArticles(ctx context.Context, filter ArticleFilter, seek storage.Seek) ([]ArticleRevision, error)
	Revision(ctx context.Context, articleID, number int64) (Revision, error)
	// Revisions lists the revisions of an article by number, which is the ID of a position.
	Revisions(ctx context.Context, articleID int64, seek storage.Seek) ([]Revision, error)
	// RevisionsByKey returns the revisions with these keys that exist, with their articles, in any order.
	RevisionsByKey(ctx context.Context, keys []RevisionKey) ([]ArticleRevision, error)
}

// RevisionKey identifies a revision.
type RevisionKey struct{ ArticleID, Number int64 }

// PublishedReader reads the live revisions of published articles.
type PublishedReader interface {
	PublishedArticle(ctx context.Context, id int64) (ArticleRevision, error)
	// PublishedArticles lists by SortOrder, or by Views if the filter says so.
	PublishedArticles(ctx context.Context, filter ArticleFilter, seek storage.Seek) ([]ArticleRevision, error)
}

// ArticleOrder is an order of articles other than the sort order.
type ArticleOrder string

// The orders.
const (
	MostViewed    ArticleOrder = "views"   // only articles with views, by Views, then newest first
	LatestChanged ArticleOrder = "changed" // by ChangedAt, then newest first
)

// ShelfReader reads the published content for overview pages. Its articles are brief, see [ArticleFilter].
type ShelfReader interface {
	// TopArticles returns the first articles of the site in the given order.
	TopArticles(ctx context.Context, order ArticleOrder, limit int) ([]ArticleRevision, error)
	// FirstArticles returns the first articles of each category by SortOrder. The result has each article once, also by
	// SortOrder. If a category is given twice, the last one counts.
	FirstArticles(ctx context.Context, of []FirstOf) ([]ArticleRevision, error)
	// Beside returns the articles before and after a position by SortOrder; a missing one is the zero value.
	Beside(ctx context.Context, filter ArticleFilter, at storage.Position) (before, after ArticleRevision, err error)
	// Front returns the data that every page of the site shows.
	Front(ctx context.Context) (Front, error)
	// Shelf returns a collection with the first limit of its categories by SortOrder. A missing collection is a NotFound fault.
	Shelf(ctx context.Context, collectionID int64, limit int) (Shelf, error)
}

// FirstOf asks for the first N articles of a category.
type FirstOf struct {
	CategoryID int64
	N          int
}

// Front is the data that every page of a site shows.
type Front struct {
	Locales       []string // sorted, of the published documents
	ThemeID       int64    // the active theme; 0: none
	ThemeRevision int64    // changes whenever the active theme's files do
}

// Shelf is a collection with its first categories.
type Shelf struct {
	Collection Collection
	Categories []Category
}

// Tx reads and writes within a scope, in one transaction.
type Tx interface {
	Rows
	Finder
	// Reader returns the transaction as a Reader.
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
	TransferWriter
}

// ThemeWriter changes the files of themes.
type ThemeWriter interface {
	// DeleteThemeFiles deletes those of the files that belong to the theme.
	DeleteThemeFiles(ctx context.Context, themeID int64, ids []int64) error
}

// ArticleLocks reads articles in order to change them.
type ArticleLocks interface {
	// LockArticles returns the articles with these ids that exist, by id, and prevents other transactions from changing them
	// until this one ends.
	LockArticles(ctx context.Context, ids []int64) ([]Article, error)
}

// RevisionWriter changes revisions. They have no ids: the article and a number identify them. A revision's collection and
// categories need not exist.
type RevisionWriter interface {
	// InsertRevision stores a revision of an article. A number that is already taken is a Conflict fault. Views, Positive and
	// Negative start at 0.
	InsertRevision(ctx context.Context, r *Revision) error
	// UpdateRevision does not write Views, Positive and Negative.
	UpdateRevision(ctx context.Context, r *Revision) error
	DeleteRevision(ctx context.Context, articleID, number int64) error
}

// View is a number of views of one revision.
type View struct{ ArticleID, Revision, N int64 }

// Counts is a change to the counters of a collection or of a category.
type Counts struct {
	CollectionID int64
	CategoryID   int64
	Counters
}

// CountWriter adds to counters; concurrent additions are not lost.
type CountWriter interface {
	// AddViews adds to the views of revisions and of their articles. A missing revision is skipped, a missing article is a
	// NotFound fault.
	AddViews(ctx context.Context, views []View) error
	// AddCounts adds to counters in the order given, which prevents deadlocks. A missing row is a NotFound fault.
	AddCounts(ctx context.Context, counts []Counts) error
}

// SearchReader finds articles of the site by their documents, including unpublished ones.
type SearchReader interface {
	// Postings returns, for each term of the query, the postings of the documents that have it, by rank; within a rank at most
	// the query's limit, by term, weight, and document, all descending.
	Postings(ctx context.Context, q PostingQuery) ([][]Posting, error)
}

// PublicSearcher finds published articles.
type PublicSearcher interface {
	// PublishedPostings is Postings restricted to published documents.
	PublishedPostings(ctx context.Context, q PostingQuery) ([][]Posting, error)
	// PostingsAmong returns the postings of documents, which Postings has returned, for some terms, by document and term.
	PostingsAmong(ctx context.Context, documents []int64, terms []SearchTerm) ([]Posting, error)
	// Frequencies returns how many published documents there are, counting to twenty times a limit, and how many have each of
	// some terms, counting to the limit.
	Frequencies(ctx context.Context, terms []string, limit int) (documents int64, each []int64, err error)
	// FindDocuments returns those of some documents that are in the languages in which their articles are shown, by id.
	FindDocuments(ctx context.Context, q DocumentQuery) ([]Hit, error)
	// Spellings returns the words added by AddSpellings that share a variant (search.Variants) with the given ones, sorted, at
	// most 500.
	Spellings(ctx context.Context, variants []string) ([]string, error)
}

// SearchWriter writes the search index.
type SearchWriter interface {
	// SetDocuments replaces the documents of an article. The document of a locale that it already had keeps its id.
	SetDocuments(ctx context.Context, articleID int64, documents []Document) error
	// AddSpellings adds words of the site for Spellings; existing ones are kept.
	AddSpellings(ctx context.Context, words []string) error
}

// ReactionWriter writes the reactions of visitors.
type ReactionWriter interface {
	// SetReaction replaces the visitor's reaction to the revision, and counts it in the revision's Positive and Negative.
	SetReaction(ctx context.Context, r VisitorReaction) error
}

// VisitorTx is what visitors' handles write with.
type VisitorTx interface {
	PublicReader
	storage.Outbox
	ReactionWriter
	// AddFeedback inserts a row of Feedback.
	AddFeedback(ctx context.Context, f *Feedback) error
}

// visitorTx is a transaction limited to what a visitor may write.
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

// ExchangeKeyWriter assigns keys.
type ExchangeKeyWriter interface {
	// SetExchangeKeys replaces the keys of the named resources, and takes each key from its former owner. The resources need
	// not exist.
	SetExchangeKeys(ctx context.Context, keys []ExchangeKey) error
}
