package helpdesk

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Move moves one interaction with its attachments, deliveries and ledger row into another conversation of the
// account, and returns it. Replies to it arrive there from then on. If its customer awaits a reply, the other conversation
// awaits one, too, and is reopened if closed or pending. It needs conversations.update.
//
// If nothing is left in the old conversation, it is merged into the other one: it is removed, and its tags and participants
// move, too.
func (d Interactions) Move(ctx context.Context, conversationID, id, into int64) (Interaction, error) {
	begin, err := d.guard.Write(identity.ConversationsUpdate)
	if err != nil {
		return Interaction{}, err
	}
	var problems fault.Collector
	if problems.Check(into != 0, "conversation", "is required") {
		problems.Check(into != conversationID, "conversation", "must be another conversation")
	}
	if err := problems.Err(); err != nil {
		return Interaction{}, err
	}
	var i Interaction
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		for _, one := range []int64{conversationID, into} { // report each absent one separately
			if _, err := tx.Conversations().Get(ctx, one); err != nil {
				return err
			}
		}
		both, err := lockAll(ctx, tx, []int64{conversationID, into})
		if err != nil {
			return err
		}
		from, target := both[0], both[1]
		if from.ID != conversationID {
			from, target = target, from
		}
		i, err = tx.Interactions().Get(ctx, id)
		if i, err = inConversation(i, conversationID, err); err != nil {
			return err
		}
		i, err = d.moveOne(ctx, tx, i, from, target)
		return err
	})
	return d.concealed(ctx, identity.ConversationsUpdate, i, err)
}

// moveOne moves an interaction between two locked conversations.
func (d *desk) moveOne(ctx context.Context, tx Tx, i Interaction, from, into Conversation) (Interaction, error) {
	alone, err := isAlone(ctx, tx, i)
	if err != nil {
		return Interaction{}, err
	}
	if alone {
		_, err = d.mergeConversation(ctx, tx, RuleRethread, from.ID, into.ID)
	} else {
		_, err = d.moveInteractions(ctx, tx, RuleRethread, []Interaction{i}, from, into)
	}
	if err != nil {
		return Interaction{}, err
	}
	return tx.Interactions().Get(ctx, i.ID)
}

// isAlone reports whether an interaction is the only one of its conversation.
func isAlone(ctx context.Context, tx Tx, i Interaction) (bool, error) {
	two, err := tx.Interactions().List(ctx, InteractionFilter{ConversationID: i.ConversationID, Brief: true}, storage.Seek{Limit: 2})
	return len(two) == 1, err
}

// Rethread applies the threading rules again to a customer's message, as if it arrived now, and moves it accordingly. This
// helps after the message that it replies to was filed, or its sender became a participant. If the rules find no
// conversation it becomes a new one, unless its conversation began with it; then it stays. It returns the interaction. It
// needs conversations.update, and conversations.create for a new conversation. An interaction that is not a received message
// is a Conflict fault.
//
// Conversations that the member does not reach are no candidates. For a message filed before reply tokens were recorded,
// only tokens in To and Cc count.
func (d Interactions) Rethread(ctx context.Context, conversationID, id int64) (Interaction, error) {
	r, err := d.guard.Read(identity.ConversationsUpdate)
	if err != nil {
		return Interaction{}, err
	}
	begin, err := d.guard.Write(identity.ConversationsUpdate)
	if err != nil {
		return Interaction{}, err
	}
	i, err := r.Interactions().Get(ctx, id)
	if i, err = inConversation(i, conversationID, err); err != nil {
		return Interaction{}, err
	}
	if i.Threading.Rule == RuleReport {
		return d.concealed(ctx, identity.ConversationsUpdate, i, nil) // it belongs to the message that it reports on
	}
	if i.Type != TypeCustomer || i.Threading.Rule == "" {
		return Interaction{}, fault.New(fault.Conflict, "The interaction did not arrive by mail: there are no threading rules to apply.")
	}
	users := map[string]int64{}
	for _, address := range []string{i.author(), i.CustomerEmail} {
		if users[mailaddr.Key(address)], err = d.svc.Intake().findMember(ctx, address); err != nil {
			return Interaction{}, err
		}
	}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		from, err := tx.Conversations().Lock(ctx, conversationID)
		if err != nil {
			return err
		}
		i, err = tx.Interactions().Get(ctx, id)
		if i, err = inConversation(i, conversationID, err); err != nil {
			return err
		}
		i, err = d.rethread(ctx, tx, i, from, users)
		return err
	})
	return d.concealed(ctx, identity.ConversationsUpdate, i, err)
}

func (d *desk) rethread(ctx context.Context, tx Tx, i Interaction, from Conversation, users map[string]int64) (Interaction, error) {
	moves, err := tx.Moves(ctx, []int64{i.ID})
	if err != nil {
		return Interaction{}, err
	}
	mailbox, err := received(ctx, tx, moves, from)
	if err != nil {
		return Interaction{}, err
	}
	f := filing{
		svc: d.svc, accountID: d.scope.AccountID, now: d.svc.now(), users: users, auth: i.Authentication,
		customer: mailaddr.Address{Email: i.CustomerEmail}, forOthers: i.Mail.Rewritten || noReply(i.author()), interactionID: i.ID, token: i.Threading.Token,
		mail: ledger.Incoming{
			Message: message.Message{
				MessageID: i.MessageID, References: i.References, From: []mailaddr.Address{{Email: i.author()}}, To: asAddresses(i.To), Cc: asAddresses(i.Cc),
			},
		},
	}
	if i.CustomerEmail == ledger.UnknownSender && !i.Authentication.FromAligned {
		own, err := d.svc.ownAddresses(ctx, tx.Reader(), d.scope.AccountID)
		if err != nil {
			return i, err
		}
		f.claimsUs = own.receives(i.author())
	}
	match, err := f.thread(ctx, tx, mailbox)
	if err != nil || match.conversation.ID == from.ID {
		return i, err
	}
	if match.conversation.ID == 0 {
		began := i.Threading.Rule == RuleNew && len(moves) == 0
		if first, err := firsts(ctx, tx, from.ID); err != nil || began || slices.Contains(first, i.ID) {
			return i, err
		}
		if _, err := d.guard.Write(identity.ConversationsCreate); err != nil {
			return Interaction{}, err
		}
	}
	match.why.ForwardedBy, match.why.NotForwarded = i.Threading.ForwardedBy, i.Threading.NotForwarded
	i.Threading, i.IsForward = match.why, match.answersForward
	if err := tx.Interactions().Update(ctx, &i); err != nil {
		return Interaction{}, err
	}
	if match.conversation.ID != 0 {
		return d.moveOne(ctx, tx, i, from, match.conversation)
	}
	if _, err := d.split(ctx, tx, RuleRethread, from, []Interaction{i}, ""); err != nil {
		return Interaction{}, err
	}
	return tx.Interactions().Get(ctx, i.ID)
}

// received returns the mailbox that a moved message was received in, if it exists within the member's reach, or else the
// mailbox of its conversation.
func received(ctx context.Context, tx Tx, moves []Move, c Conversation) (Mailbox, error) {
	if len(moves) > 0 {
		first, err := tx.Mailboxes().Get(ctx, moves[0].MailboxID)
		if !fault.Is(err, fault.NotFound) {
			return first, err
		}
	}
	return tx.Mailboxes().Get(ctx, c.MailboxID)
}

func asAddresses(emails []string) []mailaddr.Address {
	out := make([]mailaddr.Address, len(emails))
	for i, email := range emails {
		out[i].Email = email
	}
	return out
}
