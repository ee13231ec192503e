package mcp

import (
	"cmp"
	"context"
	"fmt"
	"html"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/contenthtml"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// maxArticle is the maximum number of bytes shown of an article.
const maxArticle = 64 << 10

func (v *visit) addArticles(s *mcp.Server) {
	if v.kb == nil || !v.knows(kb.SitesView, kb.ArticlesView) {
		return
	}
	add(v, s, reads("search_articles", "Search articles", "Finds articles of the help centre by their words, the best first."), v.searchArticles)
	add(v, s, reads("read_article", "Read an article", "Reads an article of the help centre, as Markdown or text."), v.readArticle)
	if v.knows(kb.ArticlesCreate) || v.knows(kb.ArticlesUpdate) {
		add(v, s, writes("draft_article", "Draft an article",
			"Writes a draft for the help centre: a new article, or a new text of one that there is. Readers do not see it until a member of the team publishes it."), v.draftArticle)
	}
}

// knows reports whether the caller has permissions of the knowledge base.
func (v *visit) knows(all ...kb.Permission) bool {
	for _, p := range all {
		if !v.desk.Holds(identity.Permission(p)) {
			return false
		}
	}
	return true
}

// site opens a help centre of the account; 0 selects the only one.
func (v *visit) site(ctx context.Context, id int64) (kb.Site, *kb.Editor, error) {
	list, err := v.kb.Sites(v.caller)
	if err != nil {
		return kb.Site{}, nil, err
	}
	page, err := list.List(ctx, v.desk.AccountID(), storage.PageRequest{Limit: storage.MaxLimit})
	if err != nil {
		return kb.Site{}, nil, err
	}
	names := make([]string, len(page.Items))
	for i, s := range page.Items {
		if s.ID == id || id == 0 && len(page.Items) == 1 {
			editor, err := v.kb.Editor(ctx, v.caller, s.ID)
			return s, editor, err
		}
		names[i] = fmt.Sprintf("%d (%s)", s.ID, s.Name)
	}
	if id == 0 && len(names) > 0 {
		return kb.Site{}, nil, fault.Field("site_id", "must be one of "+strings.Join(names, ", "))
	}
	return kb.Site{}, nil, fault.Missing("site", id)
}

type searchArticlesInput struct {
	Words  string `json:"words"`
	Locale string `json:"locale,omitempty" jsonschema:"language of the reader, such as en or pt-BR; absent: the account's"`
	SiteID int64  `json:"site_id,omitempty" jsonschema:"help centre; may be absent where there is one"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next_cursor of the page before"`
}

type foundArticle struct {
	ID        int64  `json:"id"`
	SiteID    int64  `json:"site_id"`
	Title     string `json:"title"`
	Locale    string `json:"locale"`
	Snippet   string `json:"snippet,omitempty"`
	Published bool   `json:"published" jsonschema:"readers see it"`
	URL       string `json:"url"`
}

type articlePage struct {
	Articles   []foundArticle `json:"articles"`
	NextCursor string         `json:"next_cursor,omitempty" jsonschema:"absent: there are no more"`
}

func (v *visit) searchArticles(ctx context.Context, in searchArticlesInput) (out articlePage, err error) {
	if strings.TrimSpace(in.Words) == "" {
		return out, fault.Field("words", "is required")
	}
	_, editor, err := v.site(ctx, in.SiteID)
	if err != nil {
		return out, err
	}
	page, err := editor.Search(ctx, in.Words, wanted(in.Locale), kb.ArticleFilter{}, storage.PageRequest{Limit: pageSize, Cursor: in.Cursor})
	if err != nil {
		return out, err
	}
	out = articlePage{Articles: make([]foundArticle, len(page.Items)), NextCursor: page.Next}
	for i, a := range page.Items {
		t := a.Revision.Serve(editor.DefaultLocale(), a.Locale)
		out.Articles[i] = foundArticle{
			ID: a.Article.ID, SiteID: a.Article.SiteID, Title: t.Title, Locale: t.Locale, Snippet: plain(a.Highlight.Snippet),
			Published: a.Revision.Status == kb.Published, URL: articleURL(editor, a.Article.ID, t),
		}
	}
	return out, nil
}

func wanted(locale string) []string {
	if locale == "" {
		return nil
	}
	return []string{locale}
}

// plain returns the text of a highlight, whose only elements are marks.
func plain(highlight string) string {
	return html.UnescapeString(strings.NewReplacer("<mark>", "", "</mark>", "").Replace(highlight))
}

func articleURL(e *kb.Editor, id int64, t kb.Translation) string {
	return e.URL() + kb.PagePath(t.Locale, kb.ArticlePages, id, t.Title)
}

type readArticleInput struct {
	ArticleID int64  `json:"article_id"`
	SiteID    int64  `json:"site_id,omitempty" jsonschema:"help centre; may be absent where there is one"`
	Locale    string `json:"locale,omitempty" jsonschema:"language, such as en or pt-BR; absent: the account's"`
	Draft     bool   `json:"draft,omitempty" jsonschema:"the draft, if there is one, instead of what readers see"`
}

type article struct {
	ID        int64    `json:"id"`
	SiteID    int64    `json:"site_id"`
	Title     string   `json:"title"`
	Summary   string   `json:"summary,omitempty"`
	Locale    string   `json:"locale"`
	Locales   []string `json:"locales" jsonschema:"languages that it is there in"`
	Text      string   `json:"text" jsonschema:"Markdown where it was written so, else plain text; long ones are cut, which […] shows"`
	Published bool     `json:"published" jsonschema:"readers see it"`
	HasDraft  bool     `json:"has_draft"`
	UpdatedAt string   `json:"updated_at"`
	URL       string   `json:"url"`
}

func (v *visit) readArticle(ctx context.Context, in readArticleInput) (out article, err error) {
	_, editor, err := v.site(ctx, in.SiteID)
	if err != nil {
		return out, err
	}
	read := editor.Article
	if in.Draft {
		read = editor.Draft
	}
	a, err := read(ctx, in.ArticleID)
	if err != nil {
		return out, err
	}
	t := a.Revision.Serve(editor.DefaultLocale(), wanted(in.Locale)...)
	t = t.Linked(func(to kb.Reference) string { return editor.URL() + to.Path(t.Locale) })
	out = article{
		ID: a.Article.ID, SiteID: a.Article.SiteID, Title: t.Title, Summary: t.Summary, Locale: t.Locale,
		Text:      cut(cmp.Or(t.Markdown, contenthtml.Text(t.Content)), maxArticle),
		Published: a.Revision.Status == kb.Published && a.Revision.Number == a.Article.Live, HasDraft: a.Article.Draft != 0,
		UpdatedAt: moment(a.Revision.UpdatedAt), URL: articleURL(editor, a.Article.ID, t),
	}
	for _, one := range a.Revision.Translations {
		out.Locales = append(out.Locales, one.Locale)
	}
	return out, nil
}

type draftArticleInput struct {
	ArticleID    int64  `json:"article_id,omitempty" jsonschema:"the article that gets a new text; absent: a new one"`
	SiteID       int64  `json:"site_id,omitempty" jsonschema:"help centre; may be absent where there is one"`
	CollectionID int64  `json:"collection_id,omitempty" jsonschema:"of a new article; may be absent where there is one"`
	Locale       string `json:"locale,omitempty" jsonschema:"language of the text; absent: that of the article, or the account's"`
	Title        string `json:"title,omitempty" jsonschema:"required for a new article or language"`
	Summary      string `json:"summary,omitempty"`
	Markdown     string `json:"markdown" jsonschema:"the whole text (CommonMark with tables)"`
}

type drafted struct {
	ID     int64  `json:"id"`
	SiteID int64  `json:"site_id"`
	Title  string `json:"title"`
	Locale string `json:"locale"`
}

// draftArticle creates an unpublished article, or a draft of a published one.
func (v *visit) draftArticle(ctx context.Context, in draftArticleInput) (out drafted, err error) {
	if strings.TrimSpace(in.Markdown) == "" {
		return out, fault.Field("markdown", "is required")
	}
	_, editor, err := v.site(ctx, in.SiteID)
	if err != nil {
		return out, err
	}
	text := kb.TranslationInput{Markdown: storage.Some(in.Markdown)}
	if in.Title != "" {
		text.Title = storage.Some(in.Title)
	}
	if in.Summary != "" {
		text.Summary = storage.Some(in.Summary)
	}
	var made kb.ArticleRevision
	locale := in.Locale
	if in.ArticleID == 0 {
		locale = cmp.Or(locale, editor.DefaultLocale())
		made, err = v.newArticle(ctx, editor, in.CollectionID, locale, text)
	} else {
		made, locale, err = redraft(ctx, editor, in.ArticleID, locale, text)
	}
	if err != nil {
		return out, err
	}
	t := made.Revision.Serve(editor.DefaultLocale(), locale)
	return drafted{ID: made.Article.ID, SiteID: made.Article.SiteID, Title: t.Title, Locale: t.Locale}, nil
}

func (v *visit) newArticle(ctx context.Context, editor *kb.Editor, collection int64, locale string, text kb.TranslationInput) (kb.ArticleRevision, error) {
	if collection == 0 {
		page, err := editor.Collections(ctx, false, storage.PageRequest{Limit: storage.MaxLimit})
		if err != nil {
			return kb.ArticleRevision{}, err
		}
		names := make([]string, len(page.Items))
		for i, c := range page.Items {
			names[i] = fmt.Sprintf("%d (%s)", c.ID, c.Serve(editor.DefaultLocale(), locale).Title)
		}
		if len(names) != 1 {
			return kb.ArticleRevision{}, fault.Field("collection_id", "must be one of "+cmp.Or(strings.Join(names, ", "), "those of the help centre, which has none yet"))
		}
		collection = page.Items[0].ID
	}
	return editor.CreateArticle(ctx, kb.ArticleInput{
		TextInput:    kb.TextInput{SourceLocale: locale, Translations: map[string]storage.Opt[kb.TranslationInput]{locale: storage.Some(text)}},
		CollectionID: collection, Status: storage.Some(kb.Unpublished),
	})
}

// redraft changes one language of the draft of an article, and creates the draft if there is none.
func redraft(ctx context.Context, editor *kb.Editor, id int64, locale string, text kb.TranslationInput) (kb.ArticleRevision, string, error) {
	a, err := editor.Draft(ctx, id)
	if err != nil {
		return a, "", err
	}
	locale = cmp.Or(locale, a.Revision.SourceLocale)
	made, err := editor.UpdateDraft(ctx, id, kb.ArticleInput{
		TextInput:    kb.TextInput{SourceLocale: a.Revision.SourceLocale, Translations: map[string]storage.Opt[kb.TranslationInput]{locale: storage.Some(text)}},
		CollectionID: a.Revision.CollectionID,
	})
	return made, locale, err
}
