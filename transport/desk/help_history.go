package desk

import (
	"html/template"
	"net/http"
	"net/url"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

// historyView is the list of the revisions of an article, or one of them with its changes.
type historyView struct {
	Title, Back, Next string
	Rows              []historyRow
	Number            int64
	When              string
	Langs             []langTab
	Against           []Link // the revisions for comparison
	With              string // the revision of the comparison
	Name, Summary     template.HTML
	Lines             template.HTML
	Same              bool
	Lang, Dir         string
	RestoreURL        string // "" if it cannot be restored
	Live              bool   // restoring it changes the article for readers
}

type historyRow struct {
	Number    int64
	URL, When string
	State     string
	Class     string
	Changed   string // the languages changed
}

// history lists the revisions, newest first.
func (hv *helpVisit) history() error {
	id := hv.number("id")
	article, page, err := hv.ed.Revisions(hv.ctx(), id, hv.pageOf(25))
	if err != nil {
		return err
	}
	self := hv.here("/a/" + itoa(id))
	view := historyView{Back: self, Title: itoa(id)}
	for i, r := range page.Items {
		if i == 0 {
			view.Title = hv.text(r.Text).Title
		}
		row := historyRow{Number: r.Number, URL: self + "/history/" + itoa(r.Number), When: hv.full(r.UpdatedAt)}
		row.State, row.Class = hv.revisionState(article, r.Number)
		var changed []string
		for _, o := range r.Translations {
			if i+1 < len(page.Items) {
				before, _ := page.Items[i+1].Translation(o.Locale)
				if before.Title == o.Title && before.Summary == o.Summary && before.Content == o.Content {
					continue
				}
			}
			changed = append(changed, languageName(o.Locale))
		}
		row.Changed = hv.words.list(changed)
		view.Rows = append(view.Rows, row)
	}
	if page.Next != "" {
		view.Next = self + "/history?after=" + url.QueryEscape(page.Next)
	}
	return hv.showHelp("help-history", hv.words.T("History of %s", view.Title), view, 0)
}

func (hv *helpVisit) revisionState(a kb.Article, number int64) (text, class string) {
	switch {
	case number == a.Live && a.Published:
		return hv.words.T("Live"), "ok"
	case number == a.Live:
		return hv.words.T("Not published"), ""
	case number == a.Draft:
		return hv.words.T("Draft"), "info"
	}
	return "", ""
}

// revisionPage shows the changes of a revision, compared with the previous one or a chosen one.
func (hv *helpVisit) revisionPage() error {
	id, number := hv.number("id"), hv.number("revision")
	a, err := hv.ed.Revision(hv.ctx(), id, number)
	if err != nil {
		return err
	}
	q := hv.r.URL.Query()
	_, page, err := hv.ed.Revisions(hv.ctx(), id, storage.PageRequest{Limit: storage.MaxLimit})
	if err != nil {
		return err
	}
	other, with := kb.Revision{}, atoi(q.Get("with"))
	self := hv.here("/a/" + itoa(id) + "/history")
	to := a.Revision.SourceLocale
	if _, ok := a.Revision.Translation(q.Get("to")); ok {
		to = q.Get("to")
	}
	view := historyView{Back: self, Title: hv.text(a.Revision.Text).Title, Number: number, When: hv.full(a.Revision.UpdatedAt), Lang: to, Dir: direction(to)}
	for _, r := range page.Items {
		if r.Number == number {
			continue
		}
		if with == int(r.Number) || with == 0 && r.Number < number && other.Number == 0 {
			other = r
		}
		view.Against = append(view.Against, Link{Text: hv.words.T("Revision %s, %s", r.Number, hv.when(r.UpdatedAt)), URL: itoa(r.Number)})
	}
	if other.Number != 0 {
		view.With = itoa(other.Number)
	}
	for _, o := range a.Revision.Translations {
		tab := langTab{Name: languageName(o.Locale), URL: self + "/" + itoa(number) + "?to=" + url.QueryEscape(o.Locale) + "&with=" + view.With, Active: o.Locale == to, Class: "none"}
		if before, _ := other.Translation(o.Locale); before.Title != o.Title || before.Content != o.Content || before.Summary != o.Summary {
			tab.Class, tab.State = "warn", hv.words.T("changed")
		}
		view.Langs = append(view.Langs, tab)
	}
	now, _ := a.Revision.Translation(to)
	before, _ := other.Translation(to)
	before.Locale = to
	from, text := hv.markdownOf(before), hv.markdownOf(now)
	view.Same = before.Title == now.Title && before.Summary == now.Summary && from == text
	view.Name, view.Summary = editsHTML(wordEdits(before.Title, now.Title)), editsHTML(wordEdits(before.Summary, now.Summary))
	view.Lines = editsHTML(lineEdits(from, text))
	if number != a.Article.Live && number != a.Article.Draft && hv.may(kb.ArticlesUpdate) && (!a.Article.Published || hv.may(kb.ArticlesPublish)) {
		view.RestoreURL, view.Live = self+"/"+itoa(number), a.Article.Published
	}
	return hv.showHelp("help-revision", hv.words.T("Revision %s", number), view, http.StatusOK)
}

// restore publishes the text of a former revision.
func (hv *helpVisit) restore() error {
	id, number := hv.number("id"), hv.number("revision")
	_, err := hv.ed.Restore(hv.ctx(), id, number)
	return hv.done(err, "/a/"+itoa(id)+"/history", hv.words.T("Revision %s restored", number))
}
