package helpdesk

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// SplitInput selects the interactions that become a new conversation.
type SplitInput struct {
	InteractionID  int64   // this one and all later ones; 0: InteractionIDs
	InteractionIDs []int64 // exactly these, at most 100
	Subject        string  // at most 998 characters; "": that of the first moved message, or of the conversation
}

// MaxSplit limits the interactions that a split can name.
const MaxSplit = 100

// Split moves interactions of a conversation into a new one, and returns it: either one with all later ones, or
// the named ones. They keep their ids, attachments, deliveries and ledger rows. Replies to them arrive in the new
// conversation, by reference and by the reply tokens that they were sent with. At least one interaction must stay. It needs
// conversations.update and conversations.create.
//
// The new conversation gets a new number, is open, has the same mailbox and user, and has no tags. Its customer is the
// author of the first moved customer message, or else the old conversation's. Read marks and participants are kept.
func (d Conversations) Split(ctx context.Context, id int64, in SplitInput) (Conversation, error) {
	begin, err := d.guard.Write(identity.ConversationsUpdate)
	if err != nil {
		return Conversation{}, err
	}
	if _, err := d.guard.Write(identity.ConversationsCreate); err != nil {
		return Conversation{}, err
	}
	in.Subject = plain.Line(in.Subject)
	var problems fault.Collector
	bounded(&problems, "subject", in.Subject, 998)
	problems.Check(in.InteractionID != 0 || len(in.InteractionIDs) > 0, "interaction", "is required unless interactions is given")
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
	if err == nil {
		d.afterHandOut(ctx, &c)
	}
	return c, err
}

// choose reads the interactions to move, in order, without their bodies, since there may be many.
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
		batch, err := tx.Interactions().List(ctx, InteractionFilter{ConversationID: from.ID, Brief: true}, seek)
		if err != nil {
			return nil, err
		}
		for _, i := range batch {
			last := i.position()
			seek.From = &last
			if wanted(i) {
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
		return nil, fault.Field(in.field(), "must leave at least one interaction in the conversation")
	}
	return moved, nil
}

func (in SplitInput) field() string {
	if in.InteractionID != 0 {
		return "interaction"
	}
	return "interactions"
}

// missing returns a fault if a named interaction is not in the conversation.
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
	return &fault.Error{Kind: fault.NotFound, Resource: "interaction", Message: "Some interactions do not exist. Nothing was changed.", Fields: fields}
}

// split moves interactions of a locked conversation into a new one.
func (d *desk) split(ctx context.Context, tx Tx, rule string, from Conversation, moved []Interaction, subject string) (Conversation, error) {
	now := d.svc.now()
	c := newConversation(from.MailboxID, from.CustomerID, CustomerEmail{ID: from.CustomerEmailID, Email: from.CustomerEmail}, now)
	c.Channel, c.UserID, c.TeamID, c.Priority = from.Channel, from.UserID, from.TeamID, from.Priority
	if first := slices.IndexFunc(moved, func(i Interaction) bool { return i.Type == TypeCustomer }); first >= 0 {
		i := moved[first]
		c.CustomerID, c.CustomerEmailID, c.CustomerEmail = i.CustomerID, i.CustomerEmailID, i.CustomerEmail
		subject = cmp.Or(subject, i.Subject)
	}
	c.Subject = cmp.Or(subject, from.Subject)
	if err := lockTeam(ctx, tx, c.TeamID); err != nil {
		return Conversation{}, err
	}
	if err := c.insert(ctx, tx); err != nil {
		return Conversation{}, err
	}
	if !Unreachable(c.CustomerEmail) {
		if err := tx.AddParticipants(ctx, c.ID, []string{mailaddr.Key(c.CustomerEmail)}); err != nil {
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
