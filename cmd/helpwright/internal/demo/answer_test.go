package demo

import (
	"slices"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/contenthtml"
	"github.com/helpwright/helpwright/storage/memstore"
)

// strangers are questions that none of the sites answers, though they have words of theirs.
var strangers = []labelled{
	{site: "halden", locale: "en", text: "How do I cook spaghetti carbonara?"},
	{site: "halden", locale: "en", text: "Who won the world cup in 1998?"},
	{site: "halden", locale: "en", text: "Do you sell bicycles for children?"},
	{site: "halden", locale: "en", text: "How high is the Eiffel tower"},
	{site: "halden", locale: "en", text: "Can I adopt a cat"},
	{site: "halden", locale: "de", text: "Wie melde ich mein Auto ab?"},
	{site: "halden", locale: "de", text: "Wann fährt der nächste Zug nach Hamburg?"},
	{site: "halden", locale: "fr", text: "Comment apprendre à jouer du piano ?"},
	{site: "manual", locale: "en", text: "What is the capital of Australia?"},
	{site: "manual", locale: "en", text: "How do I train for a marathon?"},
	{site: "manual", locale: "en", text: "symptoms of the flu"},
	{site: "manual", locale: "en", text: "best pizza dough recipe"},
	{site: "carnet", locale: "fr", text: "Quelle est la météo demain à Lyon ?"},
	{site: "carnet", locale: "fr", text: "recette de tarte aux pommes"},
}

// Quotes answer what readers ask, from an article that does, and there is none where nothing does.
func TestAnswerQuality(t *testing.T) {
	t.Parallel()
	tuning, held := questions(t)
	sites := newSearchSites(t, memstore.New())
	for name, all := range map[string][]labelled{"tuning": tuning, "held": held, "strangers": strangers} {
		answered, right := 0, 0
		for _, q := range all {
			found, err := sites.visitors[q.site].Answers(t.Context(), q.text, []string{q.locale}, 1)
			if err != nil {
				t.Fatal(err)
			}
			if len(found) == 0 {
				t.Logf("%s: no answer to %q", name, q.text)
				continue
			}
			answered++
			key := sites.keys[q.site][found[0].Article.ID]
			if slices.Contains(q.answers, key) {
				right++
			}
			t.Logf("%s: %q (%s %v): %s", name, q.text, key, slices.Contains(q.answers, key), found[0].Text)
			checkQuoted(t, found[0])
		}
		t.Logf("%s: %d of %d answered, %d of them right", name, answered, len(all), right)
		switch {
		case name == "strangers" && answered > 1:
			t.Errorf("%d of %d questions of strangers are answered", answered, len(all))
		case name != "strangers" && (answered < 7*len(all)/10 || right < 8*answered/10):
			t.Errorf("%s: %d of %d answered, %d of them right", name, answered, len(all), right)
		}
	}
}

// checkQuoted checks that an answer is word for word in its article.
func checkQuoted(t *testing.T, a kb.Answer) {
	t.Helper()
	content := a.Revision.Serve(a.Locale).Summary + "\n"
	for _, p := range contenthtml.Passages(a.Revision.Serve(a.Locale).Content) {
		content += p.Text + "\n" + p.Lead + " " + p.Text + "\n"
	}
	quoted := strings.TrimSuffix(a.Text, "…")
	if !strings.Contains(content, quoted) {
		t.Errorf("%q is not in the article", quoted)
	}
}
