package helpdesk

import (
	"context"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/search"
)

// Limits of a search.
const (
	// MaxFound is how many conversations a search counts.
	MaxFound = 1000
	// MaxPhraseMessages is how many messages of a conversation a search reads to find a phrase, the last ones.
	MaxPhraseMessages = 10

	snippetMessages = 5   // of a conversation, the last ones, from which its snippet is taken
	phraseBatch     = 25  // conversations whose messages are read at once
	phraseMessages  = 400 // after so many messages, a page with a phrase ends
	maxCorrected    = 2   // words of a query that may be misspelled
	maxCorrections  = 8   // spellings of a word that are tried
	correctionsSeen = 100 // conversations with a spelling that count for it
)

// SearchResults is a page of conversations that a search found.
type SearchResults struct {
	storage.Page[Hit]
	// Count is the number of conversations on all pages, and AtLeast reports that there may be more: of MaxFound, or of those on a
	// page with a phrase. Only the first page has it.
	Count   int
	AtLeast bool
	// Corrected is the query that was answered in place of the given one, which finds nothing; "" if it was not replaced.
	Corrected string
	// Unread reports that long conversations of the page were not searched for a phrase to their beginning.
	Unread bool
	Words  [][]search.Term // for [search.Marks] in other texts
}

// Hit is a conversation that a search found.
type Hit struct {
	MarkedConversation
	Highlight Highlight
}

// Highlight shows why a conversation was found. Both fields are HTML: escaped text with the matches in mark elements.
type Highlight struct {
	Subject string
	Snippet string // a passage of a message; "" when none of the last ones matches
}

// Search finds conversations as [Conversations.List] does, with the passages that match. Phrases are looked for in the subject, the
// customer and the last messages, and a page on which many were looked through may have fewer conversations than asked for,
// or none, and yet a Next cursor. Spam is left out unless it is asked for. When nothing is found, words that no conversation has
// are replaced by those that differ by one character. It needs conversations.view, interactions.view, and views.view to apply a
// view.
func (d Conversations) Search(ctx context.Context, q ConversationQuery, req storage.PageRequest) (SearchResults, error) {
	if _, err := d.guard.Read(identity.ConversationsView); err != nil {
		return SearchResults{}, err
	}
	r, err := d.guard.Read(identity.InteractionsView)
	if err != nil {
		return SearchResults{}, err
	}
	in, err := d.inquire(ctx, r, q)
	if err != nil {
		return SearchResults{}, err
	}
	found, err := d.findConversations(ctx, in, req)
	if err != nil || len(found.Items) > 0 || found.Next != "" || len(in.asked) == 0 {
		return found, err
	}
	if req.Cursor != "" { // a later page may be empty, too
		first, err := d.lists(in.reader).Conversations().List(ctx, in.order, storage.Seek{Limit: 1})
		if err != nil || len(first) > 0 {
			return found, err
		}
	}
	corrected, err := d.correct(ctx, in, q.Query)
	if err != nil || corrected == "" {
		return found, err
	}
	q.Query = corrected
	if in, err = d.inquire(ctx, r, q); err != nil {
		return found, err
	}
	better, err := d.findConversations(ctx, in, req)
	if err != nil || len(better.Items) == 0 {
		return found, err
	}
	better.Corrected = corrected
	return better, nil
}

// findConversations reads a page of the conversations that are asked for.
func (d *desk) findConversations(ctx context.Context, in inquiry, req storage.PageRequest) (SearchResults, error) {
	out := SearchResults{Words: in.words}
	if in.nothing {
		return out, nil
	}
	if !in.order.Spam.IsSet() {
		in.order.Spam = storage.Some(false)
	}
	var page storage.Page[MarkedConversation]
	var err error
	if len(in.phrases) > 0 {
		page, out.Unread, err = d.findPhrases(ctx, in, req)
	} else {
		of := func(c MarkedConversation) Conversation { return c.Conversation }
		page, err = pageOf(req, in, of, func(seek storage.Seek) ([]MarkedConversation, error) {
			return d.listMarked(ctx, d.lists(in.reader), in.order, seek)
		})
	}
	if err != nil {
		return out, err
	}
	if out.Next, out.Prev = page.Next, page.Prev; req.Cursor == "" {
		if out.Count, out.AtLeast, err = d.countFound(ctx, in, page); err != nil {
			return out, err
		}
	}
	out.Items, err = d.highlight(ctx, in, page.Items)
	return out, err
}

