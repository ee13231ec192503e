package kb

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/helpwright/helpwright/kb/contenthtml"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/plain"
	"github.com/helpwright/helpwright/storage/search"
)

// field is a text of an article in the search index.
type field struct {
	text     string
	language string
	rank     Rank
	weight   float64
	usual    float64 // number of terms; a term counts less in a longer text
	evenly   float64 // how much less, from 0 to 1
	exact    bool    // whether words are found as they are written, too, and not only by their stem
}

// fields returns the texts of an article in a language. The content may be in another one.
func fields(title, summary, content, language, of string) []field {
	var headings []string
	for _, h := range contenthtml.Headings(content) {
		headings = append(headings, h.Text)
	}
	return []field{
		{title, language, InTitle, 10, 5, .5, true},
		{summary, language, InSummary, 4, 12, .5, true},
		{strings.Join(headings, "\n"), of, InSummary, 3, 12, .3, true},
		{contenthtml.Text(content), of, InContent, 1, 150, .3, false},
	}
}

// saturation is BM25's k1: how soon it makes no difference how often a document has a term.
const saturation = 4

// weightedTerms returns the terms of a document with BM25F's weights, which lack only how rare each term is.
func weightedTerms(fields []field) []WeightedTerm {
	sums, ranks := map[string]float64{}, map[string]Rank{}
	for _, f := range fields {
		text := f.text
		if len(text) > MaxSearchText {
			text = plain.Text(text[:MaxSearchText])
		}
		counts := search.Counts(text)
		length := 0
		for _, n := range counts {
			length += n
		}
		each := f.weight / (1 - f.evenly + f.evenly*float64(length)/f.usual)
		for _, word := range slices.Sorted(maps.Keys(counts)) { // sorted, as sums depend on their order
			stem := search.Stem(f.language, word)
			terms := []string{stem}
			if f.exact && word != stem {
				terms = append(terms, word)
			}
			if search.Compounds(f.language) {
				if tail := search.Tail(word); tail != "" {
					terms = append(terms, tail)
				}
			}
			for _, t := range terms {
				if _, known := ranks[t]; !known {
					ranks[t] = f.rank
				}
				sums[t] += each * float64(counts[word])
			}
		}
	}
	size := 0
	var all []WeightedTerm
	for _, t := range slices.Sorted(maps.Keys(sums)) {
		if size += len(t); size > MaxSearchTerms {
			break
		}
		weight := math.Round(1000 * sums[t] / (saturation + sums[t]))
		all = append(all, WeightedTerm{Term: t, Rank: ranks[t], Weight: int64(max(weight, 1))})
	}
	return all
}

// Limits of a search.
const (
	MaxHits = 500 // articles that a search finds

	maxQuestion   = 48   // words of a question
	maxAsked      = 20   // of them that are looked for
	maxPostings   = 250  // documents of a term at each rank: those that are most about it
	maxCandidates = 250  // documents that are ranked
	maxCounted    = 1000 // documents that are counted to see how rare a term is
	maxCorrected  = 4    // spellings of a misspelled word
)

// Factors of the weight of a term that is not quite what was asked for.
const (
	ofPrefix    = .7
	ofCompound  = .5
	ofPart      = .7
	ofSynonym   = .8
	ofSpelling  = .8  // for each wrong character
	leastOfBest = .25 // of the best score: articles with less are left out
)

// alternative is a term that stands for a word of a question.
type alternative struct {
	term   SearchTerm
	factor float64
	main   bool // the word itself, and not another one
}

// asked is a word of a question.
type asked struct {
	text         string
	alternatives []alternative

	rarity  float64
	cut     bool              // whether some documents with it were not read
	weights map[int64]float64 // of documents
}

// question is what a query asks for.
type question struct {
	words     []*asked
	locales   []LocaleChoice
	languages []string // in which the words may be, the reader's first
	reader    []string // the languages of the reader and of the site
	compounds bool
	pins      []int64 // articles that come first
}

