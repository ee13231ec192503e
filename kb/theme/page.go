package theme

import "html/template"

// The pages, by the names of their templates.
const (
	PageHome       = "home"
	PageCollection = "collection"
	PageCategory   = "category"
	PageArticle    = "article"
	PageSearch     = "search"
	PageContact    = "contact"
	PageSignIn     = "sign_in"
	PageSignInCode = "sign_in_code"
	PageNotFound   = "not_found"

	layoutName  = "layout"
	contentName = "content" // by which the layout calls the page
)

// Pages lists the names of the pages' templates.
func Pages() []string {
	return []string{PageHome, PageCollection, PageCategory, PageArticle, PageSearch, PageContact, PageSignIn, PageSignInCode, PageNotFound}
}

// Page is all that the templates see. It is plain data: no type in it has methods, so
// that a theme has nothing to call. Addresses may be absolute or begin with "/"; those
// that are "" are not offered.
type Page struct {
	Kind        string // name of the page's template
	Title       string // of the page, without the site's name
	Description string
	URL         string // canonical address
	Locale      string // BCP 47
	Language    string // its name in the language itself
	Dir         string // ltr or rtl
	Locales     []Locale
	Languages   []Locale // of the <link rel="alternate"> elements, with x-default
	NoIndex     bool     // search engines keep away
	Image       *Image   // that links to the page are shown with
	Data        template.HTML
	FeedURL     string // Atom
	MarkdownURL string // the page as Markdown
	SignOutURL  string // that a form is sent to by who has signed in to a private site
	Preview     string // what is previewed: "draft" or "theme"; "" on the site itself
	Site        Site
	Breadcrumbs []Link // from the home page to the page's parent
	Collections []Collection
	Popular     []Article // read most
	Recent      []Article // changed last
	Articles    []Article // of a site without collections
	Collection  *Collection
	Category    *Category
	Article     *Article
	Search      *Search
	Contact     *Contact
	SignIn      *SignIn
}

// Site is the knowledge base that the page belongs to.
type Site struct {
	Name        string
	URL         string        // of the home page in the page's locale
	SearchURL   string        // a form gets "query" there
	SuggestURL  string        // a script gets titles for "query" there, as JSON
	ContactURL  string        // of the contact form
	Head        template.HTML // the owner's additions to <head>
	Logo        *Image
	LogoDark    *Image // on dark pages
	Favicon     *Image
	Hero        string // tint, plain or accent
	Title       string // of the home page; "": the theme's
	Line        string // below it
	Searches    []Link // proposed
	HeaderLinks []Link
	FooterLinks []Link
	Copyright   string // behind © and the year
	Year        int
	ContactText string // when and how messages are answered
}

// Image is a picture and its size in pixels, 0 where it is not known.
type Image struct {
	URL           string
	Type          string // media type
	Width, Height int
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
	Icon          string // for the function icon
	Locale        string // of the name; "": that of the page
	Dir           string
	ArticlesCount int64
	Categories    []Category
	Articles      []Article // that are in no category
	Next          string    // address of the articles behind them
}

// Category of articles in a collection.
type Category struct {
	ID            int64
	Name          string
	Summary       string
	URL           string
	Locale        string // of the name; "": that of the page
	Dir           string
	ArticlesCount int64
	Articles      []Article
	Next          string // address of the articles behind them
	Current       bool   // the article shown is in it
}

// Article in full, or as an entry of a list: then without content.
type Article struct {
	ID         int64
	Title      string
	Summary    string
	Content    template.HTML // cleaned
	URL        string
	Locale     string // of the content; in a list "" where it is the page's
	Dir        string
	Fallback   bool   // there is no translation into the page's language
	UpdatedAt  string // RFC 3339
	Outdated   bool   // the translation is older than its source
	Section    string // name of its collection, in lists
	Current    bool   // it is the page's, in the list of its section
	Headings   []Heading
	Sections   []Category // its siblings, and the categories beside its own
	Previous   *Article
	Next       *Article
	Related    []Article
	ViewURL    string // a request there counts a view
	ReactURL   string // a form posts "reaction" there, positive or negative, and "feedback"
	Token      string // that the form posts too
	Reaction   string // that the reader has just sent
	Thanked    bool   // the reader has sent feedback
	Problem    string // with what the reader has sent
	Text       string // of the feedback that was sent
	HeadingMin int    // the least level of Headings
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
	Count   int
	More    bool // there are more than Count
	Results []Result
	Next    string // address of the next page
}

// Result is a found article.
type Result struct {
	Title   string
	URL     string
	Locale  string // of the title; "": that of the page
	Dir     string
	Snippet template.HTML // escaped, with <mark>
	Path    []string      // names of its collection and its category
}

// Contact is the contact form.
type Contact struct {
	URL         string // the form posts there
	Closed      bool   // messages cannot be sent
	Sent        bool   // the message was sent, to be answered to Email
	Asked       bool   // the message was looked at: articles may answer it
	Token       string // fields that the form posts too
	Salt        string // of the proof of work
	Bits        int    // how much work it is
	About       string // what was filled in
	Message     string
	Name        string
	Email       string
	MaxFiles    int
	MaxMB       int64
	Suggestions []Article
	Problems    []FieldProblem
	// The problem of each field, "" for none.
	AboutProblem, MessageProblem, NameProblem, EmailProblem, FilesProblem string
}

// FieldProblem is a problem with a field of a form.
type FieldProblem struct{ Field, Text string }

// SignIn is the form of a private site: of PageSignIn, or of PageSignInCode, which asks for
// the code of a second factor next.
type SignIn struct {
	URL     string // the form posts there
	Token   string // that it posts too
	Email   string // what was filled in
	Step    string // on PageSignInCode: that it posts too
	Again   string // on PageSignInCode: where to begin again
	Problem string
}
