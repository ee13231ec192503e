package api

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/transport"
)

// answer is what an article says to a question.
type answer struct {
	Text      string `json:"text" description:"One to three sentences of the article, word for word, as plain text."`
	Highlight string `json:"highlight" description:"The text as HTML, with the words of the question in mark elements."`
	Heading   string `json:"heading" description:"Heading under which they stand; empty before the first."`
	ArticleID int64  `json:"article_id" description:"The article that says it."`
	Title     string `json:"title" description:"Of the article."`
	Locale    string `json:"locale"`
	URL       string `json:"url" description:"Of the place on the site."`
}

type answerQuery struct {
	Localized
	Query string `query:"query" required:"true" description:"A question, or words."`
	Limit int    `query:"limit" minimum:"1" maximum:"5" default:"3" description:"At most one answer of each article."`
}

func (a *api) addAnswers(t *transport.Table) {
	transport.Handle(t, a.reading(kb.ArticlesView), transport.Operation{
		ID: "listAnswers", Method: http.MethodGet, Path: sitePath + "/answers", Tag: "Articles", Summary: "Answer a question from a site's articles", Public: true,
		Description: "Quotes sentences of published articles that answer the question, best first; none if no article does. Works without a token on public sites.",
	}, func(ctx context.Context, r reading, in answerQuery) ([]answer, error) {
		found, err := r.Answers(ctx, in.Query, in.wanted(r.accept), cmp.Or(in.Limit, 3))
		all := []answer{}
		for _, one := range found {
			title := one.Revision.Serve(r.DefaultLocale(), one.Locale).Title
			at := r.URL() + kb.PagePath(one.Locale, kb.ArticlePages, one.Article.ID, title)
			if one.Heading.Anchor != "" {
				at += "#" + url.PathEscape(one.Heading.Anchor)
			}
			all = append(all, answer{one.Text, one.Highlight, one.Heading.Text, one.Article.ID, title, one.Locale, at})
		}
		return all, err
	})
}
