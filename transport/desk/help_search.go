package desk

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// searchView is the page of what a help centre's search finds besides the words of a question.
type searchView struct {
	Action, Back, Name string
	Synonyms, Pins     string
	CanUpdate          bool
	Errors             map[string]string
}

func (hv *helpVisit) searchPage() error {
	s, err := hv.ed.SearchSettings(hv.ctx())
	if err != nil {
		return err
	}
	var synonyms []string
	for _, group := range s.Synonyms {
		synonyms = append(synonyms, strings.Join(group, ", "))
	}
	pins, err := hv.pinLines(s.Pins)
	if err != nil {
		return err
	}
	return hv.showSearch(strings.Join(synonyms, "\n"), pins, nil, 0)
}

func (hv *helpVisit) showSearch(synonyms, pins string, problems map[string]string, status int) error {
	view := searchView{
		Action: hv.here("/search"), Back: hv.here(""), Name: hv.site.Name, Synonyms: synonyms, Pins: pins,
		CanUpdate: hv.may(kb.SitesUpdate), Errors: orEmpty(problems),
	}
	return hv.showHelp("help-search", hv.words.T("Search results"), view, status)
}

// pinLines writes pins as text: the query, then each article by its number and title.
func (hv *helpVisit) pinLines(pins []kb.Pin) (string, error) {
	titles := map[int64]string{}
	for _, p := range pins {
		if !hv.may(kb.ArticlesView) {
			break
		}
		page, err := hv.ed.Articles(hv.ctx(), kb.ArticleFilter{IDs: p.Articles, Brief: true}, false, storage.PageRequest{Limit: storage.MaxLimit})
		if err != nil {
			return "", err
		}
		for _, a := range page.Items {
			titles[a.Article.ID] = strings.NewReplacer(";", ",", "\n", " ").Replace(a.Revision.Serve(hv.site.DefaultLocale, hv.words.lang).Title)
		}
	}
	var lines []string
	for _, p := range pins {
		var articles []string
		for _, id := range p.Articles {
			articles = append(articles, strings.TrimSpace(itoa(id)+" "+titles[id]))
		}
		lines = append(lines, p.Query+" = "+strings.Join(articles, "; "))
	}
	return strings.Join(lines, "\n"), nil
}

// pinnedArticle finds the number of an article at the beginning of a text, or in the address of its page.
var pinnedArticle = regexp.MustCompile(`^\s*#?(\d+)(?:\s|$)|/articles/(\d+)`)

// parsePins reads what pinLines writes. It reports whether each line has a query and articles.
func parsePins(text string) (pins []kb.Pin, ok bool) {
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		query, rest, found := strings.Cut(line, "=")
		p := kb.Pin{Query: query}
		for _, one := range strings.Split(rest, ";") {
			m := pinnedArticle.FindStringSubmatch(one)
			if m == nil {
				return nil, false
			}
			id, err := strconv.ParseInt(m[1]+m[2], 10, 64)
			if err != nil {
				return nil, false
			}
			p.Articles = append(p.Articles, id)
		}
		if !found {
			return nil, false
		}
		pins = append(pins, p)
	}
	return pins, true
}

func (hv *helpVisit) saveSearch() error {
	var groups [][]string
	for line := range strings.Lines(hv.r.PostFormValue("synonyms")) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		var group []string
		for _, w := range strings.Split(line, ",") {
			if strings.TrimSpace(w) != "" {
				group = append(group, w)
			}
		}
		groups = append(groups, group)
	}
	again := func(problems map[string]string) error {
		return hv.showSearch(hv.r.PostFormValue("synonyms"), hv.r.PostFormValue("pins"), problems, http.StatusUnprocessableEntity)
	}
	pins, ok := parsePins(hv.r.PostFormValue("pins"))
	if !ok {
		return again(map[string]string{"form": hv.words.T("Each line needs a query, an equals sign and articles.")})
	}
	_, err := hv.ed.SetSearchSettings(hv.ctx(), kb.SearchSettingsInput{Synonyms: storage.Some(groups), Pins: storage.Some(pins)})
	if fault.Is(err, fault.Invalid) {
		return again(map[string]string{"form": hv.firstProblem(err)})
	}
	return hv.done(err, "/search", hv.words.T("Saved"))
}
