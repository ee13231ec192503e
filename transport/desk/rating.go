package desk

import (
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// The page on which a customer rates an answer. It needs neither a session nor a script, and following the link to it records
// nothing: programs that look through mail do that, too.

// routeRatings registers the page for customers.
func (h *Handler) routeRatings() {
	for pattern, fn := range map[string]func(*visit) error{
		"GET /rate/{token}":  (*visit).ratingPage,
		"POST /rate/{token}": (*visit).rate,
	} {
		h.mux.HandleFunc(pattern, h.visitor(fn))
	}
}

// ratingView is the page for a customer.
type ratingView struct {
	Title, Lang, Dir    string
	Mailbox, Subject    string
	Question, By        string // By says whose answer it is
	Scores              []scoreChoice
	Comment, Action     string
	Problem             string
	Thanks, Said, Until string // after the answer
	Given               *scoreChoice
	Over, Gone, Preview bool
	CommentLimit        int
	HasForm, Changes    bool
}

// scoreChoice is a score that can be chosen.
type scoreChoice struct {
	Score   int
	Text    string
	Mouth   template.HTML // the path of the mouth of its face
	Verdict helpdesk.Verdict
	On      bool
}

// scoreWords name the scores of a scale, the lowest first.
func scoreWords(w words, scale int) []string {
	switch scale {
	case 2:
		return []string{w.T("Bad"), w.T("Good")}
	case 3:
		return []string{w.T("Bad"), w.T("Okay"), w.T("Good")}
	}
	return []string{w.T("Very bad"), w.T("Bad"), w.T("Okay"), w.T("Good"), w.T("Very good")}
}

// scoreSigns are the faces of scores in mail.
func scoreSigns(scale int) []string {
	switch scale {
	case 2:
		return []string{"😟", "😊"}
	case 3:
		return []string{"😟", "😐", "😊"}
	}
	return []string{"😞", "😟", "😐", "😊", "😀"}
}

// mouths are the mouths of faces, from very bad to very good.
var mouths = []template.HTML{"M8 17q4-4.500 8 0", "M8.500 16.500q3.500-2.500 7 0", "M8.500 15.500h7", "M8.500 14.500q3.500 3 7 0", "M7.500 13.500q4.500 6.500 9 0z"}

// scoreChoices are the scores of a scale.
func scoreChoices(w words, scale, chosen int) []scoreChoice {
	var all []scoreChoice
	for n, text := range scoreWords(w, scale) {
		at := map[int][]int{2: {1, 3}, 3: {1, 2, 3}}[scale]
		face := n
		if at != nil {
			face = at[n]
		}
		all = append(all, scoreChoice{Score: n + 1, Text: text, Mouth: mouths[face], Verdict: helpdesk.VerdictOf(n+1, scale), On: n+1 == chosen})
	}
	return all
}

// RatingWords returns what mail says above the links to a rating, and of each score, the lowest first, in the language of a locale
// or in English.
func RatingWords(locale string, scale int) (question string, scores []string) {
	w := speak(spoken(locale))
	for n, text := range scoreWords(w, scale) {
		scores = append(scores, scoreSigns(scale)[n]+" "+text)
	}
	return w.T("How was our answer?"), scores
}

// spoken returns the language of the first of some locales that there are texts in, otherwise English.
func spoken(locales ...string) string {
	for _, locale := range locales {
		if base := langOf(locale); slices.Contains(languages, base) {
			return base
		}
	}
	return languages[0]
}

func langOf(locale string) string {
	for i, c := range locale {
		if c == '-' {
			return locale[:i]
		}
	}
	return locale
}

// ratingPage shows what a link is about.
func (v *visit) ratingPage() error {
	asked, err := v.service().OpenRating(v.ctx(), v.r.PathValue("token"))
	if fault.Is(err, fault.NotFound) {
		return v.showRating(ratingView{Gone: true}, http.StatusNotFound)
	}
	if err != nil {
		return err
	}
	view := v.ratingView(asked)
	_, sent := v.r.URL.Query()["sent"]
	switch {
	case sent && asked.Answered():
		view.Thanks = asked.Text.Thanks
		if view.Thanks == "" {
			view.Thanks = v.words.T("Thank you!")
		}
		view.Changes = !asked.Over
	case asked.Over:
		view.HasForm = false
	}
	return v.showRating(view, 0)
}

// ratingView returns the page of a question in the language of the customer.
func (v *visit) ratingView(asked helpdesk.AskedRating) ratingView {
	if base := spoken(asked.Locale, asked.Language); asked.Locale != "" || asked.Language != "" {
		v.words = speak(base)
	}
	chosen := asked.Chosen
	if _, sent := v.r.URL.Query()["sent"]; sent && asked.Answered() {
		chosen = asked.Score
	}
	view := ratingView{
		Mailbox: asked.Mailbox, Subject: asked.Subject, Question: asked.Text.Question, Comment: asked.Comment, Scores: scoreChoices(v.words, asked.Scale, chosen),
		Action: v.h.url("/rate/" + url.PathEscape(v.r.PathValue("token"))), Over: asked.Over, CommentLimit: 5000, HasForm: true,
	}
	if view.Question == "" {
		view.Question = v.words.T("How was our answer?")
	}
	if asked.Member != "" && asked.Member != asked.Mailbox {
		view.By = v.words.T("Answered by %s", asked.Member)
	}
	if asked.Answered() {
		given := scoreChoices(v.words, asked.Scale, asked.Score)[asked.Score-1]
		view.Given, view.Until = &given, v.day(asked.Until)
	}
	return view
}

func (v *visit) showRating(view ratingView, status int) error {
	header := v.w.Header()
	header.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	header.Set("X-Robots-Tag", "noindex, nofollow")
	view.Lang, view.Dir = v.words.lang, direction(v.words.lang)
	view.Title = view.Question
	if view.Gone {
		view.Title = v.words.T("This link no longer works")
	}
	return v.showAlone("rating", view, status)
}

// rate records what a customer says.
func (v *visit) rate() error {
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, 64<<10)
	token := v.r.PathValue("token")
	asked, err := v.service().OpenRating(v.ctx(), token)
	if fault.Is(err, fault.NotFound) {
		return v.showRating(ratingView{Gone: true}, http.StatusNotFound)
	}
	if err != nil {
		return err
	}
	score, _ := strconv.Atoi(v.r.PostFormValue("score")) // nothing chosen is refused
	in := helpdesk.RatingInput{Score: score}
	if _, given := v.r.PostForm["comment"]; given {
		in.Comment = storage.Some(v.r.PostFormValue("comment"))
	}
	_, err = v.service().AnswerRating(v.ctx(), token, in)
	view := v.ratingView(asked)
	f, ok := asFault(err)
	switch {
	case err == nil:
		return v.see(view.Action + "?sent")
	case fault.Is(err, fault.NotFound):
		return v.showRating(ratingView{Gone: true}, http.StatusNotFound)
	case ok && f.Code == helpdesk.RatingClosed:
		view.Over, view.HasForm = true, false
		return v.showRating(view, http.StatusConflict)
	case ok && f.Kind == fault.Invalid:
		view.Scores = scoreChoices(v.words, asked.Scale, score)
		view.Comment, view.Problem = v.r.PostFormValue("comment"), v.words.T("Choose one of the faces, please.")
		if f.Fields["comment"] != nil {
			view.Problem = v.words.T("Your comment is too long.")
		}
		return v.showRating(view, http.StatusUnprocessableEntity)
	}
	return err
}

