package desk

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/contenthtml"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// articleView is the page for writing or translating an article.
type articleView struct {
	ID                         int64
	In, InURL                  string // the collection
	Title                      string
	Tag                        string // the shown revision: draft or live
	Live                       bool   // readers can see it
	Saved                      string
	HistoryURL, PreviewURL     string
	Public                     string // address for readers
	Action, PreviewAction      string
	MarkdownAction             string // makes Markdown of what is pasted
	FilesAction                string // "" if not allowed
	MaxFile                    int64
	CanEdit, CanPublish        bool
	UnpublishURL, DiscardURL   string
	DeleteURL, PlaceURL        string
	Collections                []shelfChoice
	Categories                 []shelfChoice
	Langs                      []langTab
	AddURL                     string
	To, Lang, Dir              string // the languages of the text
	Language, SourceLanguage   string
	SourceLang, SourceDir      string
	SourceNote                 string
	Seen                       string
	Name, Summary, Text        string
	Shown                      template.HTML // preview
	Translating, Plain         bool
	PlainURL, BlocksURL        string
	NameUnit, SummaryUnit      unit
	Units                      []unit
	Last                       unit // for text beyond the end of the source
	Work, Of                   int
	Blank                      int    // number of source blocks left untranslated on purpose
	First                      string // anchor of the first block that needs work
	Unknown                    string // the source has changed, in unknown ways
	FromHTML                   bool
	Error                      string
	Errors                     map[string]string
	Conflict                   *conflict
	New                        bool
	Autosave                   bool // of a new article
	Nonce                      string
	NewCollection, NewCategory int64
	Done                       []string
}

// conflict is a version saved by another member in the meantime.
type conflict struct {
	Name, Summary, Shown template.HTML // theirs, with the differences from ours marked
	URL                  string
}

// langTab is a language of an article with its state.
type langTab struct {
	Name, State, URL, Class string
	Active                  bool
}

// unit is a block that is translated at once.
type unit struct {
	ID, Class, Key, Note, Text string
	Shape                      string // what makes the translation a block of the same kind
	Original                   string // the Markdown of the source
	Source                     template.HTML
	Open, Gone                 bool
	Rows                       int
}

// address returns the address, from a page of the desk, of a reference in content.
func (hv *helpVisit) address(locale string) func(string) string {
	return func(to string) string {
		if r, ok := kb.ParseReference(to); ok {
			to = r.Path(locale)
		}
		switch {
		case strings.HasPrefix(to, "/files/"):
			return hv.here(to)
		case strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "//"):
			return hv.ed.URL() + to
		}
		return to
	}
}

// markdownOf returns a text for editing: HTML is converted to Markdown.
func (hv *helpVisit) markdownOf(t kb.Translation) string {
	t = t.Linked(func(r kb.Reference) string { return r.Path(t.Locale) })
	return cmp.Or(t.Markdown, fromHTML(t.Content))
}

func (hv *helpVisit) madeFrom(t kb.Translation) string {
	t = t.Linked(func(r kb.Reference) string { return r.Path(t.Locale) })
	return cmp.Or(t.MadeFrom.Markdown, fromHTML(t.MadeFrom.Content))
}

func fromHTML(content string) string {
	if content == "" {
		return ""
	}
	return contenthtml.ToMarkdown(content)
}

// translated is a translation next to its source.
type translated struct {
	rows          []pair
	name, summary pair
	unknown       bool // the source has changed, in unknown ways
	fresh         bool // there is no translation yet
}

// beside puts a translation next to its source.
func (hv *helpVisit) beside(t kb.Text, locale string) translated {
	source, _ := t.Translation(t.SourceLocale)
	o, _ := t.Translation(locale)
	o.Locale = locale
	now := hv.markdownOf(source)
	out := translated{fresh: o.Empty()}
	of, name, summary := now, source.Title, source.Summary
	switch {
	case out.fresh:
		of, name, summary = "", "", ""
	case o.MadeFrom != (kb.SourceText{}):
		made := o
		made.Locale = t.SourceLocale
		of, name, summary = hv.madeFrom(made), o.MadeFrom.Title, o.MadeFrom.Summary
	default:
		out.unknown = t.Outdated(o)
	}
	out.rows = rowsOf(blocksOf(now), blocksOf(of), blocksOf(hv.markdownOf(o)))
	out.name = pair{source: source.Title, base: name, text: o.Title, key: "name"}
	out.summary = pair{source: source.Summary, base: summary, text: o.Summary, key: "summary"}
	return out
}