// ask parses a query.
func (s searcher) ask(query string, wanted []string) *question {
	q := &question{locales: choices(s.site.DefaultLocale, wanted)}
	for _, c := range q.locales {
		if c.Language != "" && !slices.Contains(q.languages, c.Language) {
			q.languages = append(q.languages, c.Language)
		}
	}
	q.reader = slices.Clone(q.languages)
	for _, l := range s.site.Languages {
		if l = languageOf(l); !slices.Contains(q.languages, l) {
			q.languages = append(q.languages, l)
		}
	}
	q.compounds = slices.ContainsFunc(q.reader, search.Compounds)
	content := q.content(query, maxQuestion)
	for _, w := range content[:min(len(content), maxAsked)] {
		q.words = append(q.words, q.word(w))
	}
	q.pins = q.pinned(s.site.Search.Pins)
	q.widen(s.site.Search.Synonyms)
	return q
}

// content returns the words of a text that say what it is about.
func (q *question) content(text string, limit int) [][]SearchTerm {
	words := search.Question(text, limit)
	content := slices.DeleteFunc(slices.Clone(words), func(w []SearchTerm) bool {
		return slices.ContainsFunc(q.reader, func(l string) bool { return search.Stops(l, w[0].Text) })
	})
	if len(content) == 0 {
		return words
	}
	return content
}

// word returns a word with all that it may be in an article.
func (q *question) word(terms []SearchTerm) *asked {
	w := &asked{text: terms[0].Text}
	for _, t := range terms {
		w.add(alternative{t, 1, true})
		for _, l := range q.languages {
			w.add(alternative{SearchTerm{Text: search.Stem(l, t.Text)}, 1, true})
		}
	}
	if q.compounds {
		for _, t := range search.InCompounds(w.text) {
			w.add(alternative{t, ofCompound, false})
		}
	}
	return w
}

func (w *asked) add(a alternative) {
	if !slices.ContainsFunc(w.alternatives, func(o alternative) bool { return o.term == a.term }) {
		w.alternatives = append(w.alternatives, a)
	}
}

// marks returns the words to mark in texts.
func (q *question) marks() [][]SearchTerm {
	var all [][]SearchTerm
	for _, w := range q.words {
		var terms []SearchTerm
		for _, a := range w.alternatives {
			terms = append(terms, a.term)
		}
		all = append(all, terms)
	}
	return all
}

// rankedHit is a hit with its score.
type rankedHit struct {
	Hit
	score int64
}

func (h rankedHit) position() storage.Position { return storage.Position{Key: -h.score, ID: h.ID} }

func comparePositions(a, b storage.Position) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.ID, b.ID))
}

// rank finds the documents that answer a question, the best first.
func (s searcher) rank(ctx context.Context, q *question, filter ArticleFilter) ([]rankedHit, error) {
	if len(q.words) == 0 {
		return nil, nil
	}
	if err := s.read(ctx, q.words, filter); err != nil {
		return nil, err
	}
	if err := s.mend(ctx, q, filter); err != nil {
		return nil, err
	}
	if err := s.measure(ctx, q); err != nil {
		return nil, err
	}
	documents, err := s.candidates(ctx, q)
	if err != nil {
		return nil, err
	}
	hits, err := s.index.FindDocuments(ctx, DocumentQuery{IDs: documents, Locales: q.locales})
	if err != nil {
		return nil, err
	}
	ranked := make([]rankedHit, 0, len(hits))
	var best int64
	for _, h := range hits {
		score := q.score(h.ID)
		ranked, best = append(ranked, rankedHit{h, score}), max(best, score)
	}
	ranked = slices.DeleteFunc(ranked, func(h rankedHit) bool { return float64(h.score) < leastOfBest*float64(best) })
	if ranked, err = s.pin(ctx, q, ranked, filter); err != nil {
		return nil, err
	}
	slices.SortFunc(ranked, func(a, b rankedHit) int { return comparePositions(a.position(), b.position()) })
	return ranked[:min(len(ranked), MaxHits)], nil
}

// firstScore is above all others.
const firstScore = 1 << 40

// pin puts the published articles that are pinned for a question first, unless only some articles are searched.
func (s searcher) pin(ctx context.Context, q *question, ranked []rankedHit, filter ArticleFilter) ([]rankedHit, error) {
	if len(q.pins) == 0 || filter.narrows() {
		return ranked, nil
	}
	hits, err := s.index.FindDocuments(ctx, DocumentQuery{Articles: q.pins, Locales: q.locales})
	if err != nil {
		return nil, err
	}
	ranked = slices.DeleteFunc(ranked, func(h rankedHit) bool { return slices.Contains(q.pins, h.ArticleID) })
	for _, h := range hits {
		ranked = append(ranked, rankedHit{h, firstScore - int64(slices.Index(q.pins, h.ArticleID))})
	}
	return ranked, nil
}

