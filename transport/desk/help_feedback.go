package desk

import (
	"net/url"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

// feedbackView is the page of what readers wrote about a help centre.
type feedbackView struct {
	Back, Name     string
	Tabs, Filters  []option
	Article        *option // the article that the list is limited to; its address drops the limit
	Rows           []feedbackRow
	Next, Here     string
	CanUpdate      bool
	ShowsOpen, Any bool // Any: of all articles, open or done
}

type feedbackRow struct {
	Text             string
	Title, Lang, Dir string
	URL, Revision    string // of the article, and what the reader had before them
	RevisionURL      string // "" of the live revision
	When, Full       string
	Done             string // when; "" if it is open
	Action           string
}

// readersView is the page of what readers read.
type readersView struct {
	Back, Name string
	Tabs       []option
	Rows       []readRow
	Next       string
	Messages   bool // they are shown
}

type readRow struct {
	Title, Lang, Dir, URL string
	Views                 string
	Helpful, Votes        string // the share, and what it rests on; "" without reactions
	Few                   bool
	Feedback              int64
	FeedbackURL           string
	Messages              string
}

// feedbackTabs are the pages about readers.
func (hv *helpVisit) feedbackTabs(page string) []option {
	var tabs []option
	if hv.may(kb.FeedbackView) {
		tabs = append(tabs, option{Text: hv.words.T("Feedback"), URL: hv.here("/feedback"), Active: page == ""})
	}
	if hv.may(kb.ArticlesView) {
		tabs = append(tabs, option{Text: hv.words.T("Articles by views"), URL: hv.here("/feedback/articles"), Active: page == "articles"})
	}
	if hv.visit.may(identity.ReportsView) {
		tabs = append(tabs, option{Text: hv.words.T("Searches"), URL: hv.here("/feedback/searches"), Active: page == "searches"})
	}
	return tabs
}

// feedbackPage lists what readers wrote, newest first: what is open, unless another part is chosen.
func (hv *helpVisit) feedbackPage() error {
	q := hv.r.URL.Query()
	filter := kb.FeedbackFilter{ArticleID: number(q.Get("article"))}
	show := q.Get("show")
	switch show {
	case "done":
		filter.Done = storage.Some(true)
	case "all":
	default:
		show, filter.Done = "open", storage.Some(false)
	}
	page, err := hv.ed.Feedbacks(hv.ctx(), filter, hv.pageOf(treePage))
	if err != nil {
		return err
	}
	view := feedbackView{
		Back: hv.here(""), Name: hv.site.Name, Tabs: hv.feedbackTabs(""), CanUpdate: hv.may(kb.FeedbackUpdate), ShowsOpen: show == "open",
		Any: show == "all" && filter.ArticleID == 0,
	}
	at := func(show string, article int64, after string) string {
		to := url.Values{"show": {show}}
		if article != 0 {
			to.Set("article", itoa(article))
		}
		if after != "" {
			to.Set("after", after)
		}
		return hv.here("/feedback?" + to.Encode())
	}
	for _, o := range [][2]string{{"open", hv.words.T("Open")}, {"done", hv.words.T("Done")}, {"all", hv.words.T("All")}} {
		view.Filters = append(view.Filters, option{Text: o[1], URL: at(o[0], filter.ArticleID, ""), Active: o[0] == show})
	}
	view.Here = at(show, filter.ArticleID, q.Get("after"))
	if page.Next != "" {
		view.Next = at(show, filter.ArticleID, page.Next)
	}
	articles, err := hv.articlesOf(page.Items, filter.ArticleID)
	if err != nil {
		return err
	}
	for _, f := range page.Items {
		view.Rows = append(view.Rows, hv.feedbackRow(f, articles[f.ArticleID]))
	}
	if filter.ArticleID != 0 {
		view.Article = &option{Text: hv.text(articles[filter.ArticleID].Revision.Text).Title, URL: at(show, 0, "")}
	}
	return hv.showHelp("help-feedback", hv.words.T("Feedback"), view, 0)
}

// articlesOf returns the articles of feedback, and another one, by their ids. Without articles.view there are none.
func (hv *helpVisit) articlesOf(list []kb.Feedback, other int64) (map[int64]kb.ArticleRevision, error) {
	var ids []int64
	for _, f := range list {
		ids = append(ids, f.ArticleID)
	}
	if other != 0 {
		ids = append(ids, other)
	}
	articles := map[int64]kb.ArticleRevision{}
	if len(ids) == 0 || !hv.may(kb.ArticlesView) {
		return articles, nil
	}
	page, err := hv.ed.Articles(hv.ctx(), kb.ArticleFilter{IDs: ids, Brief: true}, false, storage.PageRequest{Limit: storage.MaxLimit})
	for _, a := range page.Items {
		articles[a.Article.ID] = a
	}
	return articles, err
}

func (hv *helpVisit) feedbackRow(f kb.Feedback, a kb.ArticleRevision) feedbackRow {
	t := hv.text(a.Revision.Text)
	row := feedbackRow{
		Text: f.Text, Title: t.Title, Lang: t.Locale, Dir: direction(t.Locale), URL: hv.here("/a/" + itoa(f.ArticleID)),
		Revision: hv.words.T("revision %s", itoa(f.Revision)), When: hv.when(f.CreatedAt), Full: hv.full(f.CreatedAt),
		Action: hv.here("/feedback/" + itoa(f.ID)),
	}
	if f.Revision != a.Article.Live {
		row.RevisionURL = row.URL + "/history/" + itoa(f.Revision)
	}
	if !f.DoneAt.IsZero() {
		row.Done = hv.words.T("Done %s", hv.when(f.DoneAt))
	}
	return row
}

// markFeedback marks feedback as done, or as open again.
func (hv *helpVisit) markFeedback() error {
	done := hv.r.PostFormValue("done") != ""
	if _, err := hv.ed.UpdateFeedback(hv.ctx(), hv.number("id"), kb.FeedbackChange{Done: storage.Some(done)}); err != nil {
		return err
	}
	text := hv.words.T("Marked as done")
	if !done {
		text = hv.words.T("Opened again")
	}
	hv.say(toast{Text: text})
	return hv.see(hv.back(hv.here("/feedback")))
}

// readersPage lists the published articles by views, with what readers think of them.
func (hv *helpVisit) readersPage() error {
	page, err := hv.ed.ArticlesByViews(hv.ctx(), hv.pageOf(treePage))
	if err != nil {
		return err
	}
	view := readersView{Back: hv.here(""), Name: hv.site.Name, Tabs: hv.feedbackTabs("articles")}
	sees := hv.may(kb.FeedbackView)
	messages := map[int64]int64{}
	if view.Messages = hv.visit.may(identity.ReportsView); view.Messages {
		if messages, err = hv.messagesAfter(page.Items); err != nil {
			return err
		}
	}
	for _, a := range page.Items {
		t, r := hv.text(a.Revision.Text), a.Revision
		row := readRow{
			Title: t.Title, Lang: t.Locale, Dir: direction(t.Locale), URL: hv.here("/a/" + itoa(a.Article.ID)), Views: hv.words.whole(a.Article.Views),
			Feedback: a.Article.Feedbacks, Messages: hv.words.whole(messages[a.Article.ID]),
		}
		if votes := r.Positive + r.Negative; votes > 0 {
			row.Helpful, row.Few = hv.words.percent(100*float64(r.Positive)/float64(votes)), votes < fewConversations
			row.Votes = hv.words.T("%s of %s", hv.words.whole(r.Positive), hv.words.whole(votes))
		}
		if sees && row.Feedback > 0 {
			row.FeedbackURL = hv.here("/feedback?show=all&article=" + itoa(a.Article.ID))
		}
		view.Rows = append(view.Rows, row)
	}
	if page.Next != "" {
		view.Next = hv.here("/feedback/articles?after=" + url.QueryEscape(page.Next))
	}
	return hv.showHelp("help-readers", hv.words.T("Articles by views"), view, 0)
}

// messagesAfter counts the messages that were written from the pages of articles.
func (hv *helpVisit) messagesAfter(articles []kb.ArticleRevision) (map[int64]int64, error) {
	ids := make([]int64, len(articles))
	for i, a := range articles {
		ids[i] = a.Article.ID
	}
	return hv.Reports().ContactsAfter(hv.ctx(), hv.site.ID, ids)
}
