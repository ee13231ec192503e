package api

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// article is a revision of an article as the API shows it.
type article struct {
	ID           int64                         `json:"id"`
	SiteID       int64                         `json:"site_id"`
	Status       string                        `json:"status" enum:"published,unpublished"`
	Title        string                        `json:"title" description:"Title in the language of this answer, like summary and content."`
	Summary      string                        `json:"summary"`
	Content      string                        `json:"content" description:"HTML, sanitized for embedding in a page."`
	SourceLocale string                        `json:"source_locale"`
	Locale       string                        `json:"locale" description:"Language of this answer."`
	SortOrder    Decimal                       `json:"sort_order"`
	Revision     int64                         `json:"revision"`
	HasDraft     *bool                         `json:"has_draft,omitempty" description:"Whether there is a draft. Absent when the draft itself is retrieved; false for visitors."`
	URL          string                        `json:"url"`
	Views        int64                         `json:"views" description:"Views of the revision by visitors; editors are not counted."`
	CollectionID int64                         `json:"collection_id"`
	Collection   *collection                   `json:"collection,omitempty" description:"With expand=collection."`
	Categories   []any                         `json:"categories" description:"Ids of its categories; the categories themselves with expand=categories."`
	Translations map[string]articleTranslation `json:"translations"`
	Reactions    reactions                     `json:"reactions" description:"Reactions to the revision."`
	Feedback     feedbackCount                 `json:"feedback"`
	Highlight    *highlight                    `json:"highlight,omitempty" description:"Passages that match the search. Only with query."`
	CreatedAt    transport.Time                `json:"created_at"`
	UpdatedAt    transport.Time                `json:"updated_at"`
}

type articleTranslation struct {
	ID       int64   `json:"id"`
	Locale   string  `json:"locale"`
	Title    string  `json:"title"`
	Summary  string  `json:"summary"`
	Content  string  `json:"content"`
	Markdown *string `json:"markdown" description:"Markdown source of content. Null if content was written as HTML."`
	Outdated bool    `json:"outdated" description:"Whether the source has changed since."`

	MadeFrom *sourceText `json:"made_from,omitempty" description:"The source text it was translated from, if that is known to differ from the current source."`
}

// sourceText is the text from which a translation was made.
type sourceText struct {
	Title    string  `json:"title"`
	Summary  string  `json:"summary"`
	Content  string  `json:"content"`
	Markdown *string `json:"markdown" description:"Markdown of the source at that time. Null if the source was HTML; otherwise content is empty."`
}

func showSource(s kb.SourceText) *sourceText {
	if s == (kb.SourceText{}) {
		return nil
	}
	return &sourceText{Title: s.Title, Summary: s.Summary, Content: s.Content, Markdown: textOrNull(s.Markdown)}
}

type reactions struct {
	Total    int64 `json:"total"`
	Positive int64 `json:"positive"`
	Negative int64 `json:"negative"`
}

type highlight struct {
	Title   string `json:"title" description:"Title as HTML, with matches in mark elements."`
	Snippet string `json:"snippet" description:"Passage as HTML, with matches in mark elements."`
}

type feedbackCount struct {
	Total int64 `json:"total"`
}

// revision is an article in the list of its revisions.
type revision struct {
	article
	State string `json:"state" enum:"live,draft,former"`
}

type articleTranslationInput struct {
	Title    storage.Opt[string] `json:"title" maxLength:"300" example:"How to reset your password"`
	Summary  storage.Opt[string] `json:"summary" maxLength:"5000"`
	Content  storage.Opt[string] `json:"content" example:"<p>Open the settings.</p>" description:"HTML, at most 2 MiB. It is sanitized, and headings get anchors."`
	Markdown storage.Opt[string] `json:"markdown" description:"The content as Markdown instead of HTML: CommonMark with GitHub's tables, task lists, footnotes and alerts, and definition lists. Stored along with the HTML rendered from it. At most 2 MiB."`
}

type articleInput struct {
	SourceLocale string                                          `json:"source_locale" required:"true" example:"en" description:"Language whose translation is complete and the source of the others (BCP 47)."`
	CollectionID int64                                           `json:"collection_id" required:"true" description:"A different id moves the article."`
	Status       storage.Opt[kb.Status]                          `json:"status" enum:"published,unpublished" description:"Default for a new article: published."`
	SortOrder    storage.Opt[Decimal]                            `json:"sort_order" description:"At most nine decimal places. Default: last."`
	Categories   storage.Opt[[]int64]                            `json:"categories" maxItems:"100" description:"Ids."`
	Translations map[string]storage.Opt[articleTranslationInput] `json:"translations" description:"Translations by language code. The source needs title and content. Null removes a translation; languages not listed stay unchanged."`
}

