package helpdesk

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
	"github.com/helpwright/helpwright/storage/search"
)

// Limits of the search index. Text beyond them is stored but not searchable.
const (
	MaxSearchText  = 64 << 10  // bytes of the text of one message
	MaxSearchTerms = 256 << 10 // bytes of the distinct terms of one conversation
)

// SearchTerm is a term to search for in the [SearchIndex], or a prefix of one.
type SearchTerm struct {
	Text   string
	Prefix bool
	Or     []search.Term // any of these will do, too
}

// Any returns the term and its alternatives.
func (t SearchTerm) Any() []search.Term {
	return append([]search.Term{{Text: t.Text, Prefix: t.Prefix}}, t.Or...)
}

// queryTerms returns a query's terms; none for an empty query. A non-empty query without terms is not possible: it matches
// nothing.
func queryTerms(query string) (terms []SearchTerm, possible bool) {
	for _, word := range search.Query(query) {
		terms = append(terms, SearchTerm{Text: word[0].Text, Prefix: word[0].Prefix, Or: word[1:]})
	}
	return terms, len(terms) > 0 || query == ""
}

// customerTerms returns the search terms of a customer. People write phone numbers in many ways.
func customerTerms(c Customer) []string {
	parts := []string{c.FirstName, c.LastName, c.Company}
	for _, e := range c.Emails {
		parts = append(parts, e.Email)
	}
	all := search.Marked(search.From, search.Terms(strings.Join(parts, "\n")))
	for _, p := range c.Phones {
		parts, all = append(parts, p.Phone), append(all, search.Phone(p.Phone)...)
	}
	all = append(all, search.Terms(strings.Join(parts, "\n"))...)
	slices.Sort(all)
	return slices.Compact(all)
}

// indexCustomer sets the search terms of a customer who has no conversations yet.
func indexCustomer(ctx context.Context, tx Tx, c Customer) error {
	return tx.SetCustomerTerms(ctx, c.ID, customerTerms(c))
}

// spreadPiece is how many conversations get the terms of their customer in one transaction.
const spreadPiece = 200

// reindexCustomer sets the search terms of a customer who may have conversations. The latest of these get them at once. A job
// gives them to the others, because there may be very many, some outside the transaction's scope.
func (s *Service) reindexCustomer(ctx context.Context, tx Tx, in Scope, c Customer) error {
	if err := indexCustomer(ctx, tx, c); err != nil {
		return err
	}
	next, err := spreadTerms(ctx, tx, c.ID, nil)
	if err != nil || next == nil && in.Mailboxes == nil {
		return err
	}
	return tx.Enqueue(ctx, storage.Job{Kind: JobIndexCustomer, AccountID: in.AccountID, Subject: c.ID, RunAt: s.now()})
}

// IndexCustomer runs a [JobIndexCustomer] job: it gives a customer's search terms to the customer's conversations, 200 in each
// transaction. It is idempotent.
func (j Jobs) IndexCustomer(ctx context.Context, job storage.ClaimedJob) error {
	var from *storage.Position
	for done := false; !done; {
		var next *storage.Position
		err := j.svc.cfg.Store.InTx(ctx, Scope{AccountID: job.AccountID}, func(ctx context.Context, tx Tx) (err error) {
			next, err = spreadTerms(ctx, tx, job.Subject, from)
			return err
		})
		if fault.Is(err, fault.NotFound) {
			return nil // the account was deleted
		}
		if err != nil {
			return err
		}
		from, done = next, next == nil
	}
	return nil
}

// spreadTerms gives the terms of a customer to some of the customer's conversations, latest first from a position on. It returns
// where to continue; nil: there are no more.
func spreadTerms(ctx context.Context, tx Tx, customerID int64, from *storage.Position) (*storage.Position, error) {
	of := ConversationOrder{ConversationFilter: ConversationFilter{CustomerID: customerID}, Sort: ByCreated}
	some, err := tx.Conversations().List(ctx, of, storage.Seek{Desc: true, From: from, Limit: spreadPiece})
	if err != nil || len(some) == 0 {
		return nil, err
	}
	ids := make([]int64, len(some))
	for n, c := range some {
		ids[n] = c.ID
	}
	if err := tx.SpreadCustomerTerms(ctx, customerID, ids); err != nil || len(some) < spreadPiece {
		return nil, err
	}
	last := some[len(some)-1]
	return &storage.Position{Key: last.SortKey(ByCreated), ID: last.ID}, nil
}

// indexMore adds interactions to a conversation's search terms. The caller has locked the conversation.
func indexMore(ctx context.Context, tx Tx, c Conversation, said ...Interaction) error {
	var index indexing
	if err := index.add(ctx, tx, c, said...); err != nil {
		return err
	}
	return index.write(ctx, tx)
}