// work returns how many blocks need work, out of how many.
func (t translated) work() (open, of int) {
	for _, r := range append([]pair{t.name, t.summary}, t.rows...) {
		if r.source == "" && r.base == "" && r.text == "" {
			continue
		}
		of++
		if r.open() {
			open++
		}
	}
	return open, of
}

// blank returns how many blocks of the source have no translation although they have not changed since the translation was
// made.
func (t translated) blank() int {
	n := 0
	for _, r := range append([]pair{t.name, t.summary}, t.rows...) {
		if r.source != "" && r.text == "" && !r.open() {
			n++
		}
	}
	return n
}

// articlePage shows an article for editing.
func (hv *helpVisit) articlePage() error {
	a, err := hv.ed.Draft(hv.ctx(), hv.number("id"))
	if err != nil {
		return err
	}
	view, err := hv.articleView(a, hv.r.URL.Query().Get("to"))
	if err != nil {
		return err
	}
	return hv.showArticle(view, 0)
}

func (hv *helpVisit) showArticle(view articleView, status int) error {
	view.Errors = orEmpty(view.Errors)
	s := screen{template: "help-article", title: cmp.Or(view.Title, hv.words.T("New article")), data: view, nav: "help", status: status,
		parts: map[string]string{"langs": "help-langs", "units": "help-units", "saved": "help-saved"}}
	return hv.show(s)
}

// articleView prepares the page; to is the language into which the article is translated, or the source's or "" for writing
// the source.
func (hv *helpVisit) articleView(a ArticleDraft, to string) (articleView, error) {
	t := a.Revision.Text
	source, _ := t.Translation(t.SourceLocale)
	if locale, ok := kb.Locale(to); ok {
		to = locale
	} else {
		to = t.SourceLocale
	}
	self := hv.here("/a/" + itoa(a.Article.ID))
	view := articleView{
		ID: a.Article.ID, Title: cmp.Or(source.Title, hv.words.T("Untitled")), Live: a.Article.Published, To: to, Lang: to, Dir: direction(to), Language: languageName(to), Action: self,
		SourceLanguage: languageName(t.SourceLocale), SourceLang: t.SourceLocale, SourceDir: direction(t.SourceLocale),
		PreviewAction: hv.here("/preview"), MarkdownAction: hv.here("/markdown"), HistoryURL: self + "/history", CanEdit: hv.may(kb.ArticlesUpdate), CanPublish: hv.may(kb.ArticlesUpdate) && hv.may(kb.ArticlesPublish),
		PlainURL: self + "?plain=1&to=" + url.QueryEscape(to), BlocksURL: self + "?to=" + url.QueryEscape(to), AddURL: self, MaxFile: hv.h.cfg.KB.MaxFile(),
	}
	if a.Article.Published {
		view.Public = hv.ed.URL() + kb.PagePath(t.SourceLocale, kb.ArticlePages, a.Article.ID, source.Title)
	}
	hv.tag(&view, a)
	hv.fillDeeds(&view, a, self)
	if err := hv.fillPlace(&view, a); err != nil {
		return view, err
	}
	view.Langs = hv.langTabs(t, to, self)
	o, _ := t.Translation(to)
	o.Locale = to
	view.Seen, view.Name, view.Summary, view.Text = seenOf(o), o.Title, o.Summary, hv.markdownOf(o)
	view.FromHTML = o.Markdown == "" && o.Content != ""
	if to == t.SourceLocale {
		view.Shown = rendered(view.Text, hv.address(to))
		return view, nil
	}
	view.Translating, view.Plain = true, hv.r.URL.Query().Get("plain") != ""
	hv.fillUnits(&view, t, to)
	return view, nil
}

// ArticleDraft is an article with the revision being edited.
type ArticleDraft = kb.ArticleRevision

func seenOf(t kb.Translation) string {
	if t.UpdatedAt.IsZero() {
		return "0"
	}
	return itoa(t.UpdatedAt.UnixMicro())
}