func (in articleInput) article() kb.ArticleInput {
	text := kb.TextInput{SourceLocale: in.SourceLocale, Translations: map[string]storage.Opt[kb.TranslationInput]{}}
	for locale, given := range in.Translations {
		t, set := given.Get()
		text.Translations[locale] = storage.Null[kb.TranslationInput]()
		if set {
			text.Translations[locale] = storage.Some(kb.TranslationInput{Title: t.Title, Summary: t.Summary, Content: t.Content, Markdown: t.Markdown})
		}
	}
	return kb.ArticleInput{
		TextInput: text, CollectionID: in.CollectionID, Status: in.Status, SortOrder: sortOrder(in.SortOrder), CategoryIDs: in.Categories,
	}
}

type articleRef struct {
	ArticleID int64 `path:"article_id"`
}

type articleGet struct {
	articleRef
	ShownAs
}

type articleList struct {
	ShownAs
	Sorting
	transport.Paging
	CollectionID int64                `query:"collection_id"`
	CategoryID   int64                `query:"category_id"`
	IDs          storage.Opt[[]int64] `query:"ids" description:"At most 100."`
	Query        string               `query:"query" description:"Words or a question to search in titles, headings, summaries and contents of the served language, best matches first, at most 500; sort_by and sort_type are ignored. Words are found in all their forms; the last one may be a prefix. A word that no article has may be misspelled."`
}

func (in articleList) filter() kb.ArticleFilter {
	f := kb.ArticleFilter{CollectionID: in.CollectionID, CategoryID: in.CategoryID}
	if ids, given := in.IDs.Get(); given {
		f.IDs = listed(ids)
	}
	return f
}

type articleCreate struct {
	ShownAs
	articleInput
}

type articleUpdate struct {
	articleRef
	ShownAs
	articleInput
}

type revisionList struct {
	articleRef
	ShownAs
	transport.Paging
}

type revisionGet struct {
	articleRef
	ShownAs
	Revision int64 `path:"revision_id"`
}

const (
	articlesPath  = sitePath + "/articles"
	articlePath   = articlesPath + "/{article_id}"
	draftPath     = articlePath + "/draft"
	revisionsPath = articlePath + "/revisions"
	revisionPath  = revisionsPath + "/{revision_id}"
)

func (a *api) addArticles(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Articles", Summary: summary, Description: description, Expand: []string{"collection", "categories"}}
	}
	create := op("createArticle", http.MethodPost, articlesPath, "Create an article",
		"Creates it with its first revision. Needs articles.create, and articles.publish unless it is unpublished.")
	create.Status, create.Aliases = http.StatusCreated, siteAlias(articlesPath)
	transport.Handle(t, a.editing, create, func(ctx context.Context, e editing, in articleCreate) (article, error) {
		if err := mayExpandLibrary(e, in.Expand); err != nil {
			return article{}, err
		}
		out, err := e.CreateArticle(ctx, in.article())
		return oneArticle(ctx, e, out, err, in.ShownAs, e.accept)
	})
	list := op("listArticles", http.MethodGet, articlesPath, "List articles",
		"Live revisions by sort order. Works without a token on public sites. Without articles.view, only published articles are listed.")
	list.Public = true
	transport.HandlePage(t, a.reading(kb.ArticlesView), list, func(ctx context.Context, r reading, in articleList) (storage.Page[article], error) {
		if in.Query != "" {
			return searchArticles(ctx, r, in)
		}
		page, err := r.Articles(ctx, in.filter(), in.desc(), in.Request())
		if err != nil {
			return storage.Page[article]{}, err
		}
		shown, err := showArticles(ctx, r, page.Items, in.ShownAs, r.accept)
		return storage.Page[article]{Items: shown, Next: page.Next, Prev: page.Prev}, err
	})
	get := op("getArticle", http.MethodGet, articlePath, "Retrieve an article",
		"The live revision. Works without a token on public sites. Without articles.view, only published articles are returned, and the request counts as a view.")
	get.Public = true
	transport.Handle(t, a.reading(kb.ArticlesView), get, func(ctx context.Context, r reading, in articleGet) (article, error) {
		out, err := r.Article(ctx, in.ArticleID)
		return oneArticle(ctx, r, out, err, in.ShownAs, r.accept)
	})
	transport.Handle(t, a.editing, op("updateArticle", http.MethodPut, articlePath, "Update an article",
		"Changes the live revision in place. Needs articles.update, and articles.publish if it is published, before or after."),
		func(ctx context.Context, e editing, in articleUpdate) (article, error) {
			if err := mayExpandLibrary(e, in.Expand); err != nil {
				return article{}, err
			}
			out, err := e.UpdateArticle(ctx, in.ArticleID, in.article())
			return oneArticle(ctx, e, out, err, in.ShownAs, e.accept)
		})
	remove := op("deleteArticle", http.MethodDelete, articlePath, "Delete an article", "Deletes it with all revisions. Needs articles.delete.")
	remove.Expand = nil
	transport.HandleEmpty(t, a.editing, remove, func(ctx context.Context, e editing, in articleRef) error { return e.DeleteArticle(ctx, in.ArticleID) })
	a.addDrafts(t, op)
	a.addRevisions(t, op)
}

