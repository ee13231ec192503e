package exchange

import (
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/helpwright/helpwright/kb"
)

// Site is what a folder holds.
type Site struct {
	Name       string
	Visibility string
	HTMLHead   string
	// Look is nil when the folder says nothing of it: an import leaves it as it is.
	Look        *Look
	Collections []Collection // by key
	Files       []File       // by name
	// Partial says that the folder has nothing of the site itself: an import leaves its
	// name, visibility, head and look as they are.
	Partial bool
}

// Collection is a folder below collections.
type Collection struct {
	Key          string
	SourceLocale string
	SortOrder    Number
	Icon         string          // "": it stays as it is, and is none of a new one
	Texts        map[string]Text // by locale
	Categories   []Category      // by key
	Articles     []Article       // by key
}

// Category is one of a collection's.
type Category struct {
	Key          string
	SourceLocale string
	SortOrder    Number
	Texts        map[string]Text // by locale
}

// Text is the name and the summary of a collection or category in one language.
type Text struct{ Name, Summary string }

// Article is one of a collection's, live and as a draft.
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
	Categories   []string               // keys, in order
	Texts        map[string]ArticleText // by locale
}

// ArticleText is an article in one language.
type ArticleText struct {
	Title, Summary string
	Format         Format
	Content        string // lines end with LF
}

// Format is what the content of an article is written in.
type Format string

// Formats. Markdown is the one that a file need not name.
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

// Number is a decimal number as it is written; "" is none.
type Number string

// IsZero leaves a number that is none out.
func (n Number) IsZero() bool { return n == "" }

// MarshalYAML writes the number as it is.
func (n Number) MarshalYAML() (any, error) {
	tag := "!!int"
	if strings.Contains(string(n), ".") {
		tag = "!!float"
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: string(n)}, nil
}

// UnmarshalYAML takes a number as it is written.
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

// normal is the number as the site writes it.
func (n Number) normal() Number {
	if place, err := kb.ParseSortOrder(string(n)); err == nil && n != "" {
		return Number(place.String())
	}
	return n
}
