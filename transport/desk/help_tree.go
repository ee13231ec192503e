package desk

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/theme"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// treeView is the help centre as its collections, with the articles at one place in it.
type treeView struct {
	Name, Public                string
	Private                     bool
	Sites                       []Link
	Self                        string
	Files, Look, Search         string // "" if not allowed
	Feedback                    string // likewise
	New, NewCollection          string // likewise
	NewCategory                 string
	Collections                 []treeNode
	MoreCollections             string
	Query, Show                 string // Show: "", outdated or drafts
	Title                       string // of the list
	Edit                        string // where the collection or category is edited
	Rows                        []articleRow
	Next                        string
	OrderURL                    string // "" if not allowed, or not in this order
	Place                       string // the place to which the form of the order returns
	Home                        bool   // the page without a choice
	Outdated, Drafts            []articleRow
	MoreOutdated, MoreDrafts    bool
	OutdatedURL, DraftsURL, All string
}

type treeNode struct {
	Name, URL  string
	Count      int
	Active     bool // it, or something in it, is shown
	Here       bool
	Categories []treeNode
}

type articleRow struct {
	ID                      int64
	Title, Lang, Dir        string
	URL                     string
	When, Full              string
	Draft, Public           bool
	Outdated                int
	Missing                 string // names of languages
	Snippet                 string
	Up, UpOver, Down, Below int64 // neighbours, for changing the order
}

const treePage = 50

// text returns a text in the member's language, or the next best one.
func (hv *helpVisit) text(t kb.Text) kb.Translation {
	shown := t.Serve(hv.site.DefaultLocale)
	shown.Title = cmp.Or(shown.Title, hv.words.T("Untitled"))
	return shown
}

func (hv *helpVisit) may(p kb.Permission) bool { return hv.ed.Holds(p) }

// tree shows the help centre, with articles that need work first.
func (hv *helpVisit) tree() error {
	q := hv.r.URL.Query()
	view := treeView{
		Name: hv.site.Name, Public: hv.ed.URL(), Private: hv.site.Visibility == kb.Private, Self: hv.here(""),
		Query: strings.TrimSpace(q.Get("q")), Show: q.Get("show"), Title: hv.words.T("All articles"),
		OutdatedURL: hv.here("?show=outdated"), DraftsURL: hv.here("?show=drafts"), All: hv.here("?show=all"),
	}
	if err := hv.fillTreeBar(&view); err != nil {
		return err
	}
	filter := kb.ArticleFilter{CollectionID: number(q.Get("collection")), CategoryID: number(q.Get("category")), Brief: true}
	if err := hv.fillCollections(&view, &filter); err != nil {
		return err
	}
	var err error
	switch {
	case view.Query != "":
		view.Title, err = hv.words.T("Results for “%s”", view.Query), hv.findArticles(&view)
	case view.Show == "" && filter.CollectionID == 0 && filter.CategoryID == 0:
		view.Home, err = true, hv.fillHome(&view)
	default:
		err = hv.listArticles(&view, filter)
	}
	if err != nil {
		return err
	}
	return hv.showHelp("help-tree", hv.site.Name, view, 0)
}

func (hv *helpVisit) fillTreeBar(view *treeView) error {
	if hv.may(kb.FilesView) {
		view.Files = hv.here("/files")
	}
	if hv.may(kb.FeedbackView) {
		view.Feedback = hv.here("/feedback")
	} else if hv.may(kb.ArticlesView) {
		view.Feedback = hv.here("/feedback/articles")
	} else if hv.visit.may(identity.ReportsView) {
		view.Feedback = hv.here("/feedback/searches")
	}
	if hv.may(kb.SitesUpdate) {
		view.Look, view.Search = hv.here("/look"), hv.here("/search")
	}
	if hv.may(kb.CollectionsCreate) {
		view.NewCollection = hv.here("/collections/new")
	}
	sites, err := hv.sites()
	if err != nil {
		return err
	}
	if len(sites) > 1 {
		for _, s := range sites {
			if s.ID != hv.site.ID {
				view.Sites = append(view.Sites, Link{Text: s.Name, URL: hv.at("/help/" + itoa(s.ID))})
			}
		}
	}
	return nil
}