func (a *api) addDrafts(t *transport.Table, op func(id, method, path, summary, description string) transport.Operation) {
	transport.Handle(t, a.editing, op("getDraft", http.MethodGet, draftPath, "Retrieve the draft of an article",
		"Returns the live revision if there is no draft. Needs articles.view."),
		func(ctx context.Context, e editing, in articleGet) (article, error) {
			out, err := e.Draft(ctx, in.ArticleID)
			return oneDraft(ctx, e, out, err, in.ShownAs)
		})
	transport.Handle(t, a.editing, op("updateDraft", http.MethodPut, draftPath, "Update the draft of an article",
		"Creates a draft from the live revision if there is none. With status published, the draft becomes the live revision, and the previous one is kept. Needs articles.update, and articles.publish to publish."),
		func(ctx context.Context, e editing, in articleUpdate) (article, error) {
			if err := mayExpandLibrary(e, in.Expand); err != nil {
				return article{}, err
			}
			out, err := e.UpdateDraft(ctx, in.ArticleID, in.article())
			return oneDraft(ctx, e, out, err, in.ShownAs)
		})
	remove := op("deleteDraft", http.MethodDelete, draftPath, "Delete the draft of an article", "404 if there is none. Needs articles.update.")
	remove.Expand = nil
	transport.HandleEmpty(t, a.editing, remove, func(ctx context.Context, e editing, in articleRef) error { return e.DeleteDraft(ctx, in.ArticleID) })
}

func (a *api) addRevisions(t *transport.Table, op func(id, method, path, summary, description string) transport.Operation) {
	transport.HandlePage(t, a.editing, op("listRevisions", http.MethodGet, revisionsPath, "List the revisions of an article",
		"Newest first: the live one, the draft and all earlier ones. Needs articles.view."),
		func(ctx context.Context, e editing, in revisionList) (storage.Page[revision], error) {
			of, page, err := e.Revisions(ctx, in.ArticleID, in.Request())
			if err != nil {
				return storage.Page[revision]{}, err
			}
			rows := make([]kb.ArticleRevision, len(page.Items))
			for i, r := range page.Items {
				rows[i] = kb.ArticleRevision{Article: of, Revision: r}
			}
			shown, err := showArticles(ctx, e, rows, in.ShownAs, e.accept)
			out := make([]revision, len(shown))
			for i, one := range shown {
				out[i] = revision{one, stateOf(rows[i])}
			}
			return storage.Page[revision]{Items: out, Next: page.Next, Prev: page.Prev}, err
		})
	transport.Handle(t, a.editing, op("getRevision", http.MethodGet, revisionPath, "Retrieve a revision of an article",
		"Returns the article as of that revision. Needs articles.view."),
		func(ctx context.Context, e editing, in revisionGet) (revision, error) {
			out, err := e.Revision(ctx, in.ArticleID, in.Revision)
			shown, err := oneArticle(ctx, e, out, err, in.ShownAs, e.accept)
			return revision{shown, stateOf(out)}, err
		})
	transport.Handle(t, a.editing, op("restoreRevision", http.MethodPost, revisionPath+"/restore", "Restore a revision of an article",
		"Its text becomes live again as a new revision. All other revisions and the draft stay. 409 for the live revision and the draft. Needs articles.update, and articles.publish if the article is published."),
		func(ctx context.Context, e editing, in revisionGet) (article, error) {
			if err := mayExpandLibrary(e, in.Expand); err != nil {
				return article{}, err
			}
			out, err := e.Restore(ctx, in.ArticleID, in.Revision)
			return oneArticle(ctx, e, out, err, in.ShownAs, e.accept)
		})
}

