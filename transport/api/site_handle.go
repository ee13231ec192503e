package api

import (
	"context"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport"
)

// library has the methods for reading a site that editors and visitors have in common.
type library interface {
	Collections(ctx context.Context, desc bool, req storage.PageRequest) (storage.Page[kb.Collection], error)
	Collection(ctx context.Context, id int64) (kb.Collection, error)
	CollectionsByID(ctx context.Context, ids []int64) ([]kb.Collection, error)
	Categories(ctx context.Context, filter kb.CategoryFilter, desc bool, req storage.PageRequest) (storage.Page[kb.Category], error)
	Category(ctx context.Context, id int64) (kb.Category, error)
	CategoriesByID(ctx context.Context, ids []int64) ([]kb.Category, error)
	Articles(ctx context.Context, filter kb.ArticleFilter, desc bool, req storage.PageRequest) (storage.Page[kb.ArticleRevision], error)
	Article(ctx context.Context, id int64) (kb.ArticleRevision, error)
	Search(ctx context.Context, query string, wanted []string, filter kb.ArticleFilter, req storage.PageRequest) (storage.Page[kb.Found], error)
	Answers(ctx context.Context, query string, wanted []string, limit int) ([]kb.Answer, error)
	DefaultLocale() string
	SiteID() int64
	URL() string
}

// reading is the handle of operations that need no token, and editing that of operations that change something, both with
// the languages that the client prefers and the address of the API.
type (
	reading struct {
		library
		accept []string
		base   string
	}
	editing struct {
		*kb.Editor
		accept []string
		base   string
	}
)

// linking is a library with the addresses of the objects to which its articles refer.
type linking interface {
	library
	address(locale string, r kb.Reference) string
}

func (r reading) address(locale string, to kb.Reference) string {
	return addressOf(r.base, r.library, locale, to)
}

func (e editing) address(locale string, to kb.Reference) string {
	return addressOf(e.base, e, locale, to)
}

// addressOf returns the address of a reference in the content of a site: pages are on the site, and files come from the API,
// whether or not the site is served.
func addressOf(base string, site library, locale string, to kb.Reference) string {
	if to.Kind == kb.FilePages {
		return SiteFileURL(base, kb.File{SiteID: site.SiteID(), ID: to.ID, URLKey: to.URLKey, Filename: to.Filename}) + to.Suffix
	}
	return site.URL() + to.Path(locale)
}

// Rehearsal changes nothing, see [kb.Editor.Rehearsal].
func (e editing) Rehearsal() editing { return editing{e.Editor.Rehearsal(), e.accept, e.base} }

// reading is the resolver of operations that need no token: a member with a permission reads as an editor, including
// unpublished content, everyone else as a visitor.
func (a *api) reading(p kb.Permission) transport.Resolver[reading] {
	return func(ctx context.Context, r *transport.Request) (reading, error) {
		caller, err := a.anyone(ctx, r)
		if err != nil {
			return reading{}, err
		}
		svc, err := a.knowledge(r)
		if err != nil {
			return reading{}, err
		}
		site, accept := r.ParamID("site_id"), kb.AcceptedLocales(r.Header("Accept-Language"))
		if caller.UserID() != 0 {
			e, err := svc.Editor(ctx, caller, site)
			if err == nil && e.Holds(p) {
				return reading{e, accept, a.base}, nil
			}
			if err != nil && !fault.Is(err, fault.NotFound) {
				return reading{}, err
			}
		}
		v, err := svc.Visitor(ctx, caller, site)
		return reading{v, accept, a.base}, err
	}
}

// editing is the resolver of operations that change the content of a site.
func (a *api) editing(ctx context.Context, r *transport.Request) (editing, error) {
	e, err := a.editor(ctx, r)
	return editing{e, kb.AcceptedLocales(r.Header("Accept-Language")), a.base}, err
}

// Localized is embedded in the input of an operation that answers in a language.
type Localized struct {
	Locale string `query:"locale" example:"de-AT" description:"Language of the texts (BCP 47). Default: Accept-Language. Missing translations fall back to the account's default language, then to the source language."`
}

