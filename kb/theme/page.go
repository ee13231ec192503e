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
	contentName = "content" // the name by which the layout calls the page
)

// Pages lists the names of the pages' templates.
func Pages() []string {
	return []string{PageHome, PageCollection, PageCategory, PageArticle, PageSearch, PageContact, PageSignIn, PageSignInCode, PageNotFound}
}

// Page is all the data that templates see. None of its types has methods, so that a theme has nothing to call. Addresses are
// absolute or begin with "/"; a page offers no link for those that are "".
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
	NoIndex     bool     // asks search engines not to index the page
	Image       *Image   // shown with links to the page
	Data        template.HTML
	FeedURL     string // Atom
	MarkdownURL string // the page as Markdown
	SignOutURL  string // form target for readers who have signed in to a private site
	Preview     string // "draft" or "theme" in a preview; "" on the site itself
	Site        Site
	Breadcrumbs []Link // from the home page to the page's parent
	Collections []Collection
	Popular     []Article // read most
	Recent      []Article // changed most recently
	Articles    []Article // of a site without collections
	Collection  *Collection
	Category    *Category
	Article     *Article
	Search      *Search
	Contact     *Contact
	SignIn      *SignIn
}

// Site is the knowledge base of the page.
type Site struct {
	Name        string
	URL         string        // of the home page in the page's locale
	SearchURL   string        // target of a form with the field "query"
	SuggestURL  string        // returns titles for "query" to a script, as JSON
	ContactURL  string        // of the contact form
	Head        template.HTML // the owner's additions to <head>
	Logo        *Image
	LogoDark    *Image // on dark pages
	Favicon     *Image
	Hero        string // tint, plain or accent
	Title       string // of the home page; "": the theme's
	Line        string // below it
	Searches    []Link // suggested
	HeaderLinks []Link
	FooterLinks []Link
	Copyright   string // shown after © and the year
	Year        int
	ContactText string // when and how messages are answered
}

// Image is an image with its size in pixels, 0 when unknown.
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
	Next          string    // address of the next articles
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
	Next          string // address of the next articles
	Current       bool   // contains the article shown
}

// Article is an article in full or, without content, an entry of a list.
type Article struct {
	ID         int64
	Title      string
	Summary    string
	Content    template.HTML // cleaned
	URL        string
	Locale     string // of the content; in a list "" where it is the page's
	Dir        string
	Fallback   bool   // not translated into the page's language
	UpdatedAt  string // RFC 3339
	Outdated   bool   // the translation is older than its source
	Section    string // name of its collection, in lists
	Current    bool   // it is the page's article, in the list of its section
	Headings   []Heading
	Sections   []Category // articles next to it, and the categories next to its own
	Previous   *Article
	Next       *Article
	Related    []Article
	ViewURL    string // a request to it counts a view
	ReactURL   string // target of a form with the fields "reaction", positive or negative, and "feedback"
	Token      string // posted by the form
	Reaction   string // just sent by the reader
	Thanked    bool   // the reader has sent feedback
	Problem    string // with the reader's last submission
	Text       string // of the submitted feedback
	HeadingMin int    // lowest level in Headings
}

// Heading of an article, for its table of contents.
type Heading struct {
	Level  int // 2 for the highest headings of the article, up to 4
	Anchor string
	Text   string
}

// Search is a search query with its results.
type Search struct {
	Query   string
	Answer  *Answer // on the first page, if an article answers the question
	Count   int
	More    bool // there are more than Count
	Results []Result
	Next    string // address of the next page
}

// Answer is what an article says to a question, word for word.
type Answer struct {
	Text    template.HTML // escaped, with <mark>
	Title   string        // of the article
	Heading string        // under which the text stands; "": before the first
	URL     string        // of the place
	Locale  string        // of the texts; "": that of the page
	Dir     string
}

// Result is one search result.
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
	URL         string // target of the form
	Closed      bool   // messages cannot be sent
	Sent        bool   // the message was sent, to be answered to Email
	Asked       bool   // suggested articles were shown before sending
	Token       string // fields posted by the form
	Salt        string // of the proof of work
	Bits        int    // difficulty of the proof of work
	About       string // submitted value
	Message     string
	Name        string
	Email       string
	MaxFiles    int
	MaxMB       int64
	Fields      []ContactField // further questions
	Suggestions []Article
	Problems    []FieldProblem
	// The problem of each field, or "".
	AboutProblem, MessageProblem, NameProblem, EmailProblem, FilesProblem string
}

// ContactField is a question of the contact form.
type ContactField struct {
	Name    string // of its control
	Label   string
	Type    string // text, number, boolean, date, datetime, select, multiselect or url
	Value   string // submitted value
	Options []ContactOption
	Problem string // "" if there is none
}

// ContactOption is a possible answer to a question.
type ContactOption struct {
	Value, Label string
	Chosen       bool
}

// FieldProblem is a problem with a field of a form.
type FieldProblem struct{ Field, Text string }

// SignIn is the sign-in form of a private site: on PageSignIn, or on PageSignInCode, which then asks for the code of the
// second factor.
type SignIn struct {
	URL     string // target of the form
	Token   string // posted by the form
	Email   string // submitted value
	Step    string // on PageSignInCode: posted by the form
	Again   string // on PageSignInCode: where to start over
	Problem string
}
