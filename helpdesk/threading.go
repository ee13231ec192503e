package helpdesk

import (
	"context"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// Rules of threading, as Threading.Rule names them.
const (
	RuleToken      = "token"      // sent to an address with a genuine reply token
	RuleReferences = "references" // refers to a message of the conversation, and its sender is a participant
	RuleColleague  = "colleague"  // like references, but a colleague of its sender is a participant
	RuleReport     = "report"     // reports on a message of the conversation
	RuleNew        = "new"        // none of the others
)

// Rules for moves by members, as Move.Rule names them.
const (
	RuleSplit    = "split"    // part of a conversation became a new one
	RuleRethread = "rethread" // moved alone
	RuleMerge    = "merge"    // its conversation was merged into another
)

// match is the conversation that a message belongs to; the zero conversation means a new one.
type match struct {
	conversation   Conversation
	answersForward bool
	why            Threading
	thread         int64 // conversation that it refers to but could not join; 0: none
	parent         int64 // interaction of the conversation that it replies to; 0: unknown
}

// thread finds the conversation that a message replies to: by a reply token, then by its references to messages of the same
// mailbox. Whoever was forwarded a message knows its Message-ID, so for references the sender must be a participant. A
// message with a doubtful sender joins neither way, see suspicion.
func (f *filing) thread(ctx context.Context, tx Tx, mailbox Mailbox) (match, error) {
	if f.about.interactionID != 0 {
		return f.reportThread(ctx, tx)
	}
	var m match
	byToken, byReferences, err := f.suspicion(ctx, tx)
	if err != nil {
		return match{}, err
	}
	refs := f.candidates()
	m.why.References = len(refs)
	if done, err := f.byToken(ctx, tx, &m, mailbox, refs, byToken); done || err != nil {
		return m, err
	}
	if done, err := f.byReferences(ctx, tx, &m, mailbox, refs, byReferences); done || err != nil {
		return m, err
	}
	m.why.Rule = RuleNew
	return m, nil
}

// candidates returns the Message-IDs that the message refers to, the likeliest first: In-Reply-To, then the newest
// References.
func (f *filing) candidates() []string {
	var ids []string
	for _, id := range slices.Backward(f.mail.InReplyTo) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, id := range slices.Backward(f.mail.References) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// known returns the mailbox's messages with the given ids, in the order of ids; newest first where senders reused an id.
func (f *filing) known(ctx context.Context, tx Tx, mailbox Mailbox, ids []string) ([]MessageRef, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := messages(ctx, tx, mailbox.ID, ids)
	found = slices.DeleteFunc(found, func(m MessageRef) bool { return m.InteractionID == f.interactionID })
	slices.SortStableFunc(found, func(a, b MessageRef) int {
		return slices.Index(ids, a.MessageID) - slices.Index(ids, b.MessageID)
	})
	return found, err
}

// messages finds messages as Messages of tx does, also by the Message-IDs that relays gave them. Each has the id by which it
// was found.
func messages(ctx context.Context, tx Tx, mailboxID int64, ids []string) ([]MessageRef, error) {
	asked, written := slices.Clone(ids), map[string]string{}
	for _, id := range ids {
		if stored := sending.WithoutRegion(id); stored != id {
			asked, written[stored] = append(asked, stored), id
		}
	}
	found, err := tx.Messages(ctx, mailboxID, asked)
	for n := range found {
		if id, ok := written[found[n].MessageID]; ok {
			found[n].MessageID = id
		}
	}
	return found, err
}

// named returns the conversations of genuine tagged addresses: of reply addresses, and of envelope senders, which automatic
// replies are sent to (RFC 3834 section 4).
func (f *filing) named(ctx context.Context, tx Tx) ([]int64, error) {
	var ids []int64
	if f.token != 0 {
		ids = []int64{f.token}
	}
	for _, address := range slices.Concat(emails(f.mail.DeliveredTo), emails(f.mail.To), emails(f.mail.Cc)) {
		id, genuine := f.svc.tokenConversation(f.accountID, address)
		if one, ok := f.svc.tokenDelivery(f.accountID, address); ok {
			i, err := tx.Interactions().Get(ctx, one.interactionID)
			if err != nil && !fault.Is(err, fault.NotFound) {
				return nil, err
			}
			id, genuine = i.ConversationID, err == nil
		}
		if genuine && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func (f *filing) byToken(ctx context.Context, tx Tx, m *match, mailbox Mailbox, refs []string, suspicion string) (bool, error) {
	named, err := f.named(ctx, tx)
	if err != nil {
		return false, err
	}
	for _, id := range named {
		c, err := tx.Conversations().Lock(ctx, id)
		if fault.Is(err, fault.NotFound) {
			c, err = merged(ctx, tx, id)
		}
		if err != nil && !fault.Is(err, fault.NotFound) {
			return false, err
		}
		// Messages may have moved before the conversation was locked.
		known, err := f.known(ctx, tx, mailbox, refs)
		if err != nil {
			return false, err
		}
		if c, err = f.follow(ctx, tx, mailbox, c, id, known); err != nil {
			return false, err
		}
		m.why.Known, m.why.Token = len(known), id
		switch {
		case c.ID == 0:
			m.refuse(id, "the conversation of the reply token was deleted")
		case c.CustomerEmail == ErasedCustomer:
			m.refuse(c.ID, "its customer was erased")
		case suspicion != "":
			m.refuse(c.ID, suspicion)
			m.refersTo(c.ID)
		default:
			m.conversation, m.why.Rule = c, RuleToken
			for _, ref := range slices.Backward(known) {
				if ref.ConversationID == c.ID {
					m.parent = ref.InteractionID
				}
				m.answersForward = m.answersForward || ref.ConversationID == c.ID && ref.IsForward && f.answers(ref.MessageID)
			}
			return true, nil
		}
	}
	return false, nil
}

// follow finds the conversation that continues the one of a reply token, in case the message replied to was moved out of it.
// c is the current conversation of the rest, zero if that is gone.
func (f *filing) follow(ctx context.Context, tx Tx, mailbox Mailbox, c Conversation, named int64, known []MessageRef) (Conversation, error) {
	if len(known) == 0 || known[0].ConversationID == c.ID {
		return c, nil
	}
	ids := make([]int64, len(known))
	for i, ref := range known {
		ids[i] = ref.InteractionID
	}
	moves, err := tx.Moves(ctx, ids)
	if err != nil {
		return c, err
	}
	for _, ref := range known { // the likeliest first
		if ref.ConversationID == c.ID {
			return c, nil
		}
		left := slices.ContainsFunc(moves, func(m Move) bool {
			return m.InteractionID == ref.InteractionID && (m.FromID == named || m.FromID == c.ID)
		})
		if !left {
			continue
		}
		to, err := f.holder(ctx, tx, mailbox, ref)
		if err == nil {
			return to, nil
		}
		if !fault.Is(err, fault.NotFound) {
			return c, err
		}
	}
	return c, nil
}

// holder locks the conversation that contains something. Until it is locked, others may move it; where returns its current
// conversation.
func holder(ctx context.Context, tx Tx, at int64, where func() (int64, error)) (Conversation, error) {
	for {
		c, err := tx.Conversations().Lock(ctx, at)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return Conversation{}, err
		}
		now, gone := where()
		if gone != nil {
			return Conversation{}, gone
		}
		if now == at {
			return c, err
		}
		at = now
	}
}

// holder locks the conversation that contains a message. If it was deleted in the meantime, it is a NotFound fault.
func (f *filing) holder(ctx context.Context, tx Tx, mailbox Mailbox, ref MessageRef) (Conversation, error) {
	return holder(ctx, tx, ref.ConversationID, func() (int64, error) {
		now, err := messages(ctx, tx, mailbox.ID, []string{ref.MessageID})
		if err != nil {
			return 0, err
		}
		at := slices.IndexFunc(now, func(m MessageRef) bool { return m.InteractionID == ref.InteractionID })
		if at < 0 {
			return 0, fault.Missing("interaction", ref.InteractionID)
		}
		return now[at].ConversationID, nil
	})
}

// merged returns the conversation that a removed one was merged into.
func merged(ctx context.Context, tx Tx, id int64) (Conversation, error) {
	c, err := tx.MergedInto(ctx, id)
	if err != nil {
		return Conversation{}, err
	}
	return tx.Conversations().Lock(ctx, c.ID)
}

// answers reports whether the message replies directly to a Message-ID.
func (f *filing) answers(id string) bool {
	if len(f.mail.InReplyTo) > 0 {
		return slices.Contains(f.mail.InReplyTo, id)
	}
	n := len(f.mail.References)
	return n > 0 && f.mail.References[n-1] == id
}

func (f *filing) byReferences(ctx context.Context, tx Tx, m *match, mailbox Mailbox, ids []string, suspicion string) (bool, error) {
	known, err := f.known(ctx, tx, mailbox, ids)
	if err != nil {
		return false, err
	}
	m.why.Known = len(known)
	sender := []string{mailaddr.Key(f.mail.FirstAuthor().Email)}
	for _, ref := range known {
		if m.refused(ref.ConversationID) {
			continue
		}
		c, err := f.holder(ctx, tx, mailbox, ref)
		if fault.Is(err, fault.NotFound) {
			continue // deleted in the meantime
		}
		if err != nil {
			return false, err
		}
		takesPart, err := tx.Participant(ctx, c.ID, sender)
		if err != nil {
			return false, err
		}
		if f.forOthers {
			m.refuse(c.ID, "its From is the address of a form, a list or a group, and not of who wrote it")
			m.refersTo(c.ID)
			continue
		}
		colleague := ""
		if !takesPart {
			if takesPart, err = f.tagged(ctx, tx, c.ID); err != nil {
				return false, err
			}
		}
		if !takesPart {
			if colleague, err = f.colleague(ctx, tx, c.ID); err != nil {
				return false, err
			}
		}
		if !takesPart && colleague == "" {
			m.refuse(c.ID, "the sender takes no part in it")
			m.refersTo(c.ID)
			continue
		}
		if suspicion != "" {
			m.refuse(c.ID, suspicion)
			m.refersTo(c.ID)
			continue
		}
		m.conversation, m.parent, m.answersForward = c, ref.InteractionID, ref.IsForward && f.answers(ref.MessageID)
		m.why.Rule, m.why.Matched = RuleReferences, ref.MessageID
		if !takesPart {
			m.why.Rule, m.why.Colleague = RuleColleague, colleague
		}
		return true, nil
	}
	return false, nil
}

// maxColleagues limits the participants that are compared.
const maxColleagues = 500

// tagged reports whether the sender is a participant under the same address with another tag (RFC 5233), or with a tag on
// only one of them: people give out ada+shop@example.com and reply as ada@example.com.
func (f *filing) tagged(ctx context.Context, tx Tx, conversationID int64) (bool, error) {
	keys, err := tx.Participants(ctx, conversationID, maxColleagues)
	sender := withoutTag(f.mail.FirstAuthor().Email)
	return sender != "" && slices.ContainsFunc(keys, func(key string) bool { return withoutTag(key) == sender }), err
}

// withoutTag returns the key of an address without its tag.
func withoutTag(address string) string {
	local, domain, found := plain.CutLast(mailaddr.Key(address), "@")
	base, _, _ := strings.Cut(local, "+")
	if !found || base == "" {
		return ""
	}
	return base + "@" + domain
}

// colleague returns a participant with an address of the sender's organization, "" if there is none, since people reply for
// each other. Anyone who was forwarded a message knows its Message-ID, so the sender must be authenticated by its domain,
// which must not be a public mail provider.
func (f *filing) colleague(ctx context.Context, tx Tx, conversationID int64) (string, error) {
	domain := colleagueDomain(f.mail.FirstAuthor().Email)
	if domain == "" || !f.auth.FromAligned || len(f.mail.From) > 1 {
		return "", nil
	}
	keys, err := tx.Participants(ctx, conversationID, maxColleagues)
	if err != nil {
		return "", err
	}
	for _, key := range keys {
		if colleagueDomain(key) == domain {
			return key, nil
		}
	}
	return "", nil
}

// refersTo records the likeliest existing conversation that the message could not join.
func (m *match) refersTo(id int64) {
	if m.thread == 0 {
		m.thread = id
	}
}

func (m *match) refuse(id int64, reason string) {
	if !m.refused(id) && len(m.why.Refused) < 20 {
		m.why.Refused = append(m.why.Refused, RefusedThread{ConversationID: id, Reason: reason})
	}
}

func (m *match) refused(id int64) bool {
	return slices.ContainsFunc(m.why.Refused, func(r RefusedThread) bool { return r.ConversationID == id })
}
