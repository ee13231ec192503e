package desk

import (
	"cmp"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// routeSurveys registers the pages of surveys.
func (h *Handler) routeSurveys() {
	h.routeMembers(map[string]func(*visit) error{
		"GET /settings/surveys":              (*visit).surveysPage,
		"POST /settings/surveys":             (*visit).createSurvey,
		"GET /settings/surveys/new":          (*visit).newSurveyPage,
		"GET /settings/surveys/page":         (*visit).surveySample,
		"GET /settings/surveys/{id}":         (*visit).surveyPage,
		"POST /settings/surveys/{id}":        (*visit).saveSurvey,
		"POST /settings/surveys/{id}/delete": (*visit).removeSurvey,
	})
}

// surveyWords are ruleWords for the conditions of surveys.
func (v *visit) surveyWords() (*ruleWords, error) {
	vocabulary, err := v.Surveys().Vocabulary(v.ctx())
	if err != nil {
		return nil, err
	}
	return v.conditionWords(vocabulary)
}

func (v *visit) surveysPage() error {
	page, err := v.Surveys().List(v.ctx(), storage.PageRequest{Limit: storage.MaxLimit})
	if err != nil {
		return err
	}
	boxes, err := v.boxTicks(nil)
	if err != nil {
		return err
	}
	view := autoRepliesView{New: v.at("/settings/surveys/new"), CanCreate: v.may(identity.SurveysCreate) && v.may(identity.InteractionsCreate)}
	for _, s := range page.Items {
		view.Rows = append(view.Rows, autoRow{
			Name: s.Name, URL: v.at("/settings/surveys/" + itoa(s.ID)), Brief: v.surveyBrief(s, boxes), On: s.IsActive, Orphaned: s.Reason == helpdesk.SurveyOrphaned,
		})
	}
	return v.settingsPage("surveys", v.words.T("Surveys"), view, 0)
}

// surveyBrief says when a survey asks, whom, and in which languages.
func (v *visit) surveyBrief(s helpdesk.Survey, boxes []tick) string {
	parts := []string{v.delayText(s.Delay), v.scaleText(s.Scale)}
	var names, langs []string
	for _, box := range boxes {
		if slices.Contains(s.MailboxIDs, number(box.ID)) {
			names = append(names, box.Text)
		}
	}
	if len(names) > 0 {
		parts = append(parts, v.words.list(names))
	}
	for _, t := range s.Translations {
		langs = append(langs, languageName(t.Locale))
	}
	return strings.Join(append(parts, v.words.list(langs)), " · ")
}

// delayText says when a survey asks.
func (v *visit) delayText(d time.Duration) string {
	switch {
	case d < 0:
		return v.words.T("Only under replies")
	case d == 0:
		return v.words.T("When a conversation is closed")
	}
	return v.words.T("%s after closing", v.words.lasted(d))
}

func (v *visit) scaleText(scale int) string {
	return strings.Join(scoreSigns(scale), " ")
}

// surveyView is the form of a survey.
type surveyView struct {
	Title, Action, List, Name string
	Delays, Scales, Once      []tick
	Boxes, More, Places       []tick
	Parts                     []rulePart
	Langs                     []surveyLang
	Active, Orphaned          bool
	CanUpdate, CanDelete      bool
	Errors                    map[string]string
	Problem                   string
}

// surveyLang is what a survey says in a language.
type surveyLang struct {
	autoLang
	Question, Thanks           string
	UsualQuestion, UsualThanks string
	Page                       string // address of the customers' page
}

// surveyForm is what the form holds.
type surveyForm struct {
	helpdesk.Survey
	texts []surveyFormText
	open  string // the language that is unfolded
}

type surveyFormText struct {
	autoFormText
	question, thanks string
}

func surveyFormOf(s helpdesk.Survey) surveyForm {
	f := surveyForm{Survey: s}
	for _, t := range s.Translations {
		f.texts = append(f.texts, surveyFormText{autoFormText{t.Locale, t.Subject, mailhtml.Text(t.Body), t.Body}, t.Question, t.Thanks})
	}
	return f
}

// submittedSurvey reads the form. Of old, a text that was not changed keeps its formatting.
func (w *ruleWords) submittedSurvey(old helpdesk.Survey) surveyForm {
	post := w.r.PostFormValue
	f := surveyForm{Survey: old}
	f.Name, f.MailboxIDs, f.IsActive = post("name"), w.ticked("mailbox"), post("active") != ""
	hours, _ := strconv.Atoi(post("delay")) // anything else is refused below
	f.Delay = time.Duration(hours) * time.Hour
	f.Scale, _ = strconv.Atoi(post("scale"))
	f.OncePer = time.Duration(number(post("once"))) * 24 * time.Hour
	f.All, f.Any = w.conditionsIn(partAll), w.conditionsIn(partAny)
	for _, code := range w.r.PostForm["lang"] {
		t := surveyFormText{autoFormText{code: code, subject: post("subject-" + code), body: post("body-" + code)}, post("question-" + code), post("thanks-" + code)}
		n := slices.IndexFunc(old.Translations, func(a helpdesk.SurveyText) bool { return a.Locale == code })
		if n >= 0 && sameText(t.body, mailhtml.Text(old.Translations[n].Body)) {
			t.old = old.Translations[n].Body
		}
		f.texts = append(f.texts, t)
	}
	return f
}

// values returns the texts of the form by locale.
func (f surveyForm) values() map[string]helpdesk.SurveyText {
	all := map[string]helpdesk.SurveyText{}
	for _, t := range f.texts {
		all[t.code] = helpdesk.SurveyText{Subject: t.subject, Body: cmp.Or(t.old, mailhtml.FromText(t.body)), Question: t.question, Thanks: t.thanks}
	}
	return all
}

func (f surveyForm) input() helpdesk.SurveyInput {
	return helpdesk.SurveyInput{
		Name: storage.Some(f.Name), MailboxIDs: storage.Some(f.MailboxIDs), Scale: storage.Some(f.Scale), Delay: storage.Some(f.Delay), OncePer: storage.Some(f.OncePer),
		All: storage.Some(f.All), Any: storage.Some(f.Any), Translations: storage.Some(f.values()), IsActive: storage.Some(f.IsActive),
	}
}

// suggestedSurvey returns the text that a language begins with.
func suggestedSurvey(code string) surveyFormText {
	t := surveyFormText{autoFormText: autoFormText{code: code}}
	if !slices.Contains(languages, langOf(code)) {
		return t
	}
	w := speak(langOf(code))
	t.subject = w.T("How was our answer?")
	t.body = w.T("Hello {{customer.first_name}},\n\nwe have closed your request “{{conversation.subject}}”. How was our answer?\n\n{{rating}}\n\n{{mailbox.name}}")
	return t
}

func (v *visit) newSurveyPage() error {
	w, err := v.surveyWords()
	if err != nil {
		return err
	}
	f := surveyForm{Survey: helpdesk.Survey{Name: v.words.T("After closing"), Scale: 3, Delay: 24 * time.Hour, OncePer: 30 * 24 * time.Hour, IsActive: true}}
	f.texts = []surveyFormText{suggestedSurvey(v.account.DefaultLocale)}
	return w.showSurvey(f, surveyView{}, 0)
}

func (v *visit) surveyPage() error {
	s, err := v.Surveys().Get(v.ctx(), v.number("id"))
	if err != nil {
		return err
	}
	w, err := v.surveyWords()
	if err != nil {
		return err
	}
	return w.showSurvey(surveyFormOf(s), surveyView{}, 0)
}

// showSurvey shows the form of a survey with a preview: a new one has no id.
func (w *ruleWords) showSurvey(f surveyForm, view surveyView, status int) error {
	view.List, view.Errors, view.Name, view.Active = w.at("/settings/surveys"), orEmpty(view.Errors), f.Name, f.IsActive
	view.Title, view.Action = w.words.T("New survey"), view.List
	view.CanUpdate = w.may(identity.InteractionsCreate) && w.may(identity.SurveysCreate)
	if f.ID != 0 {
		stored, err := w.Surveys().Get(w.ctx(), f.ID)
		if err != nil {
			return err
		}
		view.Title, view.Action, view.Orphaned = stored.Name, w.at("/settings/surveys/"+itoa(f.ID)), stored.Reason == helpdesk.SurveyOrphaned
		view.CanUpdate = w.may(identity.InteractionsCreate) && w.may(identity.SurveysUpdate)
		view.CanDelete = w.may(identity.InteractionsCreate) && w.may(identity.SurveysDelete)
	}
	var err error
	if view.Boxes, err = w.boxTicks(f.MailboxIDs); err != nil {
		return err
	}
	w.surveyChoices(f, &view)
	parts, err := w.parts(helpdesk.Rule{All: f.All, Any: f.Any}, view.Errors)
	if err != nil {
		return err
	}
	parts[0].Hint = w.words.T("Without conditions, it asks about every conversation.")
	view.Parts = parts[:2]
	if err := w.showSurveyTexts(&view, f); err != nil {
		return err
	}
	return w.settingsPage("survey", view.Title, view, status)
}

// surveyChoices fills in the times and the scales.
func (w *ruleWords) surveyChoices(f surveyForm, view *surveyView) {
	for _, hours := range []int64{0, 1, 4, 24, 48, 72, 168} {
		d := time.Duration(hours) * time.Hour
		view.Delays = append(view.Delays, tick{ID: itoa(hours), Text: w.delayText(d), On: d == f.Delay})
	}
	if !slices.ContainsFunc(view.Delays, func(t tick) bool { return t.On }) && f.Delay > 0 {
		view.Delays = append(view.Delays, tick{ID: itoa(int64(f.Delay / time.Hour)), Text: w.delayText(f.Delay), On: true})
	}
	view.Delays = append(view.Delays, tick{ID: "-1", Text: w.delayText(helpdesk.NoSurveyMail), On: f.Delay < 0})
	for _, scale := range helpdesk.RatingScales() {
		view.Scales = append(view.Scales, tick{ID: strconv.Itoa(scale), Text: w.scaleText(scale), On: scale == f.Scale})
	}
	days := []int64{0, 1, 7, 30, 90, 365}
	if own := int64(f.OncePer / (24 * time.Hour)); !slices.Contains(days, own) {
		days = append(days, own)
	}
	for _, n := range days {
		text := w.words.T("Each time")
		if n > 0 {
			text = w.words.T("Once in %s", w.words.lasted(time.Duration(n)*24*time.Hour))
		}
		view.Once = append(view.Once, tick{ID: itoa(n), Text: text, On: time.Duration(n)*24*time.Hour == f.OncePer})
	}
}

// showSurveyTexts shows the languages of the form, each with its preview as far as it has no problem.
func (w *ruleWords) showSurveyTexts(view *surveyView, f surveyForm) error {
	codes := slices.Concat(languages, w.account.Languages, autoLocales)
	slices.Sort(codes)
	places := w.places(helpdesk.SurveyPlaceholders())
	for n, t := range f.texts {
		spoken := speak(spoken(t.code))
		lang := surveyLang{
			autoLang: autoLang{
				Code: t.code, Name: languageName(t.code), Dir: direction(t.code), Subject: t.subject, Body: t.body, Problem: view.Errors["translations["+t.code+"]"],
				Open: t.code == f.open || f.open == "" && n == 0, Places: places,
			},
			Question: t.question, Thanks: t.thanks, UsualQuestion: spoken.T("How was our answer?"), UsualThanks: spoken.T("Thank you!"),
			Page: w.samplePage(f.Scale, t),
		}
		lang.Open = lang.Open || lang.Problem != ""
		shown, err := w.Surveys().Preview(w.ctx(), map[string]helpdesk.SurveyText{t.code: f.values()[t.code]})
		if err != nil && !fault.Is(err, fault.Invalid) {
			return err
		}
		for _, s := range shown {
			body := strings.ReplaceAll(s.Body, helpdesk.RatingPlace, sampleLinks(spoken, f.Scale, t.question))
			lang.Shown = &autoShown{Subject: cmp.Or(s.Subject, w.words.T("Subject of the conversation")), Body: safeHTML(plainStyle(body))}
		}
		view.Langs = append(view.Langs, lang)
	}
	for _, code := range slices.Compact(codes) {
		if !slices.ContainsFunc(f.texts, func(t surveyFormText) bool { return t.code == code }) {
			view.More = append(view.More, tick{ID: code, Text: languageName(code)})
		}
	}
	sortedTicks(view.More)
	return nil
}

// sampleLinks are the links of a mail as its preview shows them.
func sampleLinks(w words, scale int, question string) string {
	usual, scores := RatingWords(w.lang, scale)
	var b strings.Builder
	b.WriteString(`<b>` + html.EscapeString(cmp.Or(question, usual)) + `</b><br>`)
	for _, s := range scores {
		b.WriteString(`<span class="sample-link">` + html.EscapeString(s) + `</span> `)
	}
	return b.String()
}

// samplePage returns the address of the customers' page with a text that need not be stored.
func (v *visit) samplePage(scale int, t surveyFormText) string {
	q := url.Values{"scale": {strconv.Itoa(scale)}, "lang": {t.code}, "question": {t.question}}
	return v.at("/settings/surveys/page") + "?" + q.Encode()
}

// surveySample shows the customers' page inside the settings. Nothing can be sent from it.
func (v *visit) surveySample() error {
	if !v.may(identity.SurveysView) {
		return v.missing()
	}
	q := v.r.URL.Query()
	scale, _ := strconv.Atoi(q.Get("scale"))
	if !slices.Contains(helpdesk.RatingScales(), scale) {
		return v.missing()
	}
	v.words = speak(spoken(q.Get("lang"), v.account.DefaultLocale))
	view := ratingView{
		Mailbox: v.account.Name, Question: cmp.Or(q.Get("question"), v.words.T("How was our answer?")), Scores: scoreChoices(v.words, scale, scale), HasForm: true, Preview: true,
		CommentLimit: 5000,
	}
	view.Lang, view.Dir, view.Title = v.words.lang, direction(v.words.lang), view.Question
	v.w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'")
	return v.showAlone("rating", view, 0)
}

// showAlone shows a page that has nothing of the desk around it.
func (v *visit) showAlone(name string, data any, status int) error {
	var out strings.Builder
	if err := v.draw(&out, name, data); err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if status != 0 {
		v.w.WriteHeader(status)
	}
	_, _ = v.w.Write([]byte(out.String())) // the browser may have disconnected
	return nil
}

func (v *visit) createSurvey() error { return v.putSurvey(helpdesk.Survey{}) }

func (v *visit) saveSurvey() error {
	old, err := v.Surveys().Get(v.ctx(), v.number("id"))
	if err != nil {
		return err
	}
	return v.putSurvey(old)
}

// putSurvey saves the form of a survey, or does what another button of it says.
func (v *visit) putSurvey(old helpdesk.Survey) error {
	_ = v.r.ParseForm() // unreadable fields are empty
	w, err := v.surveyWords()
	if err != nil {
		return err
	}
	f := w.submittedSurvey(old)
	conditions := helpdesk.Rule{All: f.All, Any: f.Any}
	if w.edit(&conditions) {
		f.All, f.Any = conditions.All, conditions.Any
		return w.showSurvey(f, surveyView{}, 0)
	}
	if f.editLanguages(v.r) {
		return w.showSurvey(f, surveyView{}, 0)
	}
	done := v.words.T("Saved")
	if old.ID == 0 {
		_, err = v.Surveys().Create(v.ctx(), f.input())
		done = v.words.T("Added %s", f.Name)
	} else {
		_, err = v.Surveys().Update(v.ctx(), old.ID, f.input())
	}
	problem, ok := asFault(err)
	switch {
	case ok && problem.Kind == fault.Invalid:
		return w.showSurvey(f, surveyView{Errors: w.surveyProblems(err)}, http.StatusUnprocessableEntity)
	case ok && problem.Kind == fault.NotFound:
		return w.showSurvey(f, surveyView{Problem: v.words.T("Something that the survey names has been deleted. Choose it again.")}, http.StatusUnprocessableEntity)
	case ok && problem.Kind == fault.Conflict:
		return w.showSurvey(f, surveyView{Problem: v.words.T(problem.Message)}, http.StatusConflict)
	}
	return v.unless(err, "surveys", done)
}

// editLanguages adds or removes a language, or unfolds one, and reports whether a button said so.
func (f *surveyForm) editLanguages(r *http.Request) bool {
	do, code, _ := strings.Cut(r.PostFormValue("do"), " ")
	switch do {
	case "more":
		code = r.PostFormValue("more")
		if code != "" && !slices.ContainsFunc(f.texts, func(t surveyFormText) bool { return t.code == code }) {
			f.texts, f.open = append(f.texts, suggestedSurvey(code)), code
		}
	case "less":
		f.texts = slices.DeleteFunc(f.texts, func(t surveyFormText) bool { return t.code == code })
	case "preview":
		f.open = code
	default:
		return false
	}
	return true
}

// surveyProblems returns the problems of a form by field, those of a language under the language.
func (w *ruleWords) surveyProblems(err error) map[string]string {
	out := map[string]string{}
	for field, text := range w.ruleProblems(err) {
		name, rest, _ := strings.Cut(field, "[")
		if name == "translations" && rest != "" {
			code, part, _ := strings.Cut(rest, "]")
			if part == "[body]" && wholeFields(err)[field] == "is required" {
				text = w.words.T("The text is missing.")
			}
			field = "translations[" + code + "]"
		}
		out[field] = text
	}
	return out
}

func (v *visit) removeSurvey() error {
	return v.unless(v.Surveys().Delete(v.ctx(), v.number("id")), "surveys", v.words.T("Survey deleted"))
}