// read looks up the documents of words.
func (s searcher) read(ctx context.Context, words []*asked, filter ArticleFilter) error {
	var terms []SearchTerm
	for _, w := range words {
		for _, a := range w.alternatives {
			if !slices.Contains(terms, a.term) {
				terms = append(terms, a.term)
			}
		}
	}
	found, err := s.postings(ctx, PostingQuery{Terms: terms, Last: InContent, Filter: filter, Limit: maxPostings})
	if err != nil {
		return err
	}
	for _, w := range words {
		w.weights = map[int64]float64{}
		for _, a := range w.alternatives {
			list := found[slices.Index(terms, a.term)]
			ranks := [InContent + 1]int{}
			for _, p := range list {
				ranks[p.Rank]++
				w.put(a, p)
			}
			w.cut = w.cut || slices.Max(ranks[:]) >= maxPostings
		}
	}
	return nil
}

// put counts a posting of one of the word's alternatives.
func (w *asked) put(a alternative, p Posting) {
	factor := a.factor
	if a.term.Prefix && p.Term != a.term.Text {
		factor *= ofPrefix
		if a.main {
			more := utf8.RuneCountInString(p.Term) - utf8.RuneCountInString(a.term.Text)
			factor /= 1 + .05*float64(more)
		}
	}
	w.weights[p.DocumentID] = max(w.weights[p.DocumentID], factor*float64(p.Weight))
}

