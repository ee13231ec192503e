package helpdesk

import (
	"context"
	"fmt"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// CodeCrossed is the code of the Conflict fault of an answer that would cross a message
// its author has not seen. The fault's ID is the newest such interaction: whoever has
// seen it passes it as Seen.
const CodeCrossed = "crossed"

// CrossingReader finds what others have said in a conversation.
type CrossingReader interface {
	// NewestFrom returns the interaction of a conversation that was said last, by
	// SaidAt and id, of the customers' and of the posted users' that the user did not
	// send; the zero value when there is none. One that names no sender was sent by
	// its creator.
	NewestFrom(ctx context.Context, conversationID, notBy int64) (Interaction, error)
}

// SaidAt is when others could see an interaction: a user's from when it was posted,
// however long it was a draft, all others from when they came.
func (i Interaction) SaidAt() time.Time {
	if i.Type == TypeUser && i.Status == StatusPosted {
		return i.PostedAt
	}
	return i.CreatedAt
}

// NewestSeen is the id of the interaction that was said last, which a user who has seen
// them all passes as Seen; 0: there are none.
func NewestSeen(all []Interaction) int64 {
	var newest Interaction
	for _, i := range all {
		if newest.ID == 0 || i.saidAfter(newest) {
			newest = i
		}
	}
	return newest.ID
}

// saidAfter reports whether an interaction was said after another one.
func (i Interaction) saidAfter(other Interaction) bool {
	if order := i.SaidAt().Compare(other.SaidAt()); order != 0 {
		return order > 0
	}
	return i.ID > other.ID
}

// checkCrossing refuses to post when somebody else has said something in the
// conversation, which is locked, after what the author has seen. What was seen and is
// there no more is compared by its id.
func (d *Desk) checkCrossing(ctx context.Context, tx Tx, conversationID int64, in storage.Opt[int64]) error {
	seen, given := in.Get()
	if !given {
		return nil
	}
	newest, err := tx.NewestFrom(ctx, conversationID, d.userID)
	if err != nil || newest.ID == 0 || newest.ID == seen {
		return err
	}
	last, err := tx.Interactions().Get(ctx, seen)
	last, err = inConversation(last, conversationID, err)
	crosses := newest.saidAfter(last)
	if fault.Is(err, fault.NotFound) {
		err, crosses = nil, newest.ID > seen
	}
	if err != nil || !crosses {
		return err
	}
	return &fault.Error{
		Kind: fault.Conflict, Code: CodeCrossed, Resource: "interaction", ID: newest.ID,
		Message: fmt.Sprintf("Interaction %d has come meanwhile; the answer was not sent.", newest.ID),
	}
}