// indexing collects a transaction's index changes and writes them at once, because separate index writes are expensive. The
// zero value is empty.
type indexing struct {
	customers     []Customer
	conversations map[int64]*indexed
}

// indexed are a conversation's terms.
type indexed struct {
	*termSet
	written int // number of terms already in the store
}

// addConversation adds a new conversation.
func (x *indexing) addConversation(conversationID int64) {
	x.set(conversationID, &indexed{termSet: newTermSet(nil)})
}

func (x *indexing) set(conversationID int64, terms *indexed) {
	if x.conversations == nil {
		x.conversations = map[int64]*indexed{}
	}
	x.conversations[conversationID] = terms
}

// add adds interactions to a conversation's terms. The caller has locked the conversation.
func (x *indexing) add(ctx context.Context, tx Tx, c Conversation, said ...Interaction) error {
	terms := x.conversations[c.ID]
	if terms == nil {
		known, err := tx.SearchTerms(ctx, c.ID)
		if err != nil {
			return err
		}
		terms = &indexed{newTermSet(known), len(known)}
		x.set(c.ID, terms)
	}
	terms.addSubject(c.Subject)
	for _, i := range said {
		terms.addInteraction(i)
	}
	return nil
}

// write writes the collected changes: the customers first, because conversations include their terms.
func (x *indexing) write(ctx context.Context, tx Tx) error {
	for _, c := range x.customers {
		if err := indexCustomer(ctx, tx, c); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(x.conversations)) {
		terms := x.conversations[id]
		if len(terms.seen) == terms.written && terms.written > 0 {
			continue
		}
		if err := tx.SetSearchTerms(ctx, id, terms.sorted()); err != nil {
			return err
		}
	}
	return nil
}

// indexChange updates a conversation's terms after an interaction was changed. What is not posted yet has none. The caller has
// locked the conversation.
func indexChange(ctx context.Context, tx Tx, c Conversation, old, i Interaction, does transition) error {
	switch {
	case i.Status == StatusDraft:
		return nil
	case old.Status == StatusDraft:
		return indexMore(ctx, tx, c, i)
	case does.edited:
		return reindex(ctx, tx, c)
	}
	return nil
}

// reindex recomputes a conversation's terms, after something in it was changed or removed. The caller has locked the
// conversation.
func reindex(ctx context.Context, tx Tx, c Conversation) error {
	terms := newTermSet(nil)
	terms.addSubject(c.Subject)
	seek := storage.Seek{Limit: 20} // bodies may be large
	for {
		batch, err := tx.Interactions().List(ctx, InteractionFilter{ConversationID: c.ID}, seek)
		if err != nil {
			return err
		}
		for _, i := range batch {
			terms.addInteraction(i)
		}
		if len(batch) < seek.Limit || terms.size > MaxSearchTerms {
			return tx.SetSearchTerms(ctx, c.ID, terms.sorted())
		}
		last := batch[len(batch)-1].position()
		seek.From = &last
	}
}

// termSet collects the terms of a conversation up to MaxSearchTerms.
type termSet struct {
	seen map[string]bool
	size int
}

func newTermSet(known []string) *termSet {
	s := &termSet{seen: make(map[string]bool, len(known))}
	s.insert(known)
	return s
}

func (s *termSet) insert(terms []string) {
	for _, t := range terms {
		if s.size > MaxSearchTerms {
			return
		}
		if !s.seen[t] {
			s.seen[t] = true
			s.size += len(t)
		}
	}
}

func (s *termSet) add(text string) { s.insert(search.Terms(text)) }

func (s *termSet) addSubject(subject string) {
	s.add(subject)
	s.insert(search.Marked(search.Subject, search.Terms(subject)))
}

// addPeople adds names and addresses that are found by an operator.
func (s *termSet) addPeople(in search.Operator, addresses []string, named ...[]mailaddr.Address) {
	parts := slices.Clone(addresses)
	for _, a := range slices.Concat(named...) {
		parts = append(parts, a.Name, a.Email)
	}
	s.insert(search.Marked(in, search.Terms(strings.Join(parts, "\n"))))
}

// addInteraction adds what an interaction says, and the people it is from and to. A draft is said to nobody yet.
func (s *termSet) addInteraction(i Interaction) {
	if i.Status == StatusDraft {
		return
	}
	s.addPeople(search.From, []string{i.CustomerEmail}, i.Mail.From)
	s.addPeople(search.To, slices.Concat(i.To, i.Cc, i.Bcc), i.Mail.To, i.Mail.Cc)
	text := mailhtml.Text(i.Body)
	if len(text) > MaxSearchText {
		text = plain.Text(text[:MaxSearchText])
	}
	s.add(strings.Join([]string{i.Subject, i.CustomerEmail, text}, "\n"))
}

func (s *termSet) sorted() []string {
	all := make([]string, 0, len(s.seen))
	for t := range s.seen {
		all = append(all, t)
	}
	slices.Sort(all)
	return all
}
