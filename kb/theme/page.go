package theme

import "html/template"

// The pages, by the names of their templates.
const (
	PageHome       = "home"
	PageCollection = "collection"
	PageCategory   = "category"
	PageArticle    = "article"
	PageSearch     = "search"
	PageNotFound   = "not_found"

	layoutName  = "layout"
	contentName = "content" // by which the layout calls the page
)

// Pages lists the names of the pages' templates.
func Pages() []string {
	return []string{PageHome, PageCollection, PageCategory, PageArticle, PageSearch, PageNotFound}
}

// Page is all that the templates see. It is plain data: no type in it has methods, so
// that a theme has nothing to call. Addresses may be absolute or begin with "/"; those
// that are "" are not offered.
type Page struct {
	Title       string // of the page, without the site's name
	Description string
	URL         string // canonical address
	Locale      string // BCP 47
	Dir         string // ltr or rtl
	Locales     []Locale
	Site        Site
	Breadcrumbs []Link // from the home page to the page's parent
	Collections []Collection
	Collection  *Collection
	Category    *Category
	Article     *Article
	Search      *Search
}

// Site is the knowledge base that the page belongs to.
type Site struct {
	Name      string
	URL       string        // of the home page in the page's locale
	SearchURL string        // a form gets "query" there
	Head      template.HTML // the owner's additions to <head>
}

// Locale is an entry of the language menu.
type Locale struct {
	Code    string
	Name    string // in the language itself
	URL     string
	Current bool
}

// Link is a named address.
type Link struct{ Name, URL string }

// Collection of categories and articles.
type Collection struct {
	ID            int64
	Name          string
	Summary       string
	URL           string
	ArticlesCount int64
	Categories    []Category
	Articles      []Article
}

// Category of articles in a collection.
type Category struct {
	ID            int64
	Name          string
	Summary       string
	URL           string
	ArticlesCount int64
	Articles      []Article
}

// Article in full, or as an entry of a list: then without content.
type Article struct {
	ID          int64
	Title       string
	Summary     string
	Content     template.HTML // cleaned
	URL         string
	Locale      string // of the content; differs from the page's where there is no translation
	Dir         string
	UpdatedAt   string // RFC 3339
	Outdated    bool   // the translation is older than its source
	Headings    []Heading
	Related     []Article
	ReactionURL string // a form posts "reaction" there, positive or negative
	FeedbackURL string // a form posts "feedback" there
	Thanked     bool   // the reader has just done so
}

// Heading of an article.
type Heading struct {
	Level  int
	Anchor string
	Text   string
}

// Search is what a reader looked for and what there is.
type Search struct {
	Query   string
	Results []Result
	Next    string // address of the next page
}

// Result is a found article.
type Result struct {
	Title   string
	URL     string
	Snippet template.HTML // escaped, with <mark>
	Section string        // name of its collection
}