// tag describes the shown revision.
func (hv *helpVisit) tag(view *articleView, a ArticleDraft) {
	switch {
	case a.Revision.Number != a.Article.Live:
		view.Tag = hv.words.T("Draft %s", a.Revision.Number)
		view.Saved = hv.words.T("Saved %s", hv.when(a.Revision.UpdatedAt))
	case a.Article.Published:
		view.Tag = hv.words.T("Live")
	default:
		view.Tag = hv.words.T("Not published")
		view.Saved = hv.words.T("Saved %s", hv.when(a.Revision.UpdatedAt))
	}
}

// fillDeeds fills in the actions that the member may take on the article.
func (hv *helpVisit) fillDeeds(view *articleView, a ArticleDraft, self string) {
	if hv.h.cfg.PreviewDraft != nil {
		view.PreviewURL = hv.h.cfg.PreviewDraft(hv.site, a, view.To)
	}
	if hv.may(kb.FilesCreate) {
		view.FilesAction = hv.here("/files")
	}
	if view.CanPublish && a.Article.Published {
		view.UnpublishURL = self + "/unpublish"
	}
	if view.CanEdit && (a.Revision.Number != a.Article.Live || isFirst(a) && hv.may(kb.ArticlesDelete)) {
		view.DiscardURL = self + "/discard"
	}
	if hv.may(kb.ArticlesDelete) {
		view.DeleteURL = self + "/delete"
	}
	if view.CanEdit && (view.CanPublish || !a.Article.Published) {
		view.PlaceURL = self + "/place"
	}
}

// fillPlace lists the article's place and the possible others.
func (hv *helpVisit) fillPlace(view *articleView, a ArticleDraft) error {
	var err error
	if view.Collections, err = hv.collectionChoices(a.Article.CollectionID); err != nil {
		return err
	}
	view.InURL = hv.here("?collection=" + itoa(a.Article.CollectionID))
	for _, c := range view.Collections {
		if c.On {
			view.In = c.Name
		}
	}
	page, err := hv.ed.Categories(hv.ctx(), kb.CategoryFilter{CollectionID: a.Article.CollectionID}, false, storage.PageRequest{Limit: storage.MaxLimit})
	if err != nil {
		return err
	}
	for _, c := range page.Items {
		view.Categories = append(view.Categories, shelfChoice{c.ID, hv.text(c.Text).Title, slices.Contains(a.Article.CategoryIDs, c.ID)})
	}
	return nil
}

// langTabs returns the languages with the work left in each.
func (hv *helpVisit) langTabs(t kb.Text, to, self string) []langTab {
	var tabs []langTab
	for _, code := range append(hv.locales(t), to) {
		tab := langTab{Name: languageName(code), URL: self + "?to=" + url.QueryEscape(code), Active: code == to, Class: "ok"}
		o, there := t.Translation(code)
		switch {
		case slices.ContainsFunc(tabs, func(other langTab) bool { return other.Name == tab.Name }):
			continue
		case code == t.SourceLocale:
			tab.State, tab.URL = hv.words.T("source"), self
		case !there || o.Empty():
			tab.State, tab.Class = hv.words.T("not started"), "none"
		case t.Outdated(o):
			tab.State, tab.Class = hv.words.T("outdated"), "warn"
			if n, _ := hv.beside(t, code).work(); n > 0 {
				tab.State = hv.words.N(n, "%s outdated|%s outdated")
			}
		}
		tabs = append(tabs, tab)
	}
	return tabs
}

