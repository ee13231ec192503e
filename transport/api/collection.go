package api

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// collection as the API shows it.
type collection struct {
	ID              int64                         `json:"id"`
	CollectionID    int64                         `json:"collection_id" description:"Same as id: an update requires it."`
	SiteID          int64                         `json:"site_id"`
	Name            string                        `json:"name" description:"Name in the language of this answer, like summary."`
	Summary         string                        `json:"summary"`
	SourceLocale    string                        `json:"source_locale"`
	Locale          string                        `json:"locale" description:"Language of this answer."`
	SortOrder       Decimal                       `json:"sort_order"`
	Icon            string                        `json:"icon" description:"Empty: a book is shown."`
	URL             string                        `json:"url" description:"URL of its page in the language of this answer."`
	CategoriesCount int64                         `json:"categories_count"`
	ArticlesCount   int64                         `json:"articles_count" description:"For visitors, only published articles count, as in views_count."`
	ViewsCount      int64                         `json:"views_count"`
	Translations    map[string]sectionTranslation `json:"translations"`
	CreatedAt       transport.Time                `json:"created_at"`
	UpdatedAt       transport.Time                `json:"updated_at"`
}

type collectionRef struct {
	CollectionID int64 `path:"collection_id"`
}

type collectionGet struct {
	collectionRef
	Localized
}

type collectionList struct {
	Localized
	Sorting
	transport.Paging
}

type collectionInput struct {
	sectionInput
	Icon storage.Opt[string] `json:"icon" example:"compass" description:"One of bell, bolt, book, box, buoy, calendar, card, chart, chat, code, coins, compass, gear, globe, key, laptop, lock, people, phone, plug, shield, tag, truck, wrench. Null: none."`
}

type collectionCreate struct {
	Localized
	collectionInput
}

type collectionUpdate struct {
	collectionRef
	Localized
	collectionInput
	BodyID int64 `json:"collection_id" required:"true" description:"Same as in the path."`
}

// CheckInput compares the ids.
func (in *collectionUpdate) CheckInput(problem func(field, text string)) {
	sameID(problem, "collection_id", in.BodyID, in.CollectionID)
}

func (in collectionInput) collection() kb.CollectionInput {
	return kb.CollectionInput{TextInput: in.text(), SortOrder: sortOrder(in.SortOrder), Icon: in.Icon}
}

const (
	collectionsPath = sitePath + "/collections"
	collectionPath  = collectionsPath + "/{collection_id}"
)

func (a *api) addCollections(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Collections", Summary: summary, Description: description}
	}
	create := op("createCollection", http.MethodPost, collectionsPath, "Create a collection", "Needs collections.create.")
	create.Status, create.Aliases = http.StatusCreated, siteAlias(collectionsPath)
	transport.Handle(t, a.editing, create, func(ctx context.Context, e editing, in collectionCreate) (collection, error) {
		c, err := e.CreateCollection(ctx, in.collection())
		return showCollection(c, e, in.wanted(e.accept)), err
	})
	list := op("listCollections", http.MethodGet, collectionsPath, "List collections",
		"By sort order. Works without a token on public sites.")
	list.Public = true
	transport.HandlePage(t, a.reading(kb.CollectionsView), list, func(ctx context.Context, r reading, in collectionList) (storage.Page[collection], error) {
		page, err := r.Collections(ctx, in.desc(), in.Request())
		return mapPage(page, func(c kb.Collection) collection { return showCollection(c, r, in.wanted(r.accept)) }), err
	})
	get := op("getCollection", http.MethodGet, collectionPath, "Retrieve a collection", "Works without a token on public sites.")
	get.Public = true
	transport.Handle(t, a.reading(kb.CollectionsView), get, func(ctx context.Context, r reading, in collectionGet) (collection, error) {
		c, err := r.Collection(ctx, in.CollectionID)
		return showCollection(c, r, in.wanted(r.accept)), err
	})
	transport.Handle(t, a.editing, op("updateCollection", http.MethodPut, collectionPath, "Update a collection", "Needs collections.update."),
		func(ctx context.Context, e editing, in collectionUpdate) (collection, error) {
			c, err := e.UpdateCollection(ctx, in.CollectionID, in.collection())
			return showCollection(c, e, in.wanted(e.accept)), err
		})
	transport.HandleEmpty(t, a.editing, op("deleteCollection", http.MethodDelete, collectionPath, "Delete a collection",
		"Deletes it with its categories. 409 while it contains articles. Needs collections.delete."),
		func(ctx context.Context, e editing, in collectionRef) error {
			return e.DeleteCollection(ctx, in.CollectionID)
		})
}

// speaker has the default languages and the addresses of sites.
type speaker interface {
	DefaultLocale() string
	URL() string
}

func showCollection(c kb.Collection, site speaker, wanted []string) collection {
	if c.ID == 0 {
		return collection{} // the operation failed
	}
	served := c.Serve(site.DefaultLocale(), wanted...)
	return collection{
		ID: c.ID, CollectionID: c.ID, SiteID: c.SiteID, Name: served.Title, Summary: served.Summary, SourceLocale: c.SourceLocale, Locale: served.Locale,
		Icon: c.Icon, URL: site.URL() + kb.PagePath(served.Locale, kb.CollectionPages, c.ID, served.Title),
		SortOrder: Decimal{value: c.SortOrder}, CategoriesCount: c.Counters.Categories, ArticlesCount: c.Counters.Articles, ViewsCount: c.Counters.Views,
		Translations: showSectionTranslations(c.ID, c.Text), CreatedAt: transport.Time(c.CreatedAt), UpdatedAt: transport.Time(c.UpdatedAt),
	}
}

// Stable returns the collection without the fields that readers change.
func (c collection) Stable() any {
	c.ViewsCount = 0
	return c
}
