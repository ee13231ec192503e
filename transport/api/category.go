package api

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// category as the API shows it.
type category struct {
	ID            int64                         `json:"id"`
	CategoryID    int64                         `json:"category_id" description:"Same as id: an update requires it."`
	SiteID        int64                         `json:"site_id"`
	CollectionID  int64                         `json:"collection_id"`
	Collection    *collection                   `json:"collection,omitempty" description:"With expand=collection."`
	Name          string                        `json:"name" description:"Name in the language of this answer, like summary."`
	Summary       string                        `json:"summary"`
	SourceLocale  string                        `json:"source_locale"`
	Locale        string                        `json:"locale" description:"Language of this answer."`
	SortOrder     Decimal                       `json:"sort_order"`
	URL           string                        `json:"url" description:"URL of its page in the language of this answer."`
	ArticlesCount int64                         `json:"articles_count" description:"For visitors, only published articles count, as in views_count."`
	ViewsCount    int64                         `json:"views_count"`
	Translations  map[string]sectionTranslation `json:"translations"`
	CreatedAt     transport.Time                `json:"created_at"`
	UpdatedAt     transport.Time                `json:"updated_at"`
}

type categoryRef struct {
	CategoryID int64 `path:"category_id"`
}

// ShownAs is embedded in the input of an operation that shows objects of a site.
type ShownAs struct {
	Localized
	expanding
}

type categoryGet struct {
	categoryRef
	ShownAs
}

type categoryList struct {
	ShownAs
	Sorting
	transport.Paging
	CollectionID int64 `query:"collection_id"`
}

type categoryInput struct {
	sectionInput
	CollectionID int64 `json:"collection_id" required:"true" description:"A different id moves the category, but not its articles."`
}

type categoryCreate struct {
	ShownAs
	categoryInput
}

type categoryUpdate struct {
	categoryRef
	ShownAs
	categoryInput
	BodyID int64 `json:"category_id" required:"true" description:"Same as in the path."`
}

// CheckInput compares the ids.
func (in *categoryUpdate) CheckInput(problem func(field, text string)) {
	sameID(problem, "category_id", in.BodyID, in.CategoryID)
}

func (in categoryInput) category() kb.CategoryInput {
	return kb.CategoryInput{TextInput: in.text(), SortOrder: sortOrder(in.SortOrder), CollectionID: in.CollectionID}
}

const (
	categoriesPath = sitePath + "/categories"
	categoryPath   = categoriesPath + "/{category_id}"
)

func (a *api) addCategories(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Categories", Summary: summary, Description: description, Expand: []string{"collection"}}
	}
	create := op("createCategory", http.MethodPost, categoriesPath, "Create a category", "Needs categories.create.")
	create.Status, create.Aliases = http.StatusCreated, siteAlias(categoriesPath)
	transport.Handle(t, a.editing, create, func(ctx context.Context, e editing, in categoryCreate) (category, error) {
		if err := mayExpandLibrary(e, in.Expand); err != nil {
			return category{}, err
		}
		c, err := e.CreateCategory(ctx, in.category())
		return oneCategory(ctx, e, c, err, in.ShownAs, e.accept)
	})
	list := op("listCategories", http.MethodGet, categoriesPath, "List categories", "By sort order. Works without a token on public sites.")
	list.Public = true
	transport.HandlePage(t, a.reading(kb.CategoriesView), list, func(ctx context.Context, r reading, in categoryList) (storage.Page[category], error) {
		page, err := r.Categories(ctx, kb.CategoryFilter{CollectionID: in.CollectionID}, in.desc(), in.Request())
		if err != nil {
			return storage.Page[category]{}, err
		}
		shown, err := showCategories(ctx, r, page.Items, in.ShownAs, r.accept)
		return storage.Page[category]{Items: shown, Next: page.Next, Prev: page.Prev}, err
	})
	get := op("getCategory", http.MethodGet, categoryPath, "Retrieve a category", "Works without a token on public sites.")
	get.Public = true
	transport.Handle(t, a.reading(kb.CategoriesView), get, func(ctx context.Context, r reading, in categoryGet) (category, error) {
		c, err := r.Category(ctx, in.CategoryID)
		return oneCategory(ctx, r, c, err, in.ShownAs, r.accept)
	})
	transport.Handle(t, a.editing, op("updateCategory", http.MethodPut, categoryPath, "Update a category", "Needs categories.update."),
		func(ctx context.Context, e editing, in categoryUpdate) (category, error) {
			if err := mayExpandLibrary(e, in.Expand); err != nil {
				return category{}, err
			}
			c, err := e.UpdateCategory(ctx, in.CategoryID, in.category())
			return oneCategory(ctx, e, c, err, in.ShownAs, e.accept)
		})
	remove := op("deleteCategory", http.MethodDelete, categoryPath, "Delete a category", "409 while it contains articles. Needs categories.delete.")
	remove.Expand = nil
	transport.HandleEmpty(t, a.editing, remove, func(ctx context.Context, e editing, in categoryRef) error {
		return e.DeleteCategory(ctx, in.CategoryID)
	})
}

func oneCategory(ctx context.Context, site library, c kb.Category, err error, how ShownAs, accept []string) (category, error) {
	if err != nil {
		return category{}, err
	}
	shown, err := showCategories(ctx, site, []kb.Category{c}, how, accept)
	if err != nil {
		return category{}, err
	}
	return shown[0], nil
}

// showCategories converts a page with one query for each relation.
func showCategories(ctx context.Context, site library, rows []kb.Category, how ShownAs, accept []string) ([]category, error) {
	wanted := how.wanted(accept)
	collections, err := collectionsOf(ctx, site, how.Expand, wanted, ids(rows, func(c kb.Category) []int64 { return []int64{c.CollectionID} }))
	if err != nil {
		return nil, err
	}
	out := make([]category, len(rows))
	for i, c := range rows {
		out[i] = showCategory(c, site, wanted)
		out[i].Collection = collections[c.CollectionID]
	}
	return out, nil
}

// collectionsOf returns the collections with the given ids, if they are to be expanded.
func collectionsOf(ctx context.Context, site library, expand transport.Expand, wanted []string, of []int64) (map[int64]*collection, error) {
	if !expand.Has("collection") || len(of) == 0 {
		return nil, nil //nolint:nilnil // nobody asked for collections
	}
	found, err := site.CollectionsByID(ctx, of)
	out := map[int64]*collection{}
	for _, c := range found {
		shown := showCollection(c, site, wanted)
		out[c.ID] = &shown
	}
	return out, err
}

func showCategory(c kb.Category, site speaker, wanted []string) category {
	served := c.Serve(site.DefaultLocale(), wanted...)
	return category{
		ID: c.ID, CategoryID: c.ID, SiteID: c.SiteID, CollectionID: c.CollectionID, Name: served.Title, Summary: served.Summary, SourceLocale: c.SourceLocale,
		URL:    site.URL() + kb.PagePath(served.Locale, kb.CategoryPages, c.ID, served.Title),
		Locale: served.Locale, SortOrder: Decimal{value: c.SortOrder}, ArticlesCount: c.Counters.Articles, ViewsCount: c.Counters.Views,
		Translations: showSectionTranslations(c.ID, c.Text), CreatedAt: transport.Time(c.CreatedAt), UpdatedAt: transport.Time(c.UpdatedAt),
	}
}

// Stable returns the category without the fields that readers change.
func (c category) Stable() any {
	c.ViewsCount, c.Collection = 0, nil
	return c
}