// countFound counts the conversations that are asked for, of which the first page is given.
func (d *desk) countFound(ctx context.Context, in inquiry, first storage.Page[MarkedConversation]) (n int, atLeast bool, err error) {
	if first.Next == "" || len(in.phrases) > 0 {
		return len(first.Items), first.Next != "", nil
	}
	all, err := d.lists(in.reader).Conversations().List(ctx, in.order, storage.Seek{Desc: !in.ascending, Limit: MaxFound + 1})
	return min(len(all), MaxFound), len(all) > MaxFound, err
}

// findPhrases reads a page of the conversations whose texts have the phrases. It reads some messages at once, and ends the page
// early when it has read many.
func (d *desk) findPhrases(ctx context.Context, in inquiry, req storage.PageRequest) (page storage.Page[MarkedConversation], unread bool, err error) {
	var stopped *storage.Position
	of := func(c MarkedConversation) Conversation { return c.Conversation }
	page, err = pageOf(req, in, of, func(seek storage.Seek) (found []MarkedConversation, err error) {
		limit, read := seek.Limit, 0
		for seek.Limit, stopped = phraseBatch, nil; ; {
			batch, err := d.listMarked(ctx, d.lists(in.reader), in.order, seek)
			if err != nil || len(batch) == 0 {
				return found, err
			}
			t, err := d.textsOf(ctx, in, batch)
			if err != nil {
				return nil, err
			}
			for _, c := range batch {
				switch {
				case t.have(c.Conversation, in.phrases):
					found = append(found, c)
				case len(t.passages[c.ID]) == MaxPhraseMessages:
					unread = true
				}
				if len(found) == limit {
					return found, nil
				}
			}
			last := batch[len(batch)-1].Conversation
			seek.From = &storage.Position{Key: last.SortKey(in.order.Sort), ID: last.ID}
			if len(batch) < phraseBatch {
				return found, nil
			}
			if read += t.read; read >= phraseMessages {
				stopped = seek.From
				return found, nil
			}
		}
	})
	page.Prev = "" // whoever goes back would look through the same conversations from their other end
	if stopped != nil && page.Next == "" {
		page.Next = storage.CursorAt(*stopped, !in.ascending)
	}
	return page, unread, err
}

// texts are what conversations say: their customers, and plain texts of their last messages.
type texts struct {
	passages  map[int64][]string // by conversation
	customers map[int64]string
	read      int // messages
}

// textsOf reads the texts in which phrases are looked for; none if all of these are of the subject.
func (d *desk) textsOf(ctx context.Context, in inquiry, list []MarkedConversation) (texts, error) {
	t := texts{customers: map[int64]string{}}
	if !slices.ContainsFunc(in.phrases, func(c search.Condition) bool { return c.Operator == search.Anywhere }) {
		return t, nil
	}
	var people []int64
	for _, c := range list {
		people = append(people, c.CustomerID)
	}
	customers, err := in.reader.CustomersByID(ctx, people)
	if err != nil {
		return t, err
	}
	for _, c := range customers {
		parts := []string{strings.TrimSpace(c.FirstName + " " + c.LastName), c.Company}
		for _, e := range c.Emails {
			parts = append(parts, e.Email)
		}
		t.customers[c.ID] = strings.Join(parts, "\n")
	}
	t.passages, t.read, err = passagesOf(ctx, in.reader, list, MaxPhraseMessages)
	return t, err
}

// passagesOf reads plain texts of the last messages of conversations, the last one first.
func passagesOf(ctx context.Context, r Reader, list []MarkedConversation, n int) (of map[int64][]string, read int, err error) {
	of, ids := map[int64][]string{}, make([]int64, len(list))
	for i, c := range list {
		ids[i] = c.ID
	}
	all, err := r.PassagesByID(ctx, ids, n)
	for _, p := range all {
		of[p.ConversationID] = append(of[p.ConversationID], strings.TrimSpace(mailhtml.Text(p.Body)))
	}
	return of, len(all), err
}