// mend replaces words that no document has by their parts, or by words that they may be misspelled for.
func (s searcher) mend(ctx context.Context, q *question, filter ArticleFilter) error {
	var unknown []*asked
	for _, w := range q.words {
		if len(w.weights) == 0 && utf8.RuneCountInString(w.text) >= search.MinSpelling {
			unknown = append(unknown, w)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	if q.compounds {
		var err error
		if unknown, err = s.divide(ctx, q, unknown, filter); err != nil || len(unknown) == 0 {
			return err
		}
	}
	return s.respell(ctx, unknown, filter)
}

// respell adds the words that differ least from misspelled ones.
func (s searcher) respell(ctx context.Context, unknown []*asked, filter ArticleFilter) error {
	var mended []*asked
	for _, w := range unknown {
		near, err := s.corrections(ctx, w)
		if err != nil {
			return err
		}
		for i, c := range near {
			if i == maxCorrected || c.edits > near[0].edits || c.other != near[0].other {
				break
			}
			w.add(alternative{SearchTerm{Text: c.word}, math.Pow(ofSpelling, float64(c.edits)), true})
		}
		if len(near) > 0 {
			mended = append(mended, w)
		}
	}
	if len(mended) == 0 {
		return nil
	}
	return s.read(ctx, mended, filter)
}

// correction is a word of the site that a word of a question may be misspelled for.
type correction struct {
	word  string
	edits int
	other bool // first letter, which people seldom get wrong
}

// corrections returns the words that a word, or its stem, may be misspelled for, the likeliest first.
func (s searcher) corrections(ctx context.Context, w *asked) (near []correction, err error) {
	var variants, forms []string
	for _, a := range w.alternatives {
		if a.main && spelled(a.term.Text) && !slices.Contains(forms, a.term.Text) {
			forms, variants = append(forms, a.term.Text), append(variants, search.Variants(a.term.Text)...)
		}
	}
	if len(variants) == 0 {
		return nil, nil
	}
	known, err := s.index.Spellings(ctx, variants)
	if err != nil {
		return nil, err
	}
	for _, k := range known {
		best := correction{word: k, edits: math.MaxInt}
		for _, form := range forms {
			if n, few := search.Edits(form, k); few && n > 0 && n < best.edits {
				asked, _ := utf8.DecodeRuneInString(form)
				first, _ := utf8.DecodeRuneInString(k)
				best.edits, best.other = n, asked != first
			}
		}
		if best.edits < math.MaxInt {
			near = append(near, best)
		}
	}
	slices.SortStableFunc(near, func(a, b correction) int {
		other := 0
		if a.other != b.other {
			if other = -1; a.other {
				other = 1
			}
		}
		return cmp.Or(cmp.Compare(a.edits, b.edits), other)
	})
	return near, nil
}

// divide finds the parts of compounds that no document has as a whole. It returns the words that have no part that is known.
func (s searcher) divide(ctx context.Context, q *question, unknown []*asked, filter ArticleFilter) (still []*asked, err error) {
	var parts []*asked
	of := map[string]*asked{}
	for _, w := range unknown {
		for _, split := range search.Split(w.text) {
			for _, part := range split {
				if of[part] == nil {
					p := &asked{text: part}
					for _, l := range append([]string{""}, q.languages...) {
						p.add(alternative{SearchTerm{Text: search.Stem(l, part)}, ofPart, true})
					}
					of[part], parts = p, append(parts, p)
				}
			}
		}
	}
	if len(parts) == 0 {
		return unknown, nil
	}
	if err := s.read(ctx, parts, filter); err != nil {
		return nil, err
	}
	var words []*asked
	for _, w := range q.words {
		found := bestParts(w, of)
		if !slices.Contains(unknown, w) || len(found) == 0 {
			words = append(words, w)
			if slices.Contains(unknown, w) {
				still = append(still, w)
			}
			continue
		}
		words = append(words, found...)
	}
	q.words = words
	return still, nil
}

// bestParts returns the known parts of a word: two if there are, otherwise the longest one.
func bestParts(w *asked, of map[string]*asked) (best []*asked) {
	most := 0
	for _, split := range search.Split(w.text) {
		var found []*asked
		length := 0
		for _, part := range split {
			if p := of[part]; p != nil && len(p.weights) > 0 {
				found = append(found, p)
				length += utf8.RuneCountInString(part)
			}
		}
		if len(found) == 1 && 5*length < 2*utf8.RuneCountInString(w.text) {
			continue // the rest may be anything
		}
		if length += 100 * len(found); len(found) > 0 && length > most {
			best, most = found, length
		}
	}
	return best
}

// measure finds out how rare the words are.
func (s searcher) measure(ctx context.Context, q *question) error {
	var common []string
	for _, w := range q.words {
		if w.cut {
			for _, a := range w.alternatives {
				if a.main && !slices.Contains(common, a.term.Text) {
					common = append(common, a.term.Text)
				}
			}
		}
	}
	documents, each, err := s.index.Frequencies(ctx, common, maxCounted)
	if err != nil {
		return err
	}
	for _, w := range q.words {
		n := int64(len(w.weights))
		if w.cut {
			for _, a := range w.alternatives {
				if i := slices.Index(common, a.term.Text); a.main && i >= 0 {
					n = max(n, each[i])
				}
			}
		}
		all := float64(max(documents, n))
		w.rarity = math.Log(1 + (all-float64(n)+.5)/(float64(n)+.5))
	}
	return nil
}

// candidates returns the documents that are worth ranking, with all of their weights.
func (s searcher) candidates(ctx context.Context, q *question) ([]int64, error) {
	scores := map[int64]int64{}
	var cut []SearchTerm
	for _, w := range q.words {
		for id := range w.weights {
			scores[id] = 0
		}
		if w.cut {
			for _, a := range w.alternatives {
				cut = append(cut, a.term)
			}
		}
	}
	for id := range scores {
		scores[id] = q.score(id)
	}
	documents := slices.SortedFunc(maps.Keys(scores), func(a, b int64) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b)) })
	documents = documents[:min(len(documents), maxCandidates)]
	if len(cut) == 0 || len(q.words) == 1 || len(documents) == 0 {
		return documents, nil
	}
	found, err := s.index.PostingsAmong(ctx, documents, cut)
	if err != nil {
		return nil, err
	}
	for _, w := range q.words {
		for _, a := range w.alternatives {
			for _, p := range found {
				if w.cut && (p.Term == a.term.Text || a.term.Prefix && strings.HasPrefix(p.Term, a.term.Text)) {
					w.put(a, p)
				}
			}
		}
	}
	return documents, nil
}

// score says how well a document answers the question: by each word as it is rare, and more if it has all of them.
func (q *question) score(document int64) int64 {
	var sum, has, all float64
	for _, w := range q.words {
		weight := w.weights[document]
		sum += w.rarity * weight
		if len(w.weights) > 0 {
			all += w.rarity
			if weight > 0 {
				has += w.rarity
			}
		}
	}
	if all == 0 {
		return 0
	}
	return int64(math.Round(100 * sum * (.6 + .4*has/all)))
}