func searchArticles(ctx context.Context, r reading, in articleList) (storage.Page[article], error) {
	page, err := r.Search(ctx, in.Query, in.wanted(r.accept), in.filter(), in.Request())
	if err != nil {
		return storage.Page[article]{}, err
	}
	rows := make([]kb.ArticleRevision, len(page.Items))
	for i, found := range page.Items {
		rows[i] = found.ArticleRevision
	}
	shown, err := showArticles(ctx, r, rows, in.ShownAs, r.accept)
	for i := range shown {
		shown[i].Highlight = &highlight{Title: page.Items[i].Highlight.Title, Snippet: page.Items[i].Highlight.Snippet}
	}
	return storage.Page[article]{Items: shown, Next: page.Next, Prev: page.Prev}, err
}

func stateOf(a kb.ArticleRevision) string {
	switch a.Revision.Number {
	case a.Article.Live:
		return "live"
	case a.Article.Draft:
		return "draft"
	}
	return "former"
}

func oneArticle(ctx context.Context, site linking, a kb.ArticleRevision, err error, how ShownAs, accept []string) (article, error) {
	if err != nil {
		return article{}, err
	}
	shown, err := showArticles(ctx, site, []kb.ArticleRevision{a}, how, accept)
	if err != nil {
		return article{}, err
	}
	return shown[0], nil
}

// oneDraft is oneArticle for the operations that retrieve the draft.
func oneDraft(ctx context.Context, e editing, a kb.ArticleRevision, err error, how ShownAs) (article, error) {
	shown, err := oneArticle(ctx, e, a, err, how, e.accept)
	shown.HasDraft = nil
	return shown, err
}

// showArticles converts a page with one query for each relation.
func showArticles(ctx context.Context, site linking, rows []kb.ArticleRevision, how ShownAs, accept []string) ([]article, error) {
	wanted := how.wanted(accept)
	collections, err := collectionsOf(ctx, site, how.Expand, wanted, ids(rows, func(a kb.ArticleRevision) []int64 { return []int64{a.Revision.CollectionID} }))
	if err != nil {
		return nil, err
	}
	var categories map[int64]kb.Category
	if of := ids(rows, func(a kb.ArticleRevision) []int64 { return a.Revision.CategoryIDs }); how.Expand.Has("categories") && len(of) > 0 {
		found, err := site.CategoriesByID(ctx, of)
		if err != nil {
			return nil, err
		}
		categories = byID(found, func(c kb.Category) int64 { return c.ID })
	}
	out := make([]article, len(rows))
	for i, a := range rows {
		out[i] = showArticle(a, site, wanted)
		out[i].Collection = collections[a.Revision.CollectionID]
		for _, id := range a.Revision.CategoryIDs {
			if c, found := categories[id]; found {
				out[i].Categories = append(out[i].Categories, showCategory(c, site, wanted))
			} else if !how.Expand.Has("categories") {
				out[i].Categories = append(out[i].Categories, id)
			}
		}
	}
	return out, nil
}

func showArticle(a kb.ArticleRevision, site linking, wanted []string) article {
	linked := func(t kb.Translation) kb.Translation {
		return t.Linked(func(to kb.Reference) string { return site.address(t.Locale, to) })
	}
	r, draft := a.Revision, a.Article.Draft != 0
	served := linked(r.Serve(site.DefaultLocale(), wanted...))
	out := article{
		ID: a.Article.ID, SiteID: a.Article.SiteID, Status: string(r.Status), Title: served.Title, Summary: served.Summary, Content: served.Content,
		SourceLocale: r.SourceLocale, Locale: served.Locale, SortOrder: Decimal{value: r.SortOrder}, Revision: r.Number, HasDraft: &draft,
		URL: site.URL() + kb.PagePath(served.Locale, kb.ArticlePages, a.Article.ID, served.Title), Views: r.Views, CollectionID: r.CollectionID, Categories: []any{},
		Translations: map[string]articleTranslation{}, Feedback: feedbackCount{a.Article.Feedbacks},
		Reactions: reactions{Total: r.Positive + r.Negative, Positive: r.Positive, Negative: r.Negative},
		CreatedAt: transport.Time(a.Article.CreatedAt), UpdatedAt: transport.Time(r.UpdatedAt),
	}
	for _, t := range r.Translations {
		t = linked(t)
		out.Translations[t.Locale] = articleTranslation{
			ID: translationID(a.Article.ID, t), Locale: t.Locale, Title: t.Title, Summary: t.Summary, Content: t.Content, Markdown: textOrNull(t.Markdown), Outdated: r.Outdated(t), MadeFrom: showSource(t.MadeFrom),
		}
	}
	return out
}

// Stable returns the article without the fields that readers change.
func (a article) Stable() any {
	a.Views, a.Reactions, a.Feedback, a.Collection = 0, reactions{}, feedbackCount{}, nil
	return a
}
