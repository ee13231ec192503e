package kb

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/helpwright/helpwright/kb/contenthtml"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/search"
)

// Answer is what an article says to a question: one to three of its sentences, word for word.
type Answer struct {
	ArticleRevision
	Locale    string // in which it was found
	Heading   contenthtml.Heading
	Text      string // plain text, at most [MaxAnswer] characters
	Highlight string // Text as HTML, escaped, with the words of the question in mark elements
}

// Limits of answers.
const (
	MaxAnswers = 5
	MaxAnswer  = 400 // characters

	answering     = 4  // articles that are read for answers
	maxSentences  = 3  // of an answer
	usualSentence = 90 // characters
	shortSentence = 30 // characters
)

// Factors of what a sentence says, and what an answer has to have.
const (
	inHeading   = .9
	inTitle     = .8
	ofOwn       = .5  // the words of the sentence itself count once more
	ofBeginning = 1.1 // what stands first in its paragraph
	ofUnknown   = .6  // words that no article has
	leastAsked  = .5  // of the question: less is no answer
	ofFirst     = .75 // of the best answer: less is left out
)

// Answers returns what articles say to a question, the best first: sentences that have most of its words, themselves or in
// their headings and the title. There are none if no article answers the question: nothing is made up. Words are found as
// [Editor.Search] finds them. limit is from 1 to [MaxAnswers], at most one of each article. It needs articles.view.
func (e *Editor) Answers(ctx context.Context, query string, wanted []string, limit int) ([]Answer, error) {
	r, err := e.guard.Read(ArticlesView)
	if err != nil {
		return nil, err
	}
	s := searcher{postings: r.PublishedPostings, index: r, articles: r.PublishedArticles, site: e.site}
	return s.answers(ctx, query, wanted, limit)
}

// Answers returns what published articles say to a question, see [Editor.Answers].
func (v *Visitor) Answers(ctx context.Context, query string, wanted []string, limit int) ([]Answer, error) {
	r, err := v.guard.Read(published)
	if err != nil {
		return nil, err
	}
	s := searcher{postings: r.PublishedPostings, index: r, articles: r.PublishedArticles, site: v.site}
	all, err := s.answers(ctx, query, wanted, limit)
	for i, a := range all {
		all[i].ArticleRevision = a.shown()
	}
	return all, err
}