// fillCollections lists the collections, and the categories of the open one.
func (hv *helpVisit) fillCollections(view *treeView, filter *kb.ArticleFilter) error {
	open, category := filter.CollectionID, kb.Category{}
	var err error
	if filter.CategoryID != 0 {
		if category, err = hv.ed.Category(hv.ctx(), filter.CategoryID); err != nil {
			return err
		}
		open, view.Title, view.Edit = category.CollectionID, hv.text(category.Text).Title, hv.here("/categories/"+itoa(category.ID))
		filter.CollectionID = 0
	}
	page, err := hv.ed.Collections(hv.ctx(), false, storage.PageRequest{Limit: storage.MaxLimit, Cursor: hv.r.URL.Query().Get("collections")})
	if err != nil {
		return err
	}
	if open != 0 && !slices.ContainsFunc(page.Items, func(c kb.Collection) bool { return c.ID == open }) {
		c, err := hv.ed.Collection(hv.ctx(), open)
		if err != nil {
			return err
		}
		page.Items = append([]kb.Collection{c}, page.Items...)
	}
	if len(page.Items) > 0 && hv.may(kb.ArticlesCreate) {
		view.New = hv.here("/new")
	}
	for _, c := range page.Items {
		node := treeNode{Name: hv.text(c.Text).Title, URL: hv.here("?collection=" + itoa(c.ID)), Count: int(c.Articles), Active: c.ID == open, Here: c.ID == open && category.ID == 0}
		if node.Active {
			if err := hv.fillCategories(&node, c.ID, category.ID); err != nil {
				return err
			}
			if node.Here {
				view.Title, view.Edit = node.Name, hv.here("/collections/"+itoa(c.ID))
			}
			if hv.may(kb.CategoriesCreate) {
				view.NewCategory = hv.here("/collections/new?in=" + itoa(c.ID))
			}
			if view.New != "" {
				view.New += "?collection=" + itoa(c.ID)
				if category.ID != 0 {
					view.New += "&category=" + itoa(category.ID)
				}
			}
		}
		view.Collections = append(view.Collections, node)
	}
	if page.Next != "" {
		view.MoreCollections = hv.here("?collections=" + url.QueryEscape(page.Next))
	}
	return nil
}

func (hv *helpVisit) fillCategories(node *treeNode, collection, here int64) error {
	page, err := hv.ed.Categories(hv.ctx(), kb.CategoryFilter{CollectionID: collection}, false, storage.PageRequest{Limit: storage.MaxLimit})
	for _, c := range page.Items {
		node.Categories = append(node.Categories, treeNode{Name: hv.text(c.Text).Title, URL: hv.here("?category=" + itoa(c.ID)), Count: int(c.Articles), Here: c.ID == here})
	}
	return err
}

// fillHome lists the articles that need work.
func (hv *helpVisit) fillHome(view *treeView) error {
	const few = 10
	view.Title = hv.words.T("Needs work")
	for _, one := range []struct {
		filter kb.ArticleFilter
		rows   *[]articleRow
		more   *bool
	}{
		{kb.ArticleFilter{Outdated: true, Brief: true}, &view.Outdated, &view.MoreOutdated},
		{kb.ArticleFilter{Drafts: true, Brief: true}, &view.Drafts, &view.MoreDrafts},
	} {
		page, err := hv.ed.Articles(hv.ctx(), one.filter, false, storage.PageRequest{Limit: few})
		if err != nil {
			return err
		}
		*one.rows, *one.more = hv.articleRows(page.Items), page.Next != ""
	}
	return nil
}