// fillUnits prepares the blocks with their changes marked.
func (hv *helpVisit) fillUnits(view *articleView, t kb.Text, to string) {
	source, _ := t.Translation(t.SourceLocale)
	b := hv.beside(t, to)
	day := hv.day(source.UpdatedAt)
	view.SourceNote = hv.words.T("Changes since this translation are highlighted")
	if b.fresh {
		view.SourceNote = ""
	}
	if b.unknown {
		view.Unknown = hv.words.T("%s changed on %s. This translation has not been reviewed since.", view.SourceLanguage, day)
	}
	view.Work, view.Of = b.work()
	view.Blank = b.blank()
	at := hv.address(t.SourceLocale)
	shown := func(i int, r pair) unit {
		u := unit{ID: "u" + strconv.Itoa(i), Class: strings.Trim(kindOf(cmp.Or(r.source, r.base)), "#"), Key: r.key, Text: r.text, Open: r.open(), Gone: r.gone, Rows: 1 + strings.Count(r.text, "\n") + len(r.text)/70}
		if r.extra {
			u.Class = "extra"
		}
		if u.Shape, u.Original = shapeOf(r.source), r.source; r.base == "" && r.text == "" {
			u.Text = carried(r.source)
			u.Rows += strings.Count(u.Text, "\n")
		}
		switch {
		case r.gone:
			u.Source, u.Note = renderedChange(r.base, "", at), hv.words.T("Removed in %s on %s", view.SourceLanguage, day)
		case !u.Open:
			u.Source = rendered(r.source, at)
		case r.base == "" && b.fresh:
			u.Source, u.Open = rendered(r.source, at), false
		case r.base == "":
			u.Source, u.Note = renderedChange("", r.source, at), hv.words.T("Added in %s on %s", view.SourceLanguage, day)
		default:
			u.Source, u.Note = renderedChange(r.base, r.source, at), hv.changeNote(r.base, r.source, view.SourceLanguage, day)
		}
		if u.Open && view.First == "" {
			view.First = "#" + u.ID
		}
		return u
	}
	view.Last = unit{ID: "u-last", Class: "extra last", Rows: 1}
	view.NameUnit, view.SummaryUnit = shown(0, b.name), shown(1, b.summary)
	view.NameUnit.Source, view.SummaryUnit.Source = plainChange(b.name, b.fresh), plainChange(b.summary, b.fresh)
	for i, r := range b.rows {
		view.Units = append(view.Units, shown(i+2, r))
	}
}

// plainChange returns a line of text with its changes marked.
func plainChange(r pair, fresh bool) template.HTML {
	if fresh || !r.open() {
		return template.HTML(template.HTMLEscapeString(r.source)) // it is escaped
	}
	return editsHTML(wordEdits(r.base, r.source))
}

// editsHTML marks inserted and deleted text.
func editsHTML(edits []edit) template.HTML {
	var b strings.Builder
	for _, e := range edits {
		text := template.HTMLEscapeString(e.Text)
		if e.Kind != "" {
			text = "<" + e.Kind + ">" + text + "</" + e.Kind + ">"
		}
		b.WriteString(text)
	}
	return template.HTML(b.String()) // it is escaped
}

// changeNote describes a change in words.
func (hv *helpVisit) changeNote(from, to, lang, day string) string {
	var ins, del []string
	for _, e := range wordEdits(from, to) {
		text := strings.TrimSpace(e.Text)
		switch {
		case text == "" || e.Kind == "":
		case e.Kind == "ins":
			ins = append(ins, text)
		default:
			del = append(del, text)
		}
	}
	sentence := func(texts []string) bool {
		return len(texts) == 1 && strings.ContainsAny(texts[0][len(texts[0])-1:], ".!?") && strings.Contains(texts[0], " ")
	}
	w := hv.words
	switch {
	case len(del) == 0 && sentence(ins):
		return w.T("Sentence added in %s on %s", lang, day)
	case len(ins) == 0 && sentence(del):
		return w.T("Sentence removed in %s on %s", lang, day)
	case len(ins) == 1 && len(del) == 1 && len(ins[0]) < 40 && len(del[0]) < 40:
		return w.T("“%s” changed to “%s” in %s on %s", del[0], ins[0], lang, day)
	}
	return w.T("Changed in %s on %s", lang, day)
}

// ---- Writing ----

// posted is the submitted form of an article.
type postedText struct {
	to, name, summary, text string
	done                    map[string]bool
	units                   []string        // nil: the text was submitted as a whole
	filled                  map[string]bool // blocks with a text, by the keys of their changes
	seen                    storage.Opt[time.Time]
}

// maxArticleForm is the maximum size of the form: the text twice, as encoded by browsers.
const maxArticleForm = 3*kb.MaxContent + 1<<20