// have reports whether a conversation has the phrases that it should have, and no others.
func (t texts) have(c Conversation, phrases []search.Condition) bool {
	return !slices.ContainsFunc(phrases, func(p search.Condition) bool {
		within := func(text string) bool { return search.Contains(text, p.Value) }
		has := within(c.Subject)
		if p.Operator == search.Anywhere {
			has = has || within(t.customers[c.CustomerID]) || slices.ContainsFunc(t.passages[c.ID], within)
		}
		return has == p.Not
	})
}

// highlight adds the passages that match.
func (d *desk) highlight(ctx context.Context, in inquiry, list []MarkedConversation) ([]Hit, error) {
	var passages map[int64][]string
	if len(in.words) > 0 && len(list) > 0 {
		var err error
		if passages, _, err = passagesOf(ctx, in.reader, list, snippetMessages); err != nil {
			return nil, err
		}
	}
	hits := make([]Hit, len(list))
	for i, c := range list {
		hits[i] = Hit{c, Highlight{Subject: search.Highlight(c.Subject, search.Marks(c.Subject, in.words)), Snippet: snippet(passages[c.ID], in.words)}}
	}
	return hits, nil
}

// snippet returns the passage with the most of the words; "" if none has any.
func snippet(passages []string, words [][]search.Term) string {
	best, most := "", 0
	for _, text := range passages {
		n := 0
		for _, word := range words {
			if len(search.Marks(text, [][]search.Term{word})) > 0 {
				n++
			}
		}
		if n > most {
			best, most = search.Snippet(text, search.Marks(text, words)), n
		}
		if n == len(words) {
			break
		}
	}
	return best
}

// correct returns the query with the words that no conversation has replaced by those that most conversations have which differ by
// one character; "" if there are none, or too many such words.
func (d *desk) correct(ctx context.Context, in inquiry, query string) (string, error) {
	near := map[string][]string{} // by word
	var all []string
	for _, t := range in.asked {
		word := search.Unmarked(t.Text)
		some := search.Neighbours(word)
		for i, s := range some {
			some[i] = strings.TrimSuffix(t.Text, word) + s
		}
		near[t.Text], all = some, append(append(all, some...), t.Text)
	}
	known, err := in.reader.KnownTerms(ctx, all)
	if err != nil {
		return "", err
	}
	is := func(t search.Term) bool { _, is := slices.BinarySearch(known, t.Text); return is }
	var rest []SearchTerm
	for _, t := range in.asked {
		if is(t) {
			rest = append(rest, SearchTerm{Text: t.Text})
		}
	}
	corrected, words := query, 0
	for _, t := range in.asked {
		if is(t) || len(near[t.Text]) == 0 {
			continue
		}
		if words++; words > maxCorrected {
			return "", nil
		}
		best, err := d.commonest(ctx, in.reader, known, near[t.Text], rest)
		if err != nil {
			return "", err
		}
		if best != "" {
			corrected = respelled(corrected, search.Unmarked(t.Text), search.Unmarked(best))
		}
	}
	if corrected == query {
		return "", nil
	}
	return corrected, nil
}

// commonest returns the known one of some spellings that most conversations within the member's reach have together with the
// rest of the words; "" if there is none.
func (d *desk) commonest(ctx context.Context, r Reader, known, spellings []string, rest []SearchTerm) (string, error) {
	best, most, tried := "", 0, 0
	for _, s := range spellings {
		if _, is := slices.BinarySearch(known, s); !is || tried == maxCorrections {
			continue
		}
		tried++
		order := ConversationOrder{ConversationFilter: ConversationFilter{Terms: append(slices.Clone(rest), SearchTerm{Text: s}), Spam: storage.Some(false)}, Sort: ByUpdated}
		found, err := r.Conversations().List(ctx, order, storage.Seek{Desc: true, Limit: correctionsSeen})
		if err != nil {
			return "", err
		}
		if len(found) > most {
			best, most = s, len(found)
		}
	}
	return best, nil
}

// respelled returns a query with another word in place of one.
func respelled(query, word, by string) string {
	marks := search.Marks(query, [][]search.Term{{{Text: word}}})
	for _, m := range slices.Backward(marks) {
		query = query[:m.Begin] + by + query[m.End:]
	}
	return query
}
