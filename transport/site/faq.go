package site

import (
	"strings"

	"github.com/helpwright/helpwright/kb/contenthtml"
)

// questionsOf returns the questions of an article whose answers are folded, as data of a FAQPage.
func questionsOf(content string) []questionLD {
	if !strings.Contains(content, "<details") {
		return nil
	}
	var all []questionLD
	for _, part := range strings.Split(content, "<details")[1:] {
		_, part, _ = strings.Cut(part, ">")
		part, _, _ = strings.Cut(part, "</details>")
		_, rest, ok := strings.Cut(part, "<summary")
		if !ok {
			continue
		}
		summary, answer, _ := strings.Cut(rest, "</summary>")
		_, summary, _ = strings.Cut(summary, ">")
		question, text := contenthtml.Text(summary), contenthtml.Text(answer)
		if strings.HasSuffix(question, "?") && text != "" && len(all) < 50 {
			all = append(all, questionLD{"Question", question, answerLD{"Answer", text}})
		}
	}
	return all
}