// postedText reads the form.
func (hv *helpVisit) postedText() (postedText, error) {
	hv.r.Body = http.MaxBytesReader(hv.w, hv.r.Body, maxArticleForm)
	if err := hv.r.ParseMultipartForm(maxArticleForm); err != nil && !errors.Is(err, http.ErrNotMultipart) {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return postedText{}, fault.New(fault.TooLarge, "The text is longer than 2 MiB.")
		}
		return postedText{}, fault.New(fault.Malformed, "The form could not be read.")
	}
	lines := strings.NewReplacer("\r\n", "\n", "\r", "\n")
	p := postedText{
		name: hv.r.PostFormValue("name"), summary: lines.Replace(hv.r.PostFormValue("summary")), text: lines.Replace(hv.r.PostFormValue("text")), done: map[string]bool{},
	}
	p.to, _ = kb.Locale(hv.r.PostFormValue("to"))
	for _, key := range hv.r.PostForm["done"] {
		p.done[key] = true
	}
	if units, given := hv.r.PostForm["unit"]; given {
		p.units, p.filled = []string{}, map[string]bool{}
		shapes := hv.r.PostForm["shape"]
		for i, text := range units {
			if keys := hv.r.PostForm["row"]; i < len(keys) && keys[i] != "" {
				p.filled[keys[i]] = strings.TrimSpace(text) != ""
			}
			if text = strings.Trim(lines.Replace(text), "\n"); i < len(shapes) {
				text = shaped(lines.Replace(shapes[i]), text)
			}
			if strings.TrimSpace(text) != "" {
				p.units = append(p.units, text)
			}
		}
		p.text = strings.Join(p.units, "\n\n")
	}
	if seen, given := hv.r.PostForm["seen"]; given {
		p.seen = storage.Some(time.Time{})
		if n := number(seen[0]); n > 0 {
			p.seen = storage.Some(time.UnixMicro(n).UTC())
		}
	}
	return p, nil
}

// translationInput returns the input for a changed translation; ok is false if nothing changed.
func (hv *helpVisit) translationInput(t kb.Text, p postedText) (in storage.Opt[kb.TranslationInput], ok bool) {
	o, there := t.Translation(p.to)
	o.Locale = p.to
	one := kb.TranslationInput{Seen: p.seen}
	if p.name != o.Title {
		one.Title, ok = storage.Some(p.name), true
	}
	if p.summary != o.Summary {
		one.Summary, ok = storage.Some(p.summary), true
	}
	if old := hv.markdownOf(o); p.text != old && joined(p.text) != joined(old) {
		one.Markdown, ok = storage.Some(p.text), true
		if p.text == "" {
			one.Content = storage.Some("")
		}
	}
	if p.to == t.SourceLocale {
		return storage.Some(one), ok
	}
	if source, _ := t.Translation(t.SourceLocale); o.Empty() && onlyCarried(hv.markdownOf(source), p) {
		return storage.Null[kb.TranslationInput](), there
	}
	if p.name == "" && p.summary == "" && p.text == "" {
		return storage.Null[kb.TranslationInput](), there
	}
	of, changed := hv.nowOf(t, p)
	one.MadeFrom = of
	return storage.Some(one), ok || changed
}

// joined joins blocks to a text.
func joined(text string) string { return strings.Join(blocksOf(text), "\n\n") }

// nowOf returns the source on which a translation is based, after the blocks marked as done in the form.
func (hv *helpVisit) nowOf(t kb.Text, p postedText) (of storage.Opt[kb.SourceText], changed bool) {
	source, _ := t.Translation(t.SourceLocale)
	b := hv.beside(t, p.to)
	if b.unknown {
		if p.done["all"] {
			return storage.Null[kb.SourceText](), true
		}
		return storage.Some(kb.SourceText{}), false // it stays outdated
	}
	base, left, changed := baseOf(b.rows, p)
	name, summary := b.name.base, b.summary.base
	if p.done["name"] || p.done["all"] || b.fresh && p.name != "" {
		name, changed = source.Title, changed || b.name.open()
	}
	if p.done["summary"] || p.done["all"] || b.fresh && p.summary != "" || b.summary.base == "" && p.summary != "" {
		summary, changed = source.Summary, changed || b.summary.open()
	}
	if p.units == nil && b.fresh { // a translation submitted as a whole is considered complete
		return storage.Null[kb.SourceText](), true
	}
	if !left && name == source.Title && summary == source.Summary {
		return storage.Null[kb.SourceText](), changed
	}
	return storage.Some(kb.SourceText{Title: name, Summary: summary, Markdown: strings.Join(base, "\n\n")}), changed
}