func (hv *helpVisit) listArticles(view *treeView, filter kb.ArticleFilter) error {
	switch view.Show {
	case "outdated":
		filter.Outdated, view.Title = true, hv.words.T("With outdated translations")
	case "drafts":
		filter.Drafts, view.Title = true, hv.words.T("With a draft")
	}
	page, err := hv.ed.Articles(hv.ctx(), filter, false, hv.pageOf(treePage))
	if err != nil {
		return err
	}
	view.Rows = hv.articleRows(page.Items)
	query := hv.r.URL.Query()
	query.Del("after")
	view.Place = hv.here("?" + query.Encode())
	if page.Next != "" {
		query.Set("after", page.Next)
		view.Next = hv.here("?" + query.Encode())
	}
	if (filter.CollectionID != 0 || filter.CategoryID != 0) && hv.may(kb.ArticlesUpdate) {
		view.OrderURL = hv.here("/order")
		for i := range view.Rows {
			r := &view.Rows[i]
			if i > 0 {
				r.Up = view.Rows[i-1].ID
			}
			if i > 1 {
				r.UpOver = view.Rows[i-2].ID
			}
			if i+1 < len(view.Rows) {
				r.Down = view.Rows[i+1].ID
			}
			if i+2 < len(view.Rows) {
				r.Below = view.Rows[i+2].ID
			}
		}
	}
	return nil
}

func (hv *helpVisit) findArticles(view *treeView) error {
	page, err := hv.ed.Search(hv.ctx(), view.Query, []string{hv.words.lang}, kb.ArticleFilter{}, hv.pageOf(treePage))
	if err != nil {
		return err
	}
	var found []kb.ArticleRevision
	for _, f := range page.Items {
		found = append(found, f.ArticleRevision)
	}
	view.Rows = hv.articleRows(found)
	if page.Next != "" {
		view.Next = hv.here("?q=" + url.QueryEscape(view.Query) + "&after=" + url.QueryEscape(page.Next))
	}
	return nil
}

func (hv *helpVisit) articleRows(list []kb.ArticleRevision) []articleRow {
	var rows []articleRow
	for _, a := range list {
		t := hv.text(a.Revision.Text)
		r := articleRow{
			ID: a.Article.ID, Title: t.Title, Lang: t.Locale, Dir: direction(t.Locale), URL: hv.here("/a/" + itoa(a.Article.ID)), When: hv.when(a.Article.UpdatedAt), Full: hv.full(a.Article.UpdatedAt),
			Draft: a.Article.Draft != 0, Public: a.Article.Published, Outdated: int(a.Article.Outdated),
		}
		if r.Outdated > 0 { // opens at the part that needs work
			for _, o := range a.Revision.Translations {
				if a.Article.Draft == 0 && a.Revision.Outdated(o) {
					r.URL += "?to=" + url.QueryEscape(o.Locale)
					break
				}
			}
		}
		var missing []string
		for _, code := range hv.locales(a.Revision.Text) {
			if o, ok := a.Revision.Translation(code); !ok || o.Title == "" {
				missing = append(missing, languageName(code))
			}
		}
		if len(missing) > 3 {
			missing = append(missing[:2], hv.words.N(len(missing)-2, "%s more|%s more"))
		}
		r.Missing = hv.words.list(missing)
		rows = append(rows, r)
	}
	return rows
}

// reorder moves an article between two others.
func (hv *helpVisit) reorder() error {
	id, over, under := hv.field("id"), hv.field("over"), hv.field("under")
	page, err := hv.ed.Articles(hv.ctx(), kb.ArticleFilter{IDs: []int64{id, over, under}, Brief: true}, false, storage.PageRequest{Limit: 3})
	if err != nil {
		return err
	}
	var before, after *kb.SortOrder
	found := false
	for _, a := range page.Items {
		order := a.Article.SortOrder
		switch a.Article.ID {
		case id:
			found = true
		case over:
			before = &order
		case under:
			after = &order
		}
	}
	if !found || before == nil && after == nil {
		return hv.see(hv.back(hv.here("")))
	}
	const unit = kb.SortOrder(1_000_000_000)
	var order kb.SortOrder
	switch {
	case before == nil:
		order = *after - unit
	case after == nil:
		order = *before + unit
	default:
		order = *before + (*after-*before)/2
	}
	if err := hv.moveArticle(id, func(in *kb.ArticleInput) { in.SortOrder = storage.Some(order) }); err != nil {
		return err
	}
	return hv.see(hv.back(hv.here("")))
}

