package outbound

import (
	"cmp"
	"fmt"
	"html"
	"strconv"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
)

// ratingLink is a link to a rating in a message.
type ratingLink struct{ url, text string }

// withRating returns the body of a message with the links to its rating, as write writes them.
func (s *Sender) withRating(out helpdesk.OutgoingMail, write func(lang, question string, links []ratingLink) string) string {
	if out.Rating == nil {
		return out.HTML
	}
	if s.cfg.RatingURL == nil {
		return strings.ReplaceAll(out.HTML, helpdesk.RatingPlace, "")
	}
	question, scores := "How was our answer?", []string(nil)
	if s.cfg.RatingWords != nil {
		question, scores = s.cfg.RatingWords(out.Rating.Locale, len(out.Rating.Tokens))
	}
	var links []ratingLink
	for n, token := range out.Rating.Tokens {
		text := strconv.Itoa(n + 1)
		if n < len(scores) {
			text = scores[n]
		}
		links = append(links, ratingLink{s.cfg.RatingURL(token), text})
	}
	return strings.ReplaceAll(out.HTML, helpdesk.RatingPlace, write(out.Rating.Locale, cmp.Or(out.Rating.Question, question), links))
}

// ratingButtons writes links side by side. They may be inside a paragraph.
func ratingButtons(lang, question string, links []ratingLink) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<span lang="%s" dir="auto"><b>%s</b></span><br>`, html.EscapeString(lang), html.EscapeString(question))
	for _, l := range links {
		fmt.Fprintf(&b, "\n"+`<a href="%s" style="display:inline-block;margin:8px 4px 0 0;padding:8px 14px;border:1px solid #8c8982;border-radius:8px;text-decoration:none;color:inherit">%s</a>`,
			html.EscapeString(l.url), html.EscapeString(l.text))
	}
	return b.String()
}

// ratingLines writes each link in a line of its own, for the plain text.
func ratingLines(_, question string, links []ratingLink) string {
	b := html.EscapeString(question)
	for _, l := range links {
		b += fmt.Sprintf("<br>%s: %s", html.EscapeString(l.text), html.EscapeString(l.url))
	}
	return b
}
