package helpdesk

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/storage/fault"
)

// Rules of threading, as Threading.Rule names them.
const (
	RuleToken      = "token"      // it was sent to an address with a genuine reply token
	RuleReferences = "references" // it refers to a mail of the conversation, and its sender takes part
	RuleNew        = "new"        // neither
)

// Rules by which members move interactions, as Move.Rule names them.
const (
	RuleSplit    = "split"    // its part of a conversation became one of its own
	RuleRethread = "rethread" // it was moved alone
	RuleMerge    = "merge"    // its conversation was merged into another
)

// match is the conversation a mail belongs to; the zero conversation is a new one.
type match struct {
	conversation   Conversation
	answersForward bool
	why            Threading
}

// thread finds the conversation that a mail answers: by a reply token, then by its
// references to mails of the same mailbox. References are public to everybody who
// got the mail on, so their sender must take part in the conversation. A sender who
// may be another joins neither way, see suspicion.
func (f *filing) thread(ctx context.Context, tx Tx, mailbox Mailbox) (match, error) {
	refs := f.candidates()
	known, err := f.known(ctx, tx, mailbox, refs)
	if err != nil {
		return match{}, err
	}
	var m match
	byToken, byReferences, err := f.suspicion(ctx, tx)
	if err != nil {
		return match{}, err
	}
	if done, err := f.byToken(ctx, tx, &m, known, byToken); done || err != nil {
		return m, err
	}
	if done, err := f.byReferences(ctx, tx, &m, refs, known, byReferences); done || err != nil {
		return m, err
	}
	m.why.Rule = RuleNew
	return m, nil
}

// candidates are the ids that the mail refers to, the likeliest first: what it
// answers, then the newest of its references.
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

// known finds the mails of the mailbox among ids; the newest wins where senders
// reused an id.
func (f *filing) known(ctx context.Context, tx Tx, mailbox Mailbox, ids []string) (map[string][]MessageRef, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := tx.Messages(ctx, mailbox.ID, ids)
	byID := map[string][]MessageRef{}
	for _, m := range found {
		byID[m.MessageID] = append(byID[m.MessageID], m)
	}
	return byID, err
}

func (f *filing) byToken(ctx context.Context, tx Tx, m *match, known map[string][]MessageRef, suspicion string) (bool, error) {
	for _, address := range slices.Concat(f.mail.DeliveredTo, emails(f.mail.To), emails(f.mail.Cc)) {
		id, genuine := f.svc.tokenConversation(f.accountID, address)
		if !genuine {
			continue
		}
		c, err := tx.ConversationForUpdate(ctx, id)
		if fault.Is(err, fault.NotFound) {
			c, err = merged(ctx, tx, id)
		}
		if fault.Is(err, fault.NotFound) {
			m.refuse(id, "the conversation of the reply token was deleted")
			continue
		}
		if err != nil {
			return false, err
		}
		if suspicion != "" {
			m.refuse(c.ID, suspicion)
			continue
		}
		m.conversation, m.why.Rule = c, RuleToken
		for _, refs := range known {
			for _, ref := range refs {
				m.answersForward = m.answersForward || ref.ConversationID == c.ID && ref.IsForward && f.answers(ref.MessageID)
			}
		}
		return true, nil
	}
	return false, nil
}

// merged finds the conversation that one which is gone was merged into.
func merged(ctx context.Context, tx Tx, id int64) (Conversation, error) {
	c, err := tx.MergedInto(ctx, id)
	if err != nil {
		return Conversation{}, err
	}
	return tx.ConversationForUpdate(ctx, c.ID)
}

// answers reports whether the mail is a direct answer to a Message-ID.
func (f *filing) answers(id string) bool {
	if len(f.mail.InReplyTo) > 0 {
		return slices.Contains(f.mail.InReplyTo, id)
	}
	n := len(f.mail.References)
	return n > 0 && f.mail.References[n-1] == id
}

func (f *filing) byReferences(ctx context.Context, tx Tx, m *match, ids []string, known map[string][]MessageRef, suspicion string) (bool, error) {
	sender := []string{EmailKey(f.mail.From.Email)}
	for _, id := range ids {
		for _, ref := range known[id] {
			if m.refused(ref.ConversationID) {
				continue
			}
			c, err := tx.ConversationForUpdate(ctx, ref.ConversationID)
			if err != nil {
				return false, err
			}
			takesPart, err := tx.Participant(ctx, c.ID, sender)
			if err != nil {
				return false, err
			}
			if !takesPart {
				m.refuse(c.ID, "the sender takes no part in it")
				continue
			}
			if suspicion != "" {
				m.refuse(c.ID, suspicion)
				continue
			}
			m.conversation, m.answersForward = c, ref.IsForward && f.answers(ref.MessageID)
			m.why.Rule, m.why.Matched = RuleReferences, id
			return true, nil
		}
	}
	return false, nil
}

func (m *match) refuse(id int64, reason string) {
	if !m.refused(id) && len(m.why.Refused) < 20 {
		m.why.Refused = append(m.why.Refused, RefusedThread{ConversationID: id, Reason: reason})
	}
}

func (m *match) refused(id int64) bool {
	return slices.ContainsFunc(m.why.Refused, func(r RefusedThread) bool { return r.ConversationID == id })
}
