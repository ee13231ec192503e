package desk

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/theme"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// lookView is the page of a help centre's appearance and address.
type lookView struct {
	Action, Back, Public, DeleteURL string
	Name, Path, Subdomain, Domain   string
	Base, SitesDomain               string
	Private                         bool
	Accent, Hero                    string
	Heroes                          []shelfChoiceText
	Popular, Recent                 bool
	Images                          []imageChoice
	FilesURL                        string
	Boxes                           []shelfChoice
	Asks                            string // where what the contact form asks is chosen; "": it has none, or the member may not
	Texts                           []lookText
	Themes                          []themeRow
	ThemesAction                    string // "" if not allowed
	CanUpdate                       bool
	Errors                          map[string]string
}

type shelfChoiceText struct {
	Value, Text string
	On          bool
}

type imageChoice struct {
	Field, Label, Shown string
	Files               []shelfChoice
}

type lookText struct {
	Locale, Language, Dir                            string
	Title, Line, Searches, Header, Footer, Copyright string
	Contact                                          string
	Open                                             bool
}

type themeRow struct {
	Name, Version, Download, Action, Preview string
	Active, Update, CanChange, CanDelete     bool
}

func (hv *helpVisit) lookPage() error { return hv.showLook(nil, 0) }

func (hv *helpVisit) showLook(problems map[string]string, status int) error {
	s := hv.site
	view := lookView{
		Action: hv.here("/look"), Back: hv.here(""), Public: hv.ed.URL(), Name: s.Name, Path: s.Path, Subdomain: s.Subdomain, Domain: s.CustomDomain, Private: s.Visibility == kb.Private,
		Base: hv.h.cfg.KB.BaseURL() + "/", SitesDomain: hv.h.cfg.KB.SubdomainHost(kb.Site{Subdomain: "x"})[1:],
		Accent: cmp.Or(s.Look.Accent, kb.DefaultAccent), Popular: !s.Look.HidePopular, Recent: !s.Look.HideRecent, CanUpdate: hv.may(kb.SitesUpdate), FilesURL: hv.here("/files"), Errors: orEmpty(problems),
	}
	if hv.may(kb.SitesDelete) {
		view.DeleteURL = hv.here("/delete")
	}
	for _, h := range []struct {
		hero kb.Hero
		text string
	}{{kb.HeroTint, hv.words.T("Tinted")}, {kb.HeroPlain, hv.words.T("Plain")}, {kb.HeroAccent, hv.words.T("Accent colour")}} {
		view.Heroes = append(view.Heroes, shelfChoiceText{string(h.hero), h.text, cmp.Or(s.Look.Hero, kb.HeroTint) == h.hero})
	}
	boxes, err := hv.mailboxes()
	if err != nil {
		return err
	}
	for _, b := range boxes {
		view.Boxes = append(view.Boxes, shelfChoice{b.ID, b.Name, b.ID == s.MailboxID})
		if b.ID == s.MailboxID && hv.visit.may(identity.MailboxesUpdate) {
			view.Asks = hv.at("/settings/mailboxes/"+itoa(b.ID)) + "#contact-form"
		}
	}
	if err := hv.fillImages(&view); err != nil {
		return err
	}
	for _, code := range hv.locales(kb.Text{SourceLocale: s.DefaultLocale}) {
		t := s.Look.Texts[code]
		view.Texts = append(view.Texts, lookText{
			Locale: code, Language: languageName(code), Dir: direction(code), Title: t.Title, Line: t.Line, Searches: strings.Join(t.Searches, "\n"),
			Header: linkLines(t.HeaderLinks), Footer: linkLines(t.FooterLinks), Copyright: t.Copyright, Contact: t.ContactText, Open: code == s.DefaultLocale,
		})
	}
	if err := hv.fillThemes(&view); err != nil {
		return err
	}
	return hv.showHelp("help-look", hv.words.T("Design and address"), view, status)
}

