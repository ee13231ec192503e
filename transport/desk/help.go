package desk

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// routeHelp registers the pages below /a/{account}/help.
func (h *Handler) routeHelp() {
	if h.cfg.KB == nil {
		return
	}
	for pattern, fn := range map[string]func(*visit) error{
		"GET /help":       (*visit).helpHome,
		"GET /help/new":   (*visit).newSitePage,
		"POST /help/new":  (*visit).createSite,
		"GET /help/links": (*visit).linkable,
		"GET /help/write": (*visit).writeFrom,

		"POST /c/{id}/article": (*visit).insertArticle,
	} {
		h.mux.HandleFunc(below(pattern), h.member(fn))
	}
	for pattern, fn := range map[string]func(*helpVisit) error{
		"GET /help/{site}":                             (*helpVisit).tree,
		"POST /help/{site}/order":                      (*helpVisit).reorder,
		"GET /help/{site}/collections/new":             (*helpVisit).newShelfPage,
		"POST /help/{site}/collections/new":            (*helpVisit).createShelf,
		"GET /help/{site}/collections/{id}":            (*helpVisit).collectionPage,
		"POST /help/{site}/collections/{id}":           (*helpVisit).saveCollection,
		"POST /help/{site}/collections/{id}/delete":    (*helpVisit).deleteCollection,
		"GET /help/{site}/categories/{id}":             (*helpVisit).categoryPage,
		"POST /help/{site}/categories/{id}":            (*helpVisit).saveCategory,
		"POST /help/{site}/categories/{id}/delete":     (*helpVisit).deleteCategory,
		"GET /help/{site}/new":                         (*helpVisit).newArticlePage,
		"POST /help/{site}/new":                        (*helpVisit).createArticle,
		"POST /help/{site}/preview":                    (*helpVisit).preview,
		"POST /help/{site}/markdown":                   (*helpVisit).asMarkdown,
		"GET /help/{site}/a/{id}":                      (*helpVisit).articlePage,
		"POST /help/{site}/a/{id}":                     (*helpVisit).saveArticle,
		"POST /help/{site}/a/{id}/place":               (*helpVisit).placeArticle,
		"POST /help/{site}/a/{id}/unpublish":           (*helpVisit).unpublishArticle,
		"POST /help/{site}/a/{id}/discard":             (*helpVisit).discardDraft,
		"POST /help/{site}/a/{id}/delete":              (*helpVisit).deleteArticle,
		"GET /help/{site}/a/{id}/history":              (*helpVisit).history,
		"GET /help/{site}/a/{id}/history/{revision}":   (*helpVisit).revisionPage,
		"POST /help/{site}/a/{id}/history/{revision}":  (*helpVisit).restore,
		"GET /help/{site}/files":                       (*helpVisit).filesPage,
		"POST /help/{site}/files":                      (*helpVisit).uploadFile,
		"POST /help/{site}/files/{file}":               (*helpVisit).renameFile,
		"POST /help/{site}/files/{file}/delete":        (*helpVisit).deleteFile,
		"GET /help/{site}/files/{file}/{key}/{name}":   (*helpVisit).siteFile,
		"GET /help/{site}/feedback":                    (*helpVisit).feedbackPage,
		"GET /help/{site}/feedback/articles":           (*helpVisit).readersPage,
		"GET /help/{site}/feedback/searches":           (*helpVisit).searchesPage,
		"POST /help/{site}/feedback/{id}":              (*helpVisit).markFeedback,
		"GET /help/{site}/search":                      (*helpVisit).searchPage,
		"POST /help/{site}/search":                     (*helpVisit).saveSearch,
		"GET /help/{site}/look":                        (*helpVisit).lookPage,
		"POST /help/{site}/look":                       (*helpVisit).saveLook,
		"POST /help/{site}/look/themes":                (*helpVisit).uploadTheme,
		"POST /help/{site}/look/themes/{theme}/{deed}": (*helpVisit).changeTheme,
		"GET /help/{site}/look/themes/{theme}/{name}":  (*helpVisit).downloadTheme,
		"POST /help/{site}/delete":                     (*helpVisit).deleteSite,
	} {
		h.mux.HandleFunc(below(pattern), h.member(func(v *visit) error {
			hv, err := v.openSite(v.number("site"))
			if err != nil {
				return err
			}
			return fn(hv)
		}))
	}
}

// helpVisit is a request about one help centre of the account.
type helpVisit struct {
	*visit
	ed   *kb.Editor
	site kb.Site
}

func (v *visit) kb() *kb.Service { return v.h.cfg.KB.From(v.h.cfg.Addr(v.r)) }

// openSite opens a site of this account; a site of another account is not found.
func (v *visit) openSite(id int64) (*helpVisit, error) {
	ed, err := v.kb().Editor(v.ctx(), v.caller, id)
	if err != nil {
		return nil, err
	}
	site, err := ed.Site(v.ctx())
	if err != nil {
		return nil, err
	}
	if site.AccountID != v.AccountID() {
		return nil, fault.Missing("site", id)
	}
	return &helpVisit{visit: v, ed: ed, site: site}, nil
}

// here is the address of a page of the site.
func (hv *helpVisit) here(path string) string { return hv.at("/help/" + itoa(hv.site.ID) + path) }

// seesHelp reports whether the member may see pages of help centres.
func (v *visit) seesHelp() bool { return v.h.cfg.KB != nil && v.may(identity.Permission(kb.SitesView)) }

// writesArticles reports whether the member writes articles.
func (v *visit) writesArticles() bool {
	return v.seesHelp() && v.may(identity.Permission(kb.ArticlesCreate))
}