func (s searcher) answers(ctx context.Context, query string, wanted []string, limit int) ([]Answer, error) {
	if limit < 1 || limit > MaxAnswers {
		return nil, fault.Field("limit", "must be from 1 to 5")
	}
	q := s.ask(query, wanted)
	hits, err := s.rank(ctx, q, ArticleFilter{})
	if err != nil || len(hits) == 0 {
		return nil, err
	}
	hits = hits[:min(len(hits), answering)]
	ids := make([]int64, len(hits))
	for i, h := range hits {
		ids[i] = h.ArticleID
	}
	articles, err := s.articles(ctx, ArticleFilter{IDs: ids}, storage.Seek{Limit: len(ids)})
	if err != nil {
		return nil, err
	}
	var found []scored
	for _, h := range hits {
		i := slices.IndexFunc(articles, func(a ArticleRevision) bool { return a.Article.ID == h.ArticleID })
		if i < 0 {
			continue // it has been deleted since
		}
		if a, ok := q.answer(articles[i], h.Locale); ok {
			a.score *= standing(h, hits[0])
			found = append(found, a)
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	var all []Answer
	for _, a := range found[:min(len(found), limit)] {
		if a.score < ofFirst*found[0].score {
			break
		}
		all = append(all, a.Answer)
	}
	return all, nil
}

// standing says how well an article stands among those that were found: it answers as a whole, too.
func standing(h, best rankedHit) float64 {
	if best.score >= firstScore-MaxPinned {
		return 1 // pinned
	}
	return float64(h.score) / float64(best.score)
}

// scored is an answer with how good it is.
type scored struct {
	Answer
	score float64
}

// answer returns the best answer that an article has, if it has any.
func (q *question) answer(a ArticleRevision, locale string) (best scored, ok bool) {
	t := a.Revision.Serve(locale)
	language := languageOf(t.Locale)
	title := q.said(t.Title, language)
	ofHeadings := map[string][]float64{}
	passages := contenthtml.Passages(t.Content)
	if t.Summary != "" {
		passages = append([]contenthtml.Passage{{Text: t.Summary}}, passages...)
	}
	for _, p := range passages {
		heading := make([]float64, len(q.words))
		for _, h := range p.Headings {
			of, known := ofHeadings[h.Text]
			if !known {
				of = q.said(h.Text, language)
				ofHeadings[h.Text] = of
			}
			heading = most(heading, of)
		}
		above := most(scale(title, inTitle), scale(heading, inHeading))
		sentences := search.Sentences(p.Text)
		for i, sentence := range sentences {
			said := q.said(sentence, language)
			score, enough := q.judge(said, above, utf8.RuneCountInString(sentence))
			if i == 0 {
				score *= ofBeginning
			}
			if enough && score > best.score {
				text := sentences[i:]
				if p.Lead != "" { // without it, an item of a list may say the contrary
					text = append([]string{p.Lead}, text...)
				}
				best = scored{Answer{ArticleRevision: a, Locale: t.Locale, Text: join(text)}, score}
				if n := len(p.Headings); n > 0 {
					best.Heading = p.Headings[n-1]
				}
				ok = true
			}
		}
	}
	if ok {
		stem := func(word string) string { return search.Stem(language, word) }
		best.Highlight = search.Highlight(best.Text, search.StemMarks(best.Text, q.marks(), stem))
	}
	return best, ok
}

// said returns how much a text says of each word of the question, from 0 to 1.
func (q *question) said(text, language string) []float64 {
	var words []string
	for word := range search.Counts(text) {
		words = append(words, word)
		if stem := search.Stem(language, word); stem != word {
			words = append(words, stem)
		}
		if search.Compounds(language) {
			if tail := search.Tail(word); tail != "" {
				words = append(words, tail)
			}
		}
	}
	all := make([]float64, len(q.words))
	for i, w := range q.words {
		for _, a := range w.alternatives {
			for _, word := range words {
				switch {
				case word == a.term.Text:
					all[i] = max(all[i], a.factor)
				case a.term.Prefix && strings.HasPrefix(word, a.term.Text):
					all[i] = max(all[i], a.factor*ofPrefix)
				}
			}
		}
	}
	return all
}

// judge says how well a sentence answers the question, and whether it does at all.
func (q *question) judge(said, above []float64, length int) (score float64, enough bool) {
	var all, known, whole, own float64
	for i, w := range q.words {
		rarity := w.rarity
		if len(w.weights) == 0 {
			rarity *= ofUnknown
		}
		all += rarity
		known += rarity * min(1, 1.5*max(said[i], above[i])) // a part of a compound may be about something else
		whole += rarity * max(said[i], above[i])
		own += rarity * said[i]
	}
	if all == 0 || known < leastAsked*all {
		return 0, false
	}
	// A long sentence says less with the same words, and a very short one is seldom an answer.
	evenly := 1 / (.75 + .25*float64(length)/usualSentence)
	score = (whole + ofOwn*own*evenly) / all
	if length < shortSentence {
		score *= .7
	}
	return score, true
}

// join returns the first sentences, up to the limits.
func join(sentences []string) string {
	text := ""
	for i, s := range sentences {
		if i == maxSentences || i > 0 && utf8.RuneCountInString(text)+1+utf8.RuneCountInString(s) > MaxAnswer {
			break
		}
		if last, _ := utf8.DecodeLastRuneInString(text); i > 0 && !strings.ContainsRune("。！？｡", last) {
			text += " "
		}
		text += s
	}
	if r := []rune(text); len(r) > MaxAnswer {
		text = strings.TrimSpace(string(r[:MaxAnswer-1])) + "…"
	}
	return text
}

func scale(list []float64, factor float64) []float64 {
	scaled := make([]float64, len(list))
	for i, x := range list {
		scaled[i] = factor * x
	}
	return scaled
}

// most returns the larger one of each pair.
func most(a, b []float64) []float64 {
	all := make([]float64, len(a))
	for i := range a {
		all[i] = max(a[i], b[i])
	}
	return all
}