// moveArticle changes the place of an article, in its live revision and its draft.
func (hv *helpVisit) moveArticle(id int64, change func(*kb.ArticleInput)) error {
	a, err := hv.ed.Draft(hv.ctx(), id)
	if err != nil {
		return err
	}
	in := kb.ArticleInput{TextInput: kb.TextInput{SourceLocale: a.Revision.SourceLocale}, CollectionID: a.Article.CollectionID, Unfinished: true}
	change(&in)
	if _, err := hv.ed.UpdateArticle(hv.ctx(), id, withSource(hv, in, id)); err != nil {
		return err
	}
	if a.Article.Draft == 0 {
		return nil
	}
	_, err = hv.ed.UpdateDraft(hv.ctx(), id, in)
	return err
}

// withSource fills in the source of the live revision, which may differ from the draft's.
func withSource(hv *helpVisit, in kb.ArticleInput, id int64) kb.ArticleInput {
	if live, err := hv.ed.Article(hv.ctx(), id); err == nil {
		in.SourceLocale = live.Revision.SourceLocale
	}
	return in
}

// ---- Collections and categories ----

type shelfView struct {
	Title, Back, Action, Delete, Nonce string
	Category                           bool
	In                                 int64
	Collections                        []shelfChoice
	Texts                              []shelfText
	Icons                              []string
	Icon                               string
	Order                              string // "first", "last" or "": as it is
	New                                bool
	Full                               bool // it has articles and cannot be deleted
	CanUpdate                          bool
	Errors                             map[string]string
}

type shelfChoice struct {
	ID   int64
	Name string
	On   bool
}

type shelfText struct {
	Locale, Language, Dir, Name, Summary string
	Source, Outdated                     bool
}

func (hv *helpVisit) shelfTexts(t kb.Text) []shelfText {
	var all []shelfText
	for _, code := range hv.locales(t) {
		o, _ := t.Translation(code)
		all = append(all, shelfText{code, languageName(code), direction(code), o.Title, o.Summary, code == t.SourceLocale, o.Title != "" && t.Outdated(o)})
	}
	return all
}

// shelfInput reads the names in all languages. Empty ones are removed.
func (hv *helpVisit) shelfInput(t kb.Text) kb.TextInput {
	in := kb.TextInput{SourceLocale: t.SourceLocale, Translations: map[string]storage.Opt[kb.TranslationInput]{}}
	for _, code := range hv.locales(t) {
		name, summary := strings.TrimSpace(hv.r.PostFormValue("name-"+code)), strings.TrimSpace(hv.r.PostFormValue("summary-"+code))
		_, there := t.Translation(code)
		switch {
		case name != "" || summary != "" || code == t.SourceLocale:
			in.Translations[code] = storage.Some(kb.TranslationInput{Title: storage.Some(name), Summary: storage.Some(summary)})
		case there:
			in.Translations[code] = storage.Null[kb.TranslationInput]()
		}
	}
	return in
}

func (hv *helpVisit) collectionChoices(on int64) ([]shelfChoice, error) {
	page, err := hv.ed.Collections(hv.ctx(), false, storage.PageRequest{Limit: storage.MaxLimit})
	var all []shelfChoice
	for _, c := range page.Items {
		all = append(all, shelfChoice{c.ID, hv.text(c.Text).Title, c.ID == on})
	}
	return all, err
}