// baseOf returns the text on which a translation is based, after the blocks marked as done in the form; left means that
// parts of the source are not translated yet.
func baseOf(rows []pair, p postedText) (base []string, left, changed bool) {
	for _, r := range rows {
		done := p.done[r.key] || p.done["all"] || r.base == "" && !r.gone && p.filled[r.key]
		switch {
		case r.extra, r.gone && done:
		case !r.open() || done:
			base = append(base, r.source)
		case r.base != "":
			base, left = append(base, r.base), true
		default:
			left = true
		}
		changed = changed || r.open() && done
	}
	return base, left, changed
}

// saveArticle saves the form as the draft, or publishes it.
func (hv *helpVisit) saveArticle() error {
	p, err := hv.postedText()
	if err != nil {
		return err
	}
	a, err := hv.ed.Draft(hv.ctx(), hv.number("id"))
	if err != nil {
		return err
	}
	return hv.save(a, p)
}

// save saves a form as the draft of an article, or publishes it.
func (hv *helpVisit) save(a ArticleDraft, p postedText) (err error) {
	id := a.Article.ID
	p.to = cmp.Or(p.to, a.Revision.SourceLocale)
	publish := hv.r.PostFormValue("then") == "publish"
	if a, err = hv.replace(a); err != nil {
		return err
	}
	in := kb.ArticleInput{CollectionID: a.Revision.CollectionID, Unfinished: true, TextInput: kb.TextInput{SourceLocale: a.Revision.SourceLocale}}
	one, changed := hv.translationInput(a.Revision.Text, p)
	if changed { // the same text again, as of a page left while it was saved, is no conflict
		in.Translations = map[string]storage.Opt[kb.TranslationInput]{p.to: one}
	}
	if publish {
		in.Status = storage.Some(kb.Published)
	}
	switch {
	case in.Translations != nil && hv.begun(a):
		a, err = hv.ed.UpdateArticle(hv.ctx(), id, in)
	case in.Translations != nil, publish && (!a.Article.Published || a.Article.Draft != 0):
		a, err = hv.ed.UpdateDraft(hv.ctx(), id, in)
	}
	return hv.answerSaved(a, p, publish, err)
}

// answerSaved reports the result to the script or the browser.
func (hv *helpVisit) answerSaved(a ArticleDraft, p postedText, publish bool, err error) error {
	module := hv.fromScript()
	f, _ := asFault(err)
	switch {
	case err != nil && f != nil && (f.Kind == fault.Invalid || f.Kind == fault.Conflict && f.Code == kb.CodeCrossed):
		status := http.StatusUnprocessableEntity
		if f.Kind == fault.Conflict {
			status = http.StatusConflict
		}
		if module {
			hv.w.Header().Set("Content-Type", "application/json")
			hv.w.WriteHeader(status)
			return json.NewEncoder(hv.w).Encode(map[string]string{"error": hv.firstProblem(err)})
		}
		return hv.showRefused(p, err, status)
	case err != nil:
		return err
	case module:
		view := articleView{To: p.to}
		hv.tag(&view, a)
		o, _ := a.Revision.Translation(p.to)
		return hv.json(map[string]string{"saved": view.Saved, "seen": seenOf(o), "tag": view.Tag, "at": hv.here("/a/" + itoa(a.Article.ID)), "work": hv.workLeft(a.Revision.Text, p.to)})
	}
	back := hv.here("/a/" + itoa(a.Article.ID))
	if p.to != a.Revision.SourceLocale {
		back += "?to=" + url.QueryEscape(p.to)
		if p.units == nil {
			back += "&plain=1"
		}
	}
	text := hv.words.T("Draft saved")
	if publish {
		text = hv.words.T("Published")
	}
	hv.say(toast{Text: text})
	return hv.see(back)
}

func (v *visit) firstProblem(err error) string {
	for _, problem := range v.problems(err) {
		return problem
	}
	if f, ok := asFault(err); ok {
		return v.words.T(f.Message)
	}
	return ""
}

