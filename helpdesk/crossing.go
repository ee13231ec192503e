package helpdesk

import (
	"context"
	"fmt"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// CodeCrossed is the code of the Conflict fault for posting a reply while there is a message that its author has not seen.
// The fault's ID is the newest such interaction; to confirm, pass it as Seen.
const CodeCrossed = "crossed"

// CrossingReader finds others' contributions to a conversation.
type CrossingReader interface {
	// NewestFrom returns the newest interaction of a conversation, by SaidAt and id, among the customers' and the posted user
	// interactions that the user did not send; the zero value if there is none. If an interaction names no sender, its creator
	// sent it. Automatic replies do not count.
	NewestFrom(ctx context.Context, conversationID, notBy int64) (Interaction, error)
}

// SaidAt returns the time from which others could see an interaction: for a user interaction when it was posted, for all
// others when they arrived.
func (i Interaction) SaidAt() time.Time {
	if i.Type == TypeUser && i.Status == StatusPosted {
		return i.PostedAt
	}
	return i.CreatedAt
}

// Seen is what the author of an answer has seen of the conversation.
type Seen struct {
	ID int64 // the newest interaction, see [NewestSeen]; 0: none
	// At is the interaction's SaidAt when it was seen. An answer that was called back and posted again since counts as new.
	// Zero: the interaction has not changed.
	At time.Time
}

// NewestSeen returns what a user has seen who has seen all these interactions. Drafts do not count: they become new when
// they are posted.
func NewestSeen(all []Interaction) Seen {
	var newest Interaction
	for _, i := range all {
		if i.Status != StatusDraft && (newest.ID == 0 || i.saidAfter(newest)) {
			newest = i
		}
	}
	return Seen{ID: newest.ID, At: newest.SaidAt()}
}

// saidAfter reports whether an interaction became visible after another one.
func (i Interaction) saidAfter(other Interaction) bool {
	if order := i.SaidAt().Compare(other.SaidAt()); order != 0 {
		return order > 0
	}
	return i.ID > other.ID
}

// checkCrossing returns a fault if others contributed to the locked conversation after the interaction that the author has
// seen. A seen interaction that was deleted is compared by its id.
func (d *desk) checkCrossing(ctx context.Context, tx Tx, all *recent, in storage.Opt[Seen]) error {
	seen, given := in.Get()
	if !given {
		return nil
	}
	newest, err := all.newestFrom(ctx, tx, d.userID)
	if err != nil || newest.ID == 0 {
		return err
	}
	last, err := all.get(ctx, tx, seen.ID)
	last, err = inConversation(last, all.conversationID, err)
	crosses := newest.saidAfter(last) || newest.ID == seen.ID && !seen.At.IsZero() && newest.SaidAt().After(seen.At)
	if fault.Is(err, fault.NotFound) {
		err, crosses = nil, newest.ID > seen.ID
	}
	if err != nil || !crosses {
		return err
	}
	return &fault.Error{
		Kind: fault.Conflict, Code: CodeCrossed, Resource: "interaction", ID: newest.ID,
		Message: fmt.Sprintf("Interaction %d arrived in the meantime. The reply was not sent.", newest.ID),
	}
}