// sites are the help centres of the account, at most 100.
func (v *visit) sites() ([]kb.Site, error) {
	sites, err := v.kb().Sites(v.caller)
	if err != nil {
		return nil, err
	}
	page, err := sites.List(v.ctx(), v.AccountID(), storage.PageRequest{Limit: storage.MaxLimit})
	return page.Items, err
}

type sitesView struct {
	Rows []siteRow
	New  string // "" if not allowed
}

type siteRow struct {
	Name, URL, Public string
	Private           bool
}

// helpHome redirects to the only help centre, or lists them.
func (v *visit) helpHome() error {
	sites, err := v.sites()
	if err != nil {
		return err
	}
	view := sitesView{}
	if v.may(identity.Permission(kb.SitesCreate)) {
		view.New = v.at("/help/new")
	}
	if len(sites) == 1 {
		return v.see(v.at("/help/" + itoa(sites[0].ID)))
	}
	if len(sites) == 0 && view.New != "" {
		return v.newSitePage()
	}
	for _, s := range sites {
		view.Rows = append(view.Rows, siteRow{s.Name, v.at("/help/" + itoa(s.ID)), v.h.cfg.KB.URL(s), s.Visibility == kb.Private})
	}
	return v.showHelp("help-sites", v.words.T("Help centre"), view, 0)
}

// showHelp shows a page of the help centre.
func (v *visit) showHelp(template, title string, data any, status int) error {
	return v.show(screen{template: template, title: title, data: data, nav: "help", status: status})
}

type newSiteView struct {
	Action, Nonce         string
	Name, Path, Subdomain string
	Base                  string // prefix of the path
	Domain                string // suffix after the subdomain
	Private               bool
	Locale                string
	Errors                map[string]string
}

func (v *visit) newSitePage() error {
	if !v.may(identity.Permission(kb.SitesCreate)) {
		return fault.New(fault.Forbidden, "You are not allowed to create help centres.")
	}
	return v.showNewSite(newSiteView{Name: v.account.Name, Path: strings.Trim(kb.Slug(v.account.Name), "-")}, 0)
}

func (v *visit) showNewSite(view newSiteView, status int) error {
	view.Action, view.Nonce, view.Errors = v.at("/help/new"), cmp.Or(view.Nonce, rand.Text()), orEmpty(view.Errors)
	view.Base, view.Locale = v.h.cfg.KB.BaseURL()+"/", languageName(v.account.DefaultLocale)
	return v.showHelp("help-new-site", v.words.T("New help centre"), view, status)
}

func (v *visit) createSite() error {
	view := newSiteView{
		Name: v.r.PostFormValue("name"), Path: v.r.PostFormValue("path"), Subdomain: v.r.PostFormValue("subdomain"),
		Private: v.r.PostFormValue("private") != "", Nonce: v.r.PostFormValue("nonce"),
	}
	in := kb.SiteInput{AccountID: v.AccountID(), Name: view.Name, Visibility: storage.Some(kb.Public)}
	if view.Path != "" {
		in.Path = storage.Some(view.Path)
	}
	if view.Subdomain != "" {
		in.Subdomain = storage.Some(view.Subdomain)
	}
	if view.Private {
		in.Visibility = storage.Some(kb.Private)
	}
	id, err := v.onceID("site", view.Nonce, func(ctx context.Context) (int64, error) {
		sites, err := v.kb().Sites(v.caller)
		if err != nil {
			return 0, err
		}
		made, err := sites.Create(ctx, in)
		return made.ID, err
	})
	if fault.Is(err, fault.Invalid) {
		view.Errors, view.Nonce = v.problems(err), ""
		return v.showNewSite(view, http.StatusUnprocessableEntity)
	}
	if err != nil {
		return err
	}
	return v.see(v.at("/help/" + itoa(id)))
}

// onceID creates something only once, even if its form is submitted repeatedly, and returns its id.
func (v *visit) onceID(what, nonce string, fn func(ctx context.Context) (int64, error)) (int64, error) {
	if nonce == "" {
		return fn(v.ctx())
	}
	key := sha256.Sum256(fmt.Appendf(nil, "help %s\x00%d\x00%d\x00%s", what, v.UserID(), v.AccountID(), nonce))
	note := storage.Note{Key: key[:], Request: key[:], Holder: rand.Text(), Until: v.now.AddDate(0, 0, 1)}
	answer, err := storage.Once(v.ctx(), v.h.cfg.Once, note, v.now, func(ctx context.Context) ([]byte, error) {
		id, err := fn(ctx)
		return strconv.AppendInt(nil, id, 10), err
	})
	return number(string(answer)), err
}

// ---- Languages ----

// languageName returns a language's name in that language.
func languageName(code string) string {
	tag, err := language.Parse(code)
	if err != nil {
		return code
	}
	name := display.Self.Name(tag)
	if name == "" {
		return code
	}
	first, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(first)) + name[size:]
}

// direction returns the direction of a language's script.
func direction(code string) string {
	tag, err := language.Parse(code)
	if err != nil {
		return "ltr"
	}
	script, _ := tag.Script()
	if slices.Contains([]string{"Arab", "Hebr", "Syrc", "Thaa", "Nkoo", "Adlm", "Rohg", "Mand", "Samr"}, script.String()) {
		return "rtl"
	}
	return "ltr"
}

// locales returns the languages of the site, the default one first, and the other languages in which a text exists.
func (hv *helpVisit) locales(t kb.Text) []string {
	all := []string{}
	add := func(code string) {
		if locale, ok := kb.Locale(code); ok && !slices.Contains(all, locale) {
			all = append(all, locale)
		}
	}
	add(t.SourceLocale)
	add(hv.site.DefaultLocale)
	for _, code := range hv.site.Languages {
		add(code)
	}
	for _, o := range t.Translations {
		add(o.Locale)
	}
	return all
}