// showRefused shows the form again, with its problems or the other member's changes.
func (hv *helpVisit) showRefused(p postedText, err error, status int) error {
	a, failed := hv.ed.Draft(hv.ctx(), hv.number("id"))
	if failed != nil {
		return failed
	}
	view, failed := hv.articleView(a, p.to)
	if failed != nil {
		return failed
	}
	theirs := view
	view.Name, view.Summary, view.Text, view.Plain = p.name, p.summary, p.text, true
	for key := range p.done {
		view.Done = append(view.Done, key)
	}
	if status == http.StatusConflict {
		view.Conflict = &conflict{
			Name: replaced(p.name, theirs.Name), Summary: replaced(p.summary, theirs.Summary), Shown: editsHTML(lineEdits(p.text, theirs.Text)),
			URL: hv.here("/a/" + itoa(a.Article.ID) + "?to=" + url.QueryEscape(p.to)),
		}
	} else {
		view.Error, view.Errors = hv.firstProblem(err), hv.problems(err)
		view.Shown = rendered(view.Text, hv.address(p.to))
	}
	return hv.showArticle(view, status)
}

// replaced shows a line that differs from another as a whole.
func replaced(from, to string) template.HTML {
	if from == to || from == "" {
		return editsHTML([]edit{{Text: to}})
	}
	return editsHTML([]edit{{from, "del"}, {Text: " "}, {to, "ins"}})
}

// lineEdits compares texts line by line, and changed lines word by word.
func lineEdits(from, to string) []edit {
	a, b := strings.SplitAfter(from, "\n"), strings.SplitAfter(to, "\n")
	if len(a)*len(b) > maxDiff {
		return differ(a, b)
	}
	var out []edit
	lines := differ(a, b)
	for i := 0; i < len(lines); i++ {
		if lines[i].Kind == "del" && i+1 < len(lines) && lines[i+1].Kind == "ins" && len(lines[i].Text)+len(lines[i+1].Text) < 20_000 {
			out = append(out, wordEdits(lines[i].Text, lines[i+1].Text)...)
			i++
			continue
		}
		out = append(out, lines[i])
	}
	return out
}

// preview renders the text in the form: a part of a page for the script, otherwise a page.
func (hv *helpVisit) preview() error {
	p, err := hv.postedText()
	if err != nil {
		return err
	}
	if !hv.may(kb.ArticlesView) {
		return fault.New(fault.Forbidden, "You are not allowed to see articles.")
	}
	shown := rendered(p.text, hv.address(p.to))
	if _, err := contenthtml.FromMarkdown(p.text); err != nil {
		shown = template.HTML(`<p class="wrong">` + template.HTMLEscapeString(hv.words.T("The text %s.", err.Error())) + `</p>`) // it is escaped
	}
	if hv.r.Header.Get(targetHeader) != "" {
		hv.w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, err := hv.w.Write([]byte(shown))
		return err
	}
	id := hv.field("id")
	if id == 0 {
		view := hv.newView(p)
		view.Shown = shown
		return hv.showNewArticle(view, 0)
	}
	a, err := hv.ed.Draft(hv.ctx(), id)
	if err != nil {
		return err
	}
	view, err := hv.articleView(a, p.to)
	if err != nil {
		return err
	}
	view.Name, view.Summary, view.Text, view.Shown, view.Plain = p.name, p.summary, p.text, shown, true
	if seen, ok := p.seen.Get(); ok {
		view.Seen = seenOf(kb.Translation{UpdatedAt: seen})
	}
	return hv.showArticle(view, 0)
}

// asMarkdown answers the script with the Markdown of HTML that was pasted into a text.
func (hv *helpVisit) asMarkdown() error {
	if !hv.may(kb.ArticlesView) {
		return fault.New(fault.Forbidden, "You are not allowed to see articles.")
	}
	if _, err := hv.postedText(); err != nil {
		return err
	}
	return hv.json(map[string]string{"markdown": strings.TrimSuffix(contenthtml.ToReadableMarkdown(hv.r.PostFormValue("html")), "\n")})
}

// ---- New articles ----

