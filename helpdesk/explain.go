package helpdesk

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
)

// ThreadingExplanation explains why an interaction is in its conversation. It omits conversations that the member does not
// reach.
type ThreadingExplanation struct {
	// Rule is the reason for its current place: one of the threading rules, or RuleSplit, RuleRethread or RuleMerge if it was
	// moved; "" if it was written there.
	Rule           string
	ConversationID int64
	Filed          Threading // result of the threading rules; zero if it did not arrive by mail
	Moves          []Move    // later moves, in order; FromID and IntoID are 0 if out of reach
	AutoSubmitted  bool
	Authentication ledger.Authentication
	// Words explain it in English sentences.
	Words []string
}

// ExplainThreading explains why an interaction is in its conversation: the rule that matched, the rejected candidates and
// the reasons, the authentication of its sender, and later moves. It needs interactions.view.
func (d Interactions) ExplainThreading(ctx context.Context, conversationID, id int64) (ThreadingExplanation, error) {
	i, err := d.Get(ctx, conversationID, id)
	if err != nil {
		return ThreadingExplanation{}, err
	}
	r, err := d.guard.Read(identity.InteractionsView)
	if err != nil {
		return ThreadingExplanation{}, err
	}
	moves, err := r.Moves(ctx, []int64{id})
	if err != nil {
		return ThreadingExplanation{}, err
	}
	out := ThreadingExplanation{
		Rule: i.Threading.Rule, ConversationID: conversationID, Filed: i.Threading, Moves: d.concealMoves(moves, conversationID),
		AutoSubmitted: i.AutoSubmitted, Authentication: i.Authentication,
	}
	if len(moves) > 0 {
		out.Rule = moves[len(moves)-1].Rule
	}
	out.Words = out.words()
	return out, nil
}

// conceal removes references to conversations that the member does not reach from interactions.
func (d *desk) conceal(ctx context.Context, r Reader, all []Interaction) error {
	var ids []int64
	for _, i := range all {
		if i.Threading.Token != 0 {
			ids = append(ids, i.Threading.Token)
		}
		for _, refused := range i.Threading.Refused {
			ids = append(ids, refused.ConversationID)
		}
	}
	if d.scope.Mailboxes == nil || len(ids) == 0 {
		return nil
	}
	found, err := r.Conversations().ByIDs(ctx, sortedSet(ids))
	if err != nil {
		return err
	}
	reached := map[int64]bool{}
	for _, c := range found {
		reached[c.ID] = true
	}
	for n := range all {
		t := &all[n].Threading
		if !reached[t.Token] {
			t.Token = 0
		}
		t.Refused = slices.DeleteFunc(slices.Clone(t.Refused), func(r RefusedThread) bool { return !reached[r.ConversationID] })
	}
	return nil
}

// concealed is conceal for a method that returns one interaction.
func (d *desk) concealed(ctx context.Context, p identity.Permission, i Interaction, err error) (Interaction, error) {
	if err != nil {
		return Interaction{}, err
	}
	r, err := d.guard.Read(p)
	if err != nil {
		return Interaction{}, err
	}
	one := []Interaction{i}
	if err := d.conceal(ctx, r, one); err != nil {
		return Interaction{}, err
	}
	return one[0], nil
}

// concealMoves is conceal for moves. A conversation is within reach if its mailbox is.
func (d *desk) concealMoves(moves []Move, conversationID int64) []Move {
	if d.scope.Mailboxes == nil {
		return moves
	}
	reached := map[int64]bool{conversationID: true}
	for _, m := range moves {
		reached[m.FromID] = reached[m.FromID] || slices.Contains(d.scope.Mailboxes, m.MailboxID)
	}
	for n := range moves {
		m := &moves[n]
		if !reached[m.FromID] {
			m.FromID, m.MailboxID = 0, 0
		}
		if !reached[m.IntoID] {
			m.IntoID = 0
		}
	}
	return moves
}