// fillImages lists the images of the site to choose from.
func (hv *helpVisit) fillImages(view *lookView) error {
	if !hv.may(kb.FilesView) {
		return nil
	}
	page, err := hv.ed.Files(hv.ctx(), storage.PageRequest{Limit: storage.MaxLimit})
	if err != nil {
		return err
	}
	l := hv.site.Look
	for _, one := range []struct {
		field, label string
		id           int64
	}{{"logo", hv.words.T("Logo"), l.LogoID}, {"logo_dark", hv.words.T("Logo for dark mode"), l.LogoDarkID}, {"favicon", hv.words.T("Favicon"), l.FaviconID}, {"social", hv.words.T("Social sharing image"), l.SocialImageID}} {
		c := imageChoice{Field: one.field, Label: one.label}
		known := one.id == 0
		for _, f := range page.Items {
			if strings.HasPrefix(f.ContentType, "image/") {
				c.Files = append(c.Files, shelfChoice{f.ID, f.Filename, f.ID == one.id})
				if f.ID == one.id {
					c.Shown, known = hv.here(kb.FilePath(f)), true
				}
			}
		}
		if !known {
			if f, err := hv.ed.File(hv.ctx(), one.id); err == nil {
				c.Files, c.Shown = append(c.Files, shelfChoice{f.ID, f.Filename, true}), hv.here(kb.FilePath(f))
			}
		}
		view.Images = append(view.Images, c)
	}
	return nil
}

func (hv *helpVisit) fillThemes(view *lookView) error {
	if !hv.may(kb.ThemesView) {
		return nil
	}
	page, err := hv.ed.Themes(hv.ctx(), storage.PageRequest{Limit: storage.MaxLimit})
	if err != nil {
		return err
	}
	if hv.may(kb.ThemesCreate) {
		view.ThemesAction = hv.here("/look/themes")
	}
	for _, t := range page.Items {
		r := themeRow{Name: t.Name, Version: t.Version, Active: t.IsActive, Update: t.UpdateAvailable, Action: hv.here("/look/themes/" + itoa(t.ID)), CanChange: hv.may(kb.ThemesUpdate), CanDelete: hv.may(kb.ThemesDelete) && !t.IsActive}
		r.Download = r.Action + "/" + url.PathEscape(cmp.Or(kb.Slug(t.Name), "theme")) + ".zip"
		if hv.h.cfg.PreviewTheme != nil {
			r.Preview = hv.h.cfg.PreviewTheme(hv.ed.URL(), hv.site.ID, t.ID)
		}
		view.Themes = append(view.Themes, r)
	}
	return nil
}

func linkLines(links []kb.Link) string {
	var lines []string
	for _, l := range links {
		lines = append(lines, l.Name+" "+l.URL)
	}
	return strings.Join(lines, "\n")
}

// parseLinks parses lines of a name and an address.
func parseLinks(text string) []kb.Link {
	var links []kb.Link
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		at := strings.LastIndexAny(line, " \t")
		links = append(links, kb.Link{Name: strings.TrimSpace(line[:max(at, 0)]), URL: strings.TrimSpace(line[at+1:])})
	}
	return links
}