// CheckInput refuses invalid language codes.
func (in *Localized) CheckInput(problem func(field, text string)) {
	if _, ok := kb.Locale(in.Locale); in.Locale != "" && !ok {
		problem("locale", "is not a language code (BCP 47)")
	}
}

// wanted returns the languages in order of preference.
func (in Localized) wanted(accept []string) []string {
	if in.Locale != "" {
		return []string{in.Locale}
	}
	return accept
}

// Sorting is embedded in the input of a list by sort order.
type Sorting struct {
	SortBy   string `query:"sort_by" enum:"sort_order" default:"sort_order"`
	SortType string `query:"sort_type" enum:"asc,desc" default:"asc"`
}

// SetDefaults makes the order ascending.
func (in *Sorting) SetDefaults() { in.SortBy, in.SortType = "sort_order", "asc" }

// CheckInput refuses other orders.
func (in *Sorting) CheckInput(problem func(field, text string)) {
	among(problem, "sort_by", in.SortBy, "sort_order")
	among(problem, "sort_type", in.SortType, "asc", "desc")
}

func (in Sorting) desc() bool { return in.SortType == "desc" }

// nameInput is a translation of a collection or a category.
type nameInput struct {
	Name    storage.Opt[string] `json:"name" maxLength:"300" example:"Billing"`
	Summary storage.Opt[string] `json:"summary" maxLength:"5000"`
}

// sectionInput is the input that creates or changes a collection or a category.
type sectionInput struct {
	SourceLocale string                            `json:"source_locale" required:"true" example:"en" description:"Language whose translation is complete and the source of the others (BCP 47)."`
	SortOrder    storage.Opt[Decimal]              `json:"sort_order" description:"At most nine decimal places. Default: last."`
	Translations map[string]storage.Opt[nameInput] `json:"translations" description:"Translations by language code. The source needs a name. Null removes a translation; languages not listed stay unchanged."`
}

func (in sectionInput) text() kb.TextInput {
	text := kb.TextInput{SourceLocale: in.SourceLocale, Translations: map[string]storage.Opt[kb.TranslationInput]{}}
	for locale, given := range in.Translations {
		t, set := given.Get()
		text.Translations[locale] = storage.Null[kb.TranslationInput]()
		if set {
			text.Translations[locale] = storage.Some(kb.TranslationInput{Title: t.Name, Summary: t.Summary})
		}
	}
	return text
}

func sortOrder(in storage.Opt[Decimal]) storage.Opt[kb.SortOrder] {
	d, given := in.Get()
	if given && !d.none {
		return storage.Some(d.value)
	}
	if given || in.IsNull() {
		return storage.Null[kb.SortOrder]()
	}
	return storage.Opt[kb.SortOrder]{}
}

// sectionTranslation is a translation of a collection or a category.
type sectionTranslation struct {
	ID       int64  `json:"id"`
	Locale   string `json:"locale"`
	Name     string `json:"name"`
	Summary  string `json:"summary"`
	Outdated bool   `json:"outdated" description:"Whether the source has changed since."`
}

// translationID returns an id that no other translation of the same noun has.
func translationID(ownerID int64, t kb.Translation) int64 { return ownerID*1000 + t.Number }

func showSectionTranslations(ownerID int64, text kb.Text) map[string]sectionTranslation {
	shown := map[string]sectionTranslation{}
	for _, t := range text.Translations {
		shown[t.Locale] = sectionTranslation{
			ID: translationID(ownerID, t), Locale: t.Locale, Name: t.Title, Summary: t.Summary, Outdated: text.Outdated(t),
		}
	}
	return shown
}

// sameID reports a problem if an id in the body differs from the one in the path.
func sameID(problem func(field, text string), field string, body, path int64) {
	switch {
	case body == 0:
		problem(field, "is required")
	case body != path:
		problem(field, "must be that of the path")
	}
}

// mayExpandLibrary is checked before a change, as [mayExpand] is.
func mayExpandLibrary(e editing, expand transport.Expand) error {
	for name, p := range map[string]kb.Permission{"collection": kb.CollectionsView, "categories": kb.CategoriesView} {
		if expand.Has(name) && !e.Holds(p) {
			return fault.Newf(fault.Forbidden, "You need the permission %s to expand %s.", string(p), name)
		}
	}
	return nil
}
