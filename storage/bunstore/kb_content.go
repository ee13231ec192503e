package bunstore

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"

	"github.com/helpwright/helpwright/kb"
)

// translation is a [kb.Translation] as stored in a column.
type translation struct {
	Locale    string `json:"l"`
	Number    int64  `json:"n"`
	Title     string `json:"t,omitempty"`
	Summary   string `json:"s,omitempty"`
	Content   string `json:"c,omitempty"`
	Markdown  string `json:"m,omitempty"`
	UpdatedAt int64  `json:"u"`
	SourceAt  int64  `json:"a,omitempty"`
	MadeFrom  *made  `json:"f,omitempty"`
}

// made is a [kb.SourceText] as stored in a column.
type made struct {
	Title    string `json:"t,omitempty"`
	Summary  string `json:"s,omitempty"`
	Content  string `json:"c,omitempty"`
	Markdown string `json:"m,omitempty"`
}

// translations is a column with a JSON array. HTML is not escaped, which would double its length.
type translations []translation

// Value implements [driver.Valuer].
func (l translations) Value() (driver.Value, error) {
	if len(l) == 0 {
		return "[]", nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode([]translation(l))
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), err
}

// Scan implements [sql.Scanner].
func (l *translations) Scan(src any) error {
	*l = nil
	return scanJSON(src, (*[]translation)(l))
}

func (l translations) text(source string) kb.Text {
	return kb.Text{SourceLocale: source, Translations: mapped(l, func(t *translation) kb.Translation {
		o := kb.Translation{
			Locale: t.Locale, Number: t.Number, Title: t.Title, Summary: t.Summary, Content: t.Content, Markdown: t.Markdown, UpdatedAt: timeOf(t.UpdatedAt),
			SourceAt: timeOf(t.SourceAt),
		}
		if t.MadeFrom != nil {
			o.MadeFrom = kb.SourceText(*t.MadeFrom)
		}
		return o
	})}
}

func translationsOf(t kb.Text) translations {
	return mapped(t.Translations, func(t *kb.Translation) translation {
		o := translation{
			Locale: t.Locale, Number: t.Number, Title: t.Title, Summary: t.Summary, Content: t.Content, Markdown: t.Markdown, UpdatedAt: micros(t.UpdatedAt),
			SourceAt: micros(t.SourceAt),
		}
		if t.MadeFrom != (kb.SourceText{}) {
			of := made(t.MadeFrom)
			o.MadeFrom = &of
		}
		return o
	})
}

var countedShelf = counted("articles", "categories", "views", "published_articles", "published_views")

// counters holds the counter columns of collections and categories. They are only ever incremented, never overwritten.
type counters struct {
	Articles          int64 `bun:",scanonly"`
	Categories        int64 `bun:",scanonly"`
	Views             int64 `bun:",scanonly"`
	PublishedArticles int64 `bun:",scanonly"`
	PublishedViews    int64 `bun:",scanonly"`
}

func (c counters) counters() kb.Counters {
	return kb.Counters{
		Articles: c.Articles, Categories: c.Categories, Views: c.Views, PublishedArticles: c.PublishedArticles, PublishedViews: c.PublishedViews,
	}
}