func (e ThreadingExplanation) words() []string {
	words := e.Filed.words()
	if e.Filed.Rule != "" {
		words = append(words, authWords(e.Authentication))
	}
	if e.AutoSubmitted {
		words = append(words, "It was sent automatically (RFC 3834): nobody waits for an answer, and it reopens nothing.")
	}
	for _, m := range e.Moves {
		words = append(words, m.words())
	}
	return words
}

// words describes the result of the threading rules.
func (t Threading) words() []string {
	var words []string
	switch t.Rule {
	case RuleToken:
		words = append(words, fmt.Sprintf("It was sent to an address with a valid reply token%s.", of(t.Token)))
	case RuleReferences:
		words = append(words, fmt.Sprintf("It refers to the message %s in this mailbox, and its sender takes part in that conversation.", t.Matched))
	case RuleColleague:
		words = append(words, fmt.Sprintf("It refers to the message %s in this mailbox. Its sender belongs to the same organization as %s, "+
			"who takes part in that conversation, and the organization's domain has authenticated it.", t.Matched, t.Colleague))
	case RuleReport:
		words = append(words, fmt.Sprintf("It is a delivery or abuse report about the answer %s of this conversation.", t.Matched))
	case RuleNew:
		words = append(words, "It started a new conversation.")
		if t.Token == 0 {
			words = append(words, "None of the addresses it was sent to has a valid reply token.")
		}
	default:
		return []string{"It did not arrive by mail."}
	}
	if t.Rule == RuleNew {
		switch {
		case t.References == 0:
			words = append(words, "It does not refer to another message.")
		default:
			words = append(words, fmt.Sprintf("Messages that it refers to: %d; found in this mailbox: %d.", t.References, t.Known))
		}
	}
	switch {
	case t.ForwardedBy != 0:
		words = append(words, fmt.Sprintf("User %d forwarded it, so it is filed under the author of the forwarded mail.", t.ForwardedBy))
	case t.NotForwarded != "":
		words = append(words, fmt.Sprintf("It forwards another mail, but is filed under its own sender: %s.", t.NotForwarded))
	}
	if t.Blocked != "" {
		words = append(words, fmt.Sprintf("The sender is blocked (%s): it is spam.", t.Blocked))
	}
	for _, refused := range t.Refused {
		words = append(words, fmt.Sprintf("It was not added to conversation %d: %s.", refused.ConversationID, refused.Reason))
	}
	return words
}

func of(conversationID int64) string {
	if conversationID == 0 {
		return ""
	}
	return fmt.Sprintf(" of conversation %d", conversationID)
}

// words describes the message's authentication.
func authWords(a ledger.Authentication) string {
	switch {
	case a.Source == "" && a.FromGuessed:
		return "Its author is uncertain, and no trusted server has checked its sender."
	case a.Source == "":
		return "No trusted server has checked its sender."
	}
	dkim := make([]string, len(a.DKIM))
	for n, c := range a.DKIM {
		dkim[n] = c.Result
	}
	if len(dkim) == 0 {
		dkim = []string{ledger.AuthNone}
	}
	said := "The domain in From has not authenticated it"
	switch {
	case unattributed(a):
		said = "Its author is uncertain"
	case a.FromAligned:
		said = "The domain in From has authenticated it"
	case a.Refused():
		said = "The domain in From rejects it"
	}
	return fmt.Sprintf("%s: SPF %s, DKIM %s, DMARC %s.", said, orNone(a.SPF.Result), strings.Join(dkim, " and "), orNone(a.DMARC.Result))
}

func orNone(result string) string {
	if result == "" {
		return ledger.AuthNone
	}
	return result
}

// words describes who moved an interaction, and how.
func (m Move) words() string {
	how := map[string]string{
		RuleSplit: "was split off", RuleRethread: "was moved", RuleMerge: "came with all of its conversation",
	}[m.Rule]
	where := ""
	if m.FromID != 0 {
		where = fmt.Sprintf(" from conversation %d", m.FromID)
	}
	if m.IntoID != 0 {
		where += fmt.Sprintf(" into conversation %d", m.IntoID)
	}
	return fmt.Sprintf("It %s%s by user %d on %s.", how, where, m.UserID, m.CreatedAt.Format("2 January 2006 at 15:04 UTC"))
}
