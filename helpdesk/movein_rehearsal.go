package helpdesk

import (
	"context"
	"time"
)

// Rehearsal returns a handle for a dry run: File, Customers and Replies return what a real import would return but
// change nothing. It remembers what it would have created, so use one per import. The ids of such objects are
// negative.
func (m *MoveIn) Rehearsal() *MoveIn {
	r := *m
	r.rehearsal = &rehearsal{customers: map[string]Customer{}, updated: map[int64]time.Time{}, messages: map[messageKey]int64{}}
	return &r
}

// customerBook finds and creates customers, in a transaction or a rehearsal.
type customerBook interface {
	CustomerByEmail(ctx context.Context, key string) (Customer, error)
	InsertCustomer(ctx context.Context, c *Customer) error
	UpdateCustomer(ctx context.Context, c *Customer) error
}

// rehearsal records what an import would have created so far.
type rehearsal struct {
	lastID    int64
	customers map[string]Customer // created or changed, by mailaddr.Key
	updated   map[int64]time.Time // UpdatedAt of the conversations created or changed
	messages  map[messageKey]int64
	replies   map[string]bool // keys of the taken names; nil: not loaded yet
}

// messageKey is a prefix of a message's identity hash, kept short because there may be millions.
type messageKey [16]byte

// newID returns an id for something that is not stored.
func (h *rehearsal) newID() int64 {
	h.lastID--
	return h.lastID
}

// recall adds the messages that the rehearsal filed to those stored.
func (h *rehearsal) recall(identities [][]byte, known map[string]int64) {
	if h == nil {
		return
	}
	for _, identity := range identities {
		if id, filed := h.messages[messageKey(identity)]; filed {
			known[string(identity)] = id
		}
	}
}

// takeReplies reports which saved replies would be created.
func (h *rehearsal) takeReplies(ctx context.Context, r Reader, replies []SavedReply) ([]bool, error) {
	if h.replies == nil {
		names, err := sharedReplies(ctx, r)
		if err != nil {
			return nil, err
		}
		h.replies = names
	}
	return newReplies(h.replies, replies), nil
}

// rehearse returns the result that filing would have.
func (p *past) rehearse(ctx context.Context, r Reader) ([]ImportResult, error) {
	p.customers = map[string]Customer{}
	if err := p.load(ctx, r); err != nil {
		return nil, err
	}
	if err := p.prepare(ctx); err != nil {
		return nil, err
	}
	for _, c := range p.conversations {
		result, err := p.fileOne(ctx, pastRehearsal{rehearsed{p.rehearsal, r}, p}, c)
		if err != nil {
			return nil, err
		}
		p.results = append(p.results, result)
	}
	return p.results, nil
}

// rehearsed combines what is stored with what the rehearsal would have stored.
type rehearsed struct {
	*rehearsal
	r Reader
}

// CustomerByEmail implements [customerBook].
func (h rehearsed) CustomerByEmail(ctx context.Context, key string) (Customer, error) {
	if c, known := h.customers[key]; known {
		return c, nil
	}
	return h.r.CustomerByEmail(ctx, key)
}

// InsertCustomer implements [customerBook].
func (h rehearsed) InsertCustomer(ctx context.Context, c *Customer) error {
	c.ID = h.newID()
	return h.UpdateCustomer(ctx, c)
}

// UpdateCustomer implements [customerBook].
func (h rehearsed) UpdateCustomer(_ context.Context, c *Customer) error {
	kept := c.copy()
	for _, e := range c.Emails {
		h.customers[e.Key] = kept
	}
	return nil
}

// pastRehearsal rehearses the filing of conversations.
type pastRehearsal struct {
	rehearsed
	p *past
}

// conversation implements [pastPlace].
func (h pastRehearsal) conversation(ctx context.Context, id int64) (Conversation, error) {
	if at, known := h.updated[id]; known {
		return Conversation{ID: id, UpdatedAt: at}, nil
	}
	return h.r.Conversations().Get(ctx, id)
}

// file implements [pastPlace].
func (h pastRehearsal) file(_ context.Context, work *pastWork) error {
	if work.created {
		work.c.ID = h.newID()
	}
	h.updated[work.c.ID] = work.c.UpdatedAt
	for _, m := range work.fresh {
		h.messages[messageKey([]byte(h.p.identity(work.in, m)))] = work.c.ID
	}
	return nil
}