func (hv *helpVisit) saveLook() error {
	r := hv.r
	on := func(field string) storage.Opt[int64] { return storage.Some(hv.field(field)) }
	in := kb.SiteInput{
		AccountID: hv.site.AccountID, Name: r.PostFormValue("name"), Path: storage.Some(r.PostFormValue("path")), Subdomain: storage.Some(r.PostFormValue("subdomain")),
		CustomDomain: storage.Some(r.PostFormValue("domain")), Visibility: storage.Some(kb.Public),
	}
	if r.PostFormValue("private") != "" {
		in.Visibility = storage.Some(kb.Private)
	}
	if _, given := r.PostForm["mailbox"]; given {
		in.MailboxID = on("mailbox")
	}
	in.Look = kb.LookInput{
		Accent: storage.Some(r.PostFormValue("accent")), Hero: storage.Some(kb.Hero(r.PostFormValue("hero"))),
		ShowPopular: storage.Some(r.PostFormValue("popular") != ""), ShowRecent: storage.Some(r.PostFormValue("recent") != ""), Texts: map[string]storage.Opt[kb.LookTextInput]{},
	}
	if strings.EqualFold(r.PostFormValue("accent"), kb.DefaultAccent) {
		in.Look.Accent = storage.Some("")
	}
	if _, given := r.PostForm["logo"]; given {
		in.Look.LogoID, in.Look.LogoDarkID, in.Look.FaviconID, in.Look.SocialImageID = on("logo"), on("logo_dark"), on("favicon"), on("social")
	}
	for _, code := range hv.locales(kb.Text{SourceLocale: hv.site.DefaultLocale}) {
		text := func(field string) storage.Opt[string] { return storage.Some(r.PostFormValue(field + "-" + code)) }
		in.Look.Texts[code] = storage.Some(kb.LookTextInput{
			Title: text("title"), Line: text("line"), Copyright: text("copyright"), ContactText: text("contact"),
			Searches: storage.Some(strings.Split(r.PostFormValue("searches-"+code), "\n")), HeaderLinks: storage.Some(parseLinks(r.PostFormValue("header-" + code))), FooterLinks: storage.Some(parseLinks(r.PostFormValue("footer-" + code))),
		})
	}
	site, err := hv.ed.UpdateSite(hv.ctx(), in)
	if fault.Is(err, fault.Invalid) {
		problems := hv.problems(err)
		hv.site.Name, hv.site.Path, hv.site.Subdomain, hv.site.CustomDomain = in.Name, r.PostFormValue("path"), r.PostFormValue("subdomain"), r.PostFormValue("domain")
		problems["form"] = hv.firstProblem(err)
		return hv.showLook(problems, http.StatusUnprocessableEntity)
	}
	if err == nil {
		hv.site = site
	}
	return hv.done(err, "/look", hv.words.T("Saved"))
}

// ---- Themes ----

func (hv *helpVisit) uploadTheme() error {
	hv.r.Body = http.MaxBytesReader(hv.w, hv.r.Body, theme.MaxArchive+1<<20)
	if err := hv.r.ParseMultipartForm(1 << 20); err != nil && !errors.Is(err, http.ErrNotMultipart) {
		return hv.done(tooLarge(err), "/look", "")
	}
	archive, head, err := hv.r.FormFile("zip")
	if err != nil { // if there is none, the built-in theme, to be modified
		_, err := hv.ed.CreateTheme(hv.ctx(), "")
		return hv.done(err, "/look", hv.words.T("Theme added"))
	}
	defer func() { _ = archive.Close() }() // only read
	_, err = hv.ed.UploadTheme(hv.ctx(), kb.ThemeUpload{Filename: head.Filename, Archive: archive, Size: head.Size})
	return hv.done(err, "/look", hv.words.T("Theme added"))
}

func (hv *helpVisit) changeTheme() error {
	id := hv.number("theme")
	var err error
	text := ""
	switch hv.r.PathValue("deed") {
	case "activate":
		_, err = hv.ed.ActivateTheme(hv.ctx(), id)
		text = hv.words.T("This theme is now active")
	case "update":
		_, err = hv.ed.UpdateTheme(hv.ctx(), id)
		text = hv.words.T("Theme updated")
	case "delete":
		err = hv.ed.DeleteTheme(hv.ctx(), id)
		text = hv.words.T("Theme deleted")
	default:
		return hv.missing()
	}
	return hv.done(err, "/look", text)
}

func (hv *helpVisit) downloadTheme() error {
	var out bytes.Buffer // a theme has at most 30 MB
	if _, err := hv.ed.DownloadTheme(hv.ctx(), hv.number("theme"), &out); err != nil {
		return err
	}
	h := hv.w.Header()
	h.Set("Content-Type", "application/zip")
	h.Set("Content-Disposition", "attachment")
	_, _ = io.Copy(hv.w, &out) // the browser may have disconnected
	return nil
}
