package desk_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// surveyForm is the form of a survey with two languages.
func surveyForm(more ...string) url.Values {
	f := url.Values{
		"name": {"After closing"}, "do": {"save"}, "delay": {"24"}, "once": {"30"}, "scale": {"3"}, "active": {"1"}, "lang": {"en", "de"},
		"subject-en": {"How did we do?"}, "body-en": {"Hello {{customer.first_name}}\n\n{{rating}}"}, "question-en": {"Were we of help?"}, "thanks-en": {"You are kind."},
		"body-de": {"Hallo"},
	}
	for i := 0; i+1 < len(more); i += 2 {
		f[more[i]] = []string{more[i+1]}
	}
	return f
}

// The form of a survey works without a script.
func TestSurveyForm(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		form   url.Values
		status int
		says   string // the page that is shown
	}{
		"saved":                  {surveyForm(), http.StatusSeeOther, ""},
		"only under replies":     {surveyForm("delay", "-1"), http.StatusSeeOther, ""},
		"a condition is added":   {surveyForm("do", "add all", "add-all", "priority"), http.StatusOK, `name="all-0-is" value="priority"`},
		"a language is added":    {surveyForm("do", "more", "more", "fr"), http.StatusOK, "Comment était notre réponse"},
		"a language is removed":  {surveyForm("do", "less de"), http.StatusOK, `name="lang" value="en"`},
		"a preview":              {surveyForm("do", "preview en"), http.StatusOK, `<b>Were we of help?</b><br><span class="sample-link">😟 Bad</span>`},
		"without a name":         {surveyForm("name", " "), http.StatusUnprocessableEntity, "This is required"},
		"without a text":         {surveyForm("body-de", " "), http.StatusUnprocessableEntity, "The text is missing."},
		"an unknown placeholder": {surveyForm("body-de", "{{what}}"), http.StatusUnprocessableEntity, `class="wrong"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := office(t)
			got := b.post("/settings/surveys", tt.form)
			if got.status != tt.status || !strings.Contains(got.body, tt.says) {
				t.Errorf("%d, want %d and %q\n%s", got.status, tt.status, tt.says, got.body)
			}
			page, err := b.desk.Surveys().List(t.Context(), storage.PageRequest{})
			if err != nil || len(page.Items) != map[bool]int{true: 1}[tt.status == http.StatusSeeOther] {
				t.Errorf("%d surveys, %v", len(page.Items), err)
			}
		})
	}
}

// A survey is listed, shown again as it was saved, changed and deleted.
func TestSurveyPages(t *testing.T) {
	t.Parallel()
	b := office(t)
	if page := b.get("/settings/surveys").body; !strings.Contains(page, "They rate with one click") {
		t.Errorf("without a survey:\n%s", page)
	}
	if page := b.get("/settings/surveys/new"); page.status != http.StatusOK || !strings.Contains(page.body, "{{rating}}") {
		t.Errorf("a new one: %d", page.status)
	}
	b.post("/settings/surveys", surveyForm("question-de", "Wie war's?"))
	for path, texts := range map[string][]string{
		"/settings/surveys":   {"After closing", "1 d after closing · 😟 😐 😊"},
		"/settings/surveys/1": {`value="24" selected`, `value="3" checked`, "Were we of help?", `value="You are kind."`, "/settings/surveys/page?lang=en"},
		"/settings/surveys/page?lang=de&scale=5&question=Wie": {`<html lang="de"`, "<h1 dir=\"auto\">Wie</h1>", "Sehr gut", "disabled"},
	} {
		page := b.get(path)
		for _, text := range texts {
			if !strings.Contains(page.body, text) {
				t.Errorf("%s has no %q:\n%s", path, text, page.body)
			}
		}
	}
	if got := b.post("/settings/surveys/1", surveyForm("scale", "5", "delay", "0")); got.status != http.StatusSeeOther {
		t.Errorf("changed: %d", got.status)
	}
	s, err := b.desk.Surveys().Get(t.Context(), 1)
	if err != nil || s.Scale != 5 || s.Delay != 0 || s.Version != 2 {
		t.Errorf("%+v, %v", s, err)
	}
	if got := b.post("/settings/surveys/1/delete", nil); got.status != http.StatusSeeOther {
		t.Errorf("deleted: %d", got.status)
	}
}

// asksRating sends a reply with links and returns the address of the page for each score, the lowest first.
func (b *bundle) asksRating(c helpdesk.Conversation) (addresses []string) {
	b.Helper()
	i := b.adds(c, helpdesk.TypeUser, "Pull. {{rating}}")
	mail, err := b.service.Outgoing().Begin(b.Context(), b.desk.AccountID(), i.ID, 1)
	if err != nil || mail.Rating == nil {
		b.Fatal(err, mail.Rating)
	}
	for _, token := range mail.Rating.Tokens {
		addresses = append(addresses, "/desk/rate/"+token)
	}
	return addresses
}

// A customer's page: whoever follows the links records nothing; a form does, and again within 14 days; then it refuses kindly.
func TestRatingPage(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	in := helpdesk.SurveyInput{Name: storage.Some("S"), Scale: storage.Some(3), Translations: storage.Some(map[string]helpdesk.SurveyText{"en": {Body: "x", Question: "Were we of help?"}})}
	if _, err := b.desk.Surveys().Create(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	c := b.asks("ada@example.com", "The <door>", "It is stuck.")
	links := b.asksRating(c)
	for _, method := range []string{http.MethodGet, http.MethodHead} { // as a mail scanner does, and a browser that prefetches
		for n, link := range links {
			a := b.do(method, link, nil, "Sec-Purpose", "prefetch", "Purpose", "prefetch")
			if a.status != http.StatusOK || method == http.MethodGet && !strings.Contains(a.body, "<h1 dir=\"auto\">Were we of help?</h1>") {
				t.Fatalf("%s: %d\n%s", method, a.status, a.body)
			}
			if method == http.MethodGet && strings.Count(a.body, " checked") != 1 || method == http.MethodGet && !strings.Contains(a.body, `value="`+[]string{"1", "2", "3"}[n]+`" required checked`) {
				t.Errorf("link %d chooses another score:\n%s", n+1, a.body)
			}
			for name, want := range map[string]string{"X-Robots-Tag": "noindex, nofollow", "Cache-Control": "no-store", "Set-Cookie": ""} {
				if got := a.header.Get(name); got != want {
					t.Errorf("%s is %q", name, got)
				}
			}
			if strings.Contains(a.body, "<script") {
				t.Error("the page has a script")
			}
		}
	}
	rated := func() helpdesk.Rating {
		t.Helper()
		page, err := b.desk.Ratings().List(t.Context(), c.ID, storage.PageRequest{})
		if err != nil || len(page.Items) != 1 {
			t.Fatalf("%d ratings, %v", len(page.Items), err)
		}
		return page.Items[0]
	}
	if rated().Answered() {
		t.Fatal("following links recorded a rating")
	}
	if a := b.do(http.MethodPost, links[2], url.Values{"comment": {"x"}}); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "Choose one of the faces") || rated().Answered() {
		t.Errorf("without a score: %d", a.status)
	}
	a := b.do(http.MethodPost, links[2], url.Values{"score": {"3"}, "comment": {"<b>Great</b>"}})
	if a.status != http.StatusSeeOther || a.location != links[2]+"?sent" || rated().Score != 3 {
		t.Fatalf("%d to %s: %+v", a.status, a.location, rated())
	}
	if a := b.do(http.MethodGet, a.location, nil); !strings.Contains(a.body, "Thank you!") || !strings.Contains(a.body, "You chose “Good”. You can change it until") || !strings.Contains(a.body, "&lt;b&gt;Great") {
		t.Errorf("thanks:\n%s", a.body)
	}
	if a := b.do(http.MethodPost, links[0], url.Values{"score": {"1"}}); a.status != http.StatusSeeOther || rated().Verdict != helpdesk.RatedBad || rated().Comment != "<b>Great</b>" {
		t.Errorf("changed: %d, %+v", a.status, rated())
	}
	page := b.get("/c/1").body
	for _, text := range []string{"Bad (1 of 3)", "&lt;b&gt;Great&lt;/b&gt;", "changed the rating: Bad"} {
		if !strings.Contains(page, text) {
			t.Errorf("the conversation has no %q", text)
		}
	}
	for _, forged := range []string{"/desk/rate/x", links[0] + "a", strings.ToUpper(links[0])} {
		if a := b.do(http.MethodGet, forged, nil); a.status != http.StatusNotFound {
			t.Errorf("%s: %d", forged, a.status)
		}
		if a := b.do(http.MethodPost, forged, url.Values{"score": {"2"}}); a.status != http.StatusNotFound || rated().Score != 1 {
			t.Errorf("%s: %d, %+v", forged, a.status, rated())
		}
	}
	if a := b.do(http.MethodPost, links[1], url.Values{"score": {"2"}}, "Sec-Fetch-Site", "cross-site"); a.status != http.StatusForbidden || rated().Score != 1 {
		t.Errorf("from another site: %d", a.status)
	}
}