// newArticlePage shows the page of an article that does not exist yet; the article can begin with an answer of a
// conversation.
func (hv *helpVisit) newArticlePage() error {
	if !hv.may(kb.ArticlesCreate) {
		return fault.New(fault.Forbidden, "You are not allowed to write articles.")
	}
	q := hv.r.URL.Query()
	view := hv.newView(postedText{})
	view.NewCollection, view.NewCategory = number(q.Get("collection")), number(q.Get("category"))
	view.Name = q.Get("title")
	if c, i := number(q.Get("conversation")), number(q.Get("answer")); c != 0 && i != 0 {
		talk, err := hv.Conversations().Get(hv.ctx(), c)
		if err != nil {
			return err
		}
		answer, err := hv.Interactions().Get(hv.ctx(), c, i)
		if err != nil {
			return err
		}
		view.Name, view.Text = talk.Subject, contenthtml.ToReadableMarkdown(mailhtml.Clean(answer.Body))
	}
	return hv.showNewArticle(view, 0)
}

func (hv *helpVisit) newView(p postedText) articleView {
	return articleView{
		New: true, Action: hv.here("/new"), PreviewAction: hv.here("/preview"), MarkdownAction: hv.here("/markdown"), In: hv.site.Name, InURL: hv.here(""), CanEdit: true, Autosave: hv.may(kb.ArticlesUpdate), CanPublish: hv.may(kb.ArticlesPublish),
		Name: p.name, Summary: p.summary, Text: p.text, To: cmp.Or(p.to, hv.site.DefaultLocale), NewCollection: hv.field("collection"), NewCategory: hv.field("category"),
	}
}

func (hv *helpVisit) showNewArticle(view articleView, status int) error {
	var err error
	if view.Collections, err = hv.collectionChoices(view.NewCollection); err != nil {
		return err
	}
	view.Lang, view.Dir, view.Language, view.Nonce = view.To, direction(view.To), languageName(view.To), rand.Text()
	view.MaxFile = hv.h.cfg.KB.MaxFile()
	if hv.may(kb.FilesCreate) {
		view.FilesAction = hv.here("/files")
	}
	for _, code := range hv.locales(kb.Text{SourceLocale: hv.site.DefaultLocale}) {
		view.Langs = append(view.Langs, langTab{Name: languageName(code), URL: code, Active: code == view.To})
	}
	if view.Text != "" && view.Shown == "" {
		view.Shown = rendered(view.Text, hv.address(view.To))
	}
	return hv.showArticle(view, status)
}

// ---- Changes of an article's state ----

func (hv *helpVisit) placeArticle() error {
	id, collection := hv.number("id"), hv.field("collection")
	a, err := hv.ed.Article(hv.ctx(), id)
	if err != nil {
		return err
	}
	var categories []int64
	moved := collection != 0 && collection != a.Article.CollectionID
	for _, one := range hv.r.PostForm["category"] {
		if n := number(one); n != 0 && !moved {
			categories = append(categories, n)
		}
	}
	err = hv.moveArticle(id, func(in *kb.ArticleInput) {
		if moved {
			in.CollectionID, in.SortOrder = collection, storage.Null[kb.SortOrder]()
		}
		in.CategoryIDs = storage.Some(categories)
	})
	return hv.done(err, "/a/"+itoa(id), hv.words.T("Article moved"))
}

func (hv *helpVisit) unpublishArticle() error {
	id := hv.number("id")
	a, err := hv.ed.Article(hv.ctx(), id)
	if err != nil {
		return err
	}
	in := kb.ArticleInput{
		TextInput: kb.TextInput{SourceLocale: a.Revision.SourceLocale}, CollectionID: a.Article.CollectionID, Status: storage.Some(kb.Unpublished), Unfinished: true,
	}
	_, err = hv.ed.UpdateArticle(hv.ctx(), id, in)
	return hv.done(err, "/a/"+itoa(id), hv.words.T("Unpublished"))
}

func (hv *helpVisit) deleteArticle() error {
	a, err := hv.ed.Article(hv.ctx(), hv.number("id"))
	if err != nil {
		return err
	}
	return hv.done(hv.ed.DeleteArticle(hv.ctx(), a.Article.ID), "?collection="+itoa(a.Article.CollectionID), hv.words.T("Article deleted"))
}
