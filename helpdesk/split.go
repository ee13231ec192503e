package helpdesk

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// SplitInput says which interactions of a conversation become one of their own.
type SplitInput struct {
	InteractionID  int64   // this one and all after it; 0: InteractionIDs
	InteractionIDs []int64 // exactly these, at most 100
	Subject        string  // at most 998 characters; "": that of the first mail that moves, or of the conversation
}

// MaxSplit is how many interactions a split can name one by one.
const MaxSplit = 100

// SplitConversation makes interactions of a conversation a new one, and returns it:
// one of them with all after it, or those that are named. They go with their
// attachments, deliveries and ledger rows and keep their ids. Answers to them come
// into the new conversation from then on, by reference and by the reply tokens that
// they went out with. Something must stay. It needs conversations.update and
// conversations.create.
//
// The new conversation has a number of its own, is open, of the same mailbox and
// assigned to the same user, and has no tags. Its customer is the sender of the first
// of the customers' messages that move, or that of the old one. What users have read
// stays read. Who took part in the old conversation still does.
func (d *Desk) SplitConversation(ctx context.Context, id int64, in SplitInput) (Conversation, error) {
	begin, err := d.guard.Write(ConversationsUpdate)
	if err != nil {
		return Conversation{}, err
	}
	if _, err := d.guard.Write(ConversationsCreate); err != nil {
		return Conversation{}, err
	}
	in.Subject = cleanLine(in.Subject)
	var problems fault.Collector
	bounded(&problems, "subject", in.Subject, 998)
	problems.Check(in.InteractionID != 0 || len(in.InteractionIDs) > 0, "interaction", "is required, or interactions")
	problems.Check(in.InteractionID == 0 || len(in.InteractionIDs) == 0, "interactions", "cannot be given together with interaction")
	problems.Check(len(in.InteractionIDs) <= MaxSplit, "interactions", "has more than 100 ids")
	if err := problems.Err(); err != nil {
		return Conversation{}, err
	}
	var c Conversation
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		from, err := tx.Conversations().Lock(ctx, id)
		if err != nil {
			return err
		}
		moved, err := in.choose(ctx, tx, from)
		if err != nil {
			return err
		}
		c, err = d.split(ctx, tx, RuleSplit, from, moved, in.Subject)
		return err
	})
	return c, err
}

// choose reads what is to be split off, in order. Bodies are left out: there may be many.
func (in SplitInput) choose(ctx context.Context, tx Tx, from Conversation) ([]Interaction, error) {
	var moved []Interaction
	stays, seek := false, storage.Seek{Limit: 20}
	wanted := func(i Interaction) bool { return slices.Contains(in.InteractionIDs, i.ID) }
	if in.InteractionID != 0 {
		first, err := firsts(ctx, tx, from.ID)
		if err != nil {
			return nil, err
		}
		begins, err := tx.Interactions().Get(ctx, in.InteractionID)
		if begins, err = inConversation(begins, from.ID, err); err != nil {
			return nil, err
		}
		stays, seek.From = first[0] != begins.ID, &storage.Position{Key: begins.SortKey(), ID: begins.ID - 1}
		wanted = func(Interaction) bool { return true }
	}
	for more := true; more; {
		batch, err := tx.Interactions().List(ctx, InteractionFilter{ConversationID: from.ID}, seek)
		if err != nil {
			return nil, err
		}
		for _, i := range batch {
			last := i.position()
			seek.From = &last
			if i.Body = ""; wanted(i) {
				moved = append(moved, i)
			} else {
				stays = true
			}
		}
		more = len(batch) == seek.Limit
	}
	if err := in.missing(moved); err != nil {
		return nil, err
	}
	if !stays {
		return nil, fault.Field(in.field(), "must leave something in the conversation")
	}
	return moved, nil
}

func (in SplitInput) field() string {
	if in.InteractionID != 0 {
		return "interaction"
	}
	return "interactions"
}

// missing refuses interactions that are not in the conversation.
func (in SplitInput) missing(found []Interaction) error {
	has := func(id int64) bool { return slices.ContainsFunc(found, func(i Interaction) bool { return i.ID == id }) }
	if in.InteractionID != 0 && !has(in.InteractionID) {
		return fault.Missing("interaction", in.InteractionID)
	}
	fields := fault.Fields{}
	for n, id := range in.InteractionIDs {
		if !has(id) {
			fields[fmt.Sprintf("interactions[%d]", n)] = []string{fmt.Sprintf("there is no interaction %d in the conversation", id)}
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return &fault.Error{Kind: fault.NotFound, Resource: "interaction", Message: "Some interactions do not exist; nothing was done.", Fields: fields}
}

// split makes a new conversation of interactions of one that is locked.
func (d *Desk) split(ctx context.Context, tx Tx, rule string, from Conversation, moved []Interaction, subject string) (Conversation, error) {
	now := d.svc.now()
	c := newConversation(from.MailboxID, from.CustomerID, CustomerEmail{ID: from.CustomerEmailID, Email: from.CustomerEmail}, now)
	c.Channel, c.UserID, c.TeamID, c.Priority = from.Channel, from.UserID, from.TeamID, from.Priority
	if first := slices.IndexFunc(moved, func(i Interaction) bool { return i.Type == TypeCustomer }); first >= 0 {
		i := moved[first]
		c.CustomerID, c.CustomerEmailID, c.CustomerEmail = i.CustomerID, i.CustomerEmailID, i.CustomerEmail
		subject = cmp.Or(subject, i.Subject)
	}
	c.Subject = cmp.Or(subject, from.Subject)
	if err := c.insert(ctx, tx); err != nil {
		return Conversation{}, err
	}
	if c.CustomerEmail != UnknownSender {
		if err := tx.AddParticipants(ctx, c.ID, []string{EmailKey(c.CustomerEmail)}); err != nil {
			return Conversation{}, err
		}
	}
	parted := d.event("conversation.split", from.ID, from.MailboxID)
	parted.Data, _ = json.Marshal(map[string]int64{"id": from.ID, "into": c.ID}) // a map of integers always encodes
	if err := tx.Emit(ctx, d.event("conversation.created", c.ID, c.MailboxID), parted); err != nil {
		return Conversation{}, err
	}
	return d.moveInteractions(ctx, tx, rule, moved, from, c)
}