func (hv *helpVisit) newShelfPage() error {
	in := number(hv.r.URL.Query().Get("in"))
	return hv.showShelf(shelfView{New: true, Category: in != 0, In: in, Texts: hv.shelfTexts(kb.Text{SourceLocale: hv.site.DefaultLocale}), CanUpdate: true}, 0)
}

func (hv *helpVisit) showShelf(view shelfView, status int) error {
	view.Errors, view.Nonce = orEmpty(view.Errors), rand.Text()
	view.Back = cmp.Or(view.Back, hv.here(""))
	if view.New {
		view.Action, view.Title = hv.here("/collections/new"), hv.words.T("New collection")
		if view.Category {
			view.Title, view.Back = hv.words.T("New category"), hv.here("?collection="+itoa(view.In))
		}
	}
	if view.Category {
		var err error
		if view.Collections, err = hv.collectionChoices(view.In); err != nil {
			return err
		}
	} else {
		view.Icons = theme.Icons()
	}
	return hv.showHelp("help-shelf", view.Title, view, status)
}

func (hv *helpVisit) createShelf() error {
	text := kb.Text{SourceLocale: hv.site.DefaultLocale}
	in, parent := hv.shelfInput(text), hv.field("in")
	category := hv.r.PostFormValue("category") != ""
	id, err := hv.onceID("shelf", hv.r.PostFormValue("nonce"), func(ctx context.Context) (int64, error) {
		if category {
			c, err := hv.ed.CreateCategory(ctx, kb.CategoryInput{TextInput: in, CollectionID: parent})
			return c.ID, err
		}
		c, err := hv.ed.CreateCollection(ctx, kb.CollectionInput{TextInput: in, Icon: storage.Some(hv.r.PostFormValue("icon"))})
		return c.ID, err
	})
	if fault.Is(err, fault.Invalid) {
		view := shelfView{New: true, Category: category, In: parent, Icon: hv.r.PostFormValue("icon"), Texts: hv.postedTexts(text), CanUpdate: true, Errors: hv.problems(err)}
		return hv.showShelf(view, http.StatusUnprocessableEntity)
	}
	if err != nil {
		return err
	}
	if category {
		return hv.see(hv.here("?category=" + itoa(id)))
	}
	return hv.see(hv.here("?collection=" + itoa(id)))
}

// postedTexts returns the names in the form.
func (hv *helpVisit) postedTexts(t kb.Text) []shelfText {
	all := hv.shelfTexts(t)
	for i, o := range all {
		all[i].Name, all[i].Summary = hv.r.PostFormValue("name-"+o.Locale), hv.r.PostFormValue("summary-"+o.Locale)
	}
	return all
}

func (hv *helpVisit) collectionPage() error {
	c, err := hv.ed.Collection(hv.ctx(), hv.number("id"))
	if err != nil {
		return err
	}
	return hv.showCollection(c, hv.shelfTexts(c.Text), nil, 0)
}

func (hv *helpVisit) showCollection(c kb.Collection, texts []shelfText, problems map[string]string, status int) error {
	view := shelfView{Title: hv.text(c.Text).Title, Action: hv.here("/collections/" + itoa(c.ID)), Texts: texts, Icon: c.Icon, Full: c.Articles > 0, Errors: problems,
		Back: hv.here("?collection=" + itoa(c.ID)), CanUpdate: hv.may(kb.CollectionsUpdate)}
	if hv.may(kb.CollectionsDelete) {
		view.Delete = view.Action + "/delete"
	}
	return hv.showShelf(view, status)
}

// shelfOrder returns the position chosen in a form.
func (hv *helpVisit) shelfOrder() storage.Opt[kb.SortOrder] {
	switch hv.r.PostFormValue("order") {
	case "last":
		return storage.Null[kb.SortOrder]()
	case "first":
		return storage.Some(kb.SortOrder(-hv.now.UnixMilli())) // before all that were placed first earlier
	}
	return storage.Opt[kb.SortOrder]{}
}