// ratingShown is a rating in words and colour.
type ratingShown struct {
	Text, Level, Full string
	Mouth             template.HTML
	Comment, By, When string
	Asked             bool
}

// verdictTexts name what ratings can be.
var verdictTexts = []tick{
	{ID: string(helpdesk.RatedGood), Text: say("Good")}, {ID: string(helpdesk.RatedNeutral), Text: say("Okay")}, {ID: string(helpdesk.RatedBad), Text: say("Bad")},
	{ID: string(helpdesk.RatedNot), Text: say("Asked, not answered")},
}

// verdictLevel is the colour of a verdict.
func verdictLevel(v helpdesk.Verdict) string {
	return map[helpdesk.Verdict]string{helpdesk.RatedGood: "ok", helpdesk.RatedNeutral: "warn", helpdesk.RatedBad: "bad"}[v]
}

// fillRatings fills in how the customer rated the answers, newest first.
func (v *visit) fillRatings(c helpdesk.Conversation, view *conversationView) error {
	by, err := v.Ratings().Of(v.ctx(), []int64{c.ID})
	if err != nil || len(by) == 0 {
		return v.unlessForbidden(err)
	}
	team, err := v.team()
	if err != nil {
		return err
	}
	for _, r := range slices.Backward(by[c.ID]) {
		shown := ratingShown{Text: v.words.T("Asked, not answered"), Asked: true, When: v.when(r.AskedAt), Full: v.full(r.AskedAt)}
		if r.Answered() {
			s := scoreChoices(v.words, r.Scale, r.Score)[r.Score-1]
			shown = ratingShown{
				Text: v.words.T("%s (%s of %s)", s.Text, count(r.Score), count(r.Scale)), Level: verdictLevel(r.Verdict), Mouth: s.Mouth, Comment: r.Comment,
				When: v.when(r.AnsweredAt), Full: v.full(r.AnsweredAt),
			}
		}
		for _, p := range team {
			if p.ID == r.UserID {
				shown.By = p.Name
			}
		}
		view.Ratings = append(view.Ratings, shown)
	}
	return nil
}

// ratingLine says that a customer rated an answer.
func (v *visit) ratingLine(e helpdesk.HistoryEntry, who string) (line, bool) {
	for _, kind := range e.Events {
		switch kind {
		case "rating.created":
			return line{Icon: "star", Text: v.words.T("%s rated the answer: %s", who, v.verdictText(e.Why.Verdict))}, true
		case "rating.updated":
			return line{Icon: "star", Text: v.words.T("%s changed the rating: %s", who, v.verdictText(e.Why.Verdict))}, true
		}
	}
	return line{}, false
}

func (v *visit) verdictText(of helpdesk.Verdict) string {
	for _, t := range verdictTexts {
		if t.ID == string(of) {
			return v.words.T(t.Text)
		}
	}
	return string(of)
}
