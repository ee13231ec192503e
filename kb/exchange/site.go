package exchange

import (
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/helpwright/helpwright/kb"
)

// Site is the content of a folder.
type Site struct {
	Name       string
	Visibility string
	HTMLHead   string
	// Look is nil when the folder does not set it: an import then leaves it unchanged.
	Look        *Look
	Collections []Collection // by key
	Files       []File       // by name
	// Partial means that the folder has no fields of the site itself: an import leaves its name, visibility, head and look
	// unchanged.
	Partial bool
}

// Collection is a folder below collections.
type Collection struct {
	Key          string
	SourceLocale string
	SortOrder    Number
	Icon         string          // "": unchanged, and none for a new collection
	Texts        map[string]Text // by locale
	Categories   []Category      // by key
	Articles     []Article       // by key
}

// Category is a category of a collection.
type Category struct {
	Key          string
	SourceLocale string
	SortOrder    Number
	Texts        map[string]Text // by locale
}

// Text is the name and the summary of a collection or category in one language.
type Text struct{ Name, Summary string }

// Article is an article of a collection, live and as a draft.
type Article struct {
	Key  string
	Live Version
	// Draft is nil when there is none.
	Draft *Version
}

// Version is the live or the draft version of an article.
type Version struct {
	Status       string
	SourceLocale string
	SortOrder    Number
	Categories   []string               // keys, sorted
	Texts        map[string]ArticleText // by locale
	// Unfinished allows the source to have no title and no content yet, of a version that readers do not see.
	Unfinished bool
}

// ArticleText is an article in one language.
type ArticleText struct {
	Title, Summary string
	Format         Format
	Content        string // lines end with LF
}

// Format is the markup of an article's content.
type Format string

// Formats. A file without a format is Markdown.
const (
	Markdown Format = "markdown"
	HTML     Format = "html"
)

// File is a file below files.
type File struct {
	Name string // its key: a file name without folders
	Size int64  // bytes
	Open func() (io.ReadCloser, error)
}

// Number is a decimal number as written; "" is none.
type Number string

// IsZero omits an empty number.
func (n Number) IsZero() bool { return n == "" }

// MarshalYAML writes the number unchanged.
func (n Number) MarshalYAML() (any, error) {
	tag := "!!int"
	if strings.Contains(string(n), ".") {
		tag = "!!float"
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: string(n)}, nil
}

// UnmarshalYAML reads a number as written.
func (n *Number) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.ScalarNode || node.Tag != "!!int" && node.Tag != "!!float" || !decimal.MatchString(node.Value) {
		return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: %s", node.Line, needsNumber)}}
	}
	if _, err := kb.ParseSortOrder(node.Value); err != nil {
		return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: %v", node.Line, err)}}
	}
	*n = Number(node.Value)
	return nil
}

// normal returns the number as the site writes it.
func (n Number) normal() Number {
	if place, err := kb.ParseSortOrder(string(n)); err == nil && n != "" {
		return Number(place.String())
	}
	return n
}