func (hv *helpVisit) saveCollection() error {
	c, err := hv.ed.Collection(hv.ctx(), hv.number("id"))
	if err != nil {
		return err
	}
	in := kb.CollectionInput{TextInput: hv.shelfInput(c.Text), Icon: storage.Some(hv.r.PostFormValue("icon")), SortOrder: hv.shelfOrder()}
	if _, err = hv.ed.UpdateCollection(hv.ctx(), c.ID, in); fault.Is(err, fault.Invalid) {
		return hv.showCollection(c, hv.postedTexts(c.Text), hv.problems(err), http.StatusUnprocessableEntity)
	}
	return hv.done(err, "?collection="+itoa(c.ID), hv.words.T("Collection saved"))
}

func (hv *helpVisit) deleteCollection() error {
	return hv.done(hv.ed.DeleteCollection(hv.ctx(), hv.number("id")), "", hv.words.T("Collection deleted"))
}

func (hv *helpVisit) categoryPage() error {
	c, err := hv.ed.Category(hv.ctx(), hv.number("id"))
	if err != nil {
		return err
	}
	return hv.showCategory(c, hv.shelfTexts(c.Text), nil, 0)
}

func (hv *helpVisit) showCategory(c kb.Category, texts []shelfText, problems map[string]string, status int) error {
	view := shelfView{Title: hv.text(c.Text).Title, Action: hv.here("/categories/" + itoa(c.ID)), Texts: texts, Category: true, In: c.CollectionID, Full: c.Articles > 0, Errors: problems,
		Back: hv.here("?category=" + itoa(c.ID)), CanUpdate: hv.may(kb.CategoriesUpdate)}
	if hv.may(kb.CategoriesDelete) {
		view.Delete = view.Action + "/delete"
	}
	return hv.showShelf(view, status)
}

func (hv *helpVisit) saveCategory() error {
	c, err := hv.ed.Category(hv.ctx(), hv.number("id"))
	if err != nil {
		return err
	}
	in := kb.CategoryInput{TextInput: hv.shelfInput(c.Text), CollectionID: hv.field("in"), SortOrder: hv.shelfOrder()}
	if _, err = hv.ed.UpdateCategory(hv.ctx(), c.ID, in); fault.Is(err, fault.Invalid) {
		return hv.showCategory(c, hv.postedTexts(c.Text), hv.problems(err), http.StatusUnprocessableEntity)
	}
	return hv.done(err, "?category="+itoa(c.ID), hv.words.T("Category saved"))
}

func (hv *helpVisit) deleteCategory() error {
	return hv.done(hv.ed.DeleteCategory(hv.ctx(), hv.number("id")), "", hv.words.T("Category deleted"))
}

// done redirects to a page of the site with a notice of the result or of the reason for failure.
func (hv *helpVisit) done(err error, path, text string) error {
	t := toast{Text: text}
	if err != nil {
		f, ok := asFault(err)
		if !ok || f.Kind != fault.Conflict && f.Kind != fault.Invalid && f.Kind != fault.TooLarge {
			return err
		}
		t = toast{Text: hv.words.T(f.Message), Bad: true}
		for _, problem := range hv.problems(err) {
			t.Text = problem
		}
	}
	hv.say(t)
	return hv.see(hv.here(path))
}

// deleteSite deletes the help centre; its name has to be typed.
func (hv *helpVisit) deleteSite() error {
	if strings.TrimSpace(hv.r.PostFormValue("name")) != hv.site.Name {
		return hv.done(fault.Field("name", "is incorrect"), "/look", "")
	}
	if err := hv.ed.DeleteSite(hv.ctx()); err != nil {
		return err
	}
	hv.say(toast{Text: hv.words.T("Help centre deleted")})
	return hv.see(hv.at("/help"))
}

func atoi(text string) int { n, _ := strconv.Atoi(text); return n }
