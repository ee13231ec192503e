package helpdesk

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/helpwright/helpwright/storage"
)

// How many interactions are read of a conversation that gets another one.
const (
	recentForNote  = 1
	recentForReply = 8
)

// recent contains the last interactions of a locked conversation by place, last first, without their bodies. Posting reads them
// once, and queries the store only for what they cannot answer.
type recent struct {
	conversationID int64
	last           []Interaction
	whole          bool // the conversation has no others
	grown          bool // the last one was inserted after the lock, so that its id is the highest
}

// recentOf reads the last interactions of a locked conversation, at most limit.
func recentOf(ctx context.Context, tx Tx, conversationID int64, limit int) (*recent, error) {
	last, err := tx.Interactions().List(ctx, InteractionFilter{ConversationID: conversationID, Brief: true}, storage.Seek{Desc: true, Limit: limit})
	return &recent{conversationID: conversationID, last: last, whole: len(last) < limit}, err
}

// recentBefore reads as many interactions as adding i to a conversation may ask for.
func recentBefore(ctx context.Context, tx Tx, conversationID int64, i Interaction) (*recent, error) {
	if i.Type != TypeUser || i.Status != StatusPosted {
		return recentOf(ctx, tx, conversationID, recentForNote)
	}
	return recentOf(ctx, tx, conversationID, recentForReply)
}

// answered returns the latest message that a customer wrote.
func (r *recent) answered(ctx context.Context, tx Tx, customerID int64) (i Interaction, found bool, err error) {
	by := InteractionFilter{ConversationID: r.conversationID, WrittenBy: customerID, Brief: true}
	for _, i := range r.last {
		if by.Admits(&i) {
			return i, true, nil
		}
	}
	if r.whole || customerID == 0 {
		return i, false, nil
	}
	further, err := tx.Interactions().List(ctx, by, storage.Seek{Desc: true, Limit: 1})
	if err != nil || len(further) == 0 {
		return i, false, err
	}
	return further[0], true, nil
}

// add records an interaction that was inserted, as the conversation's last one.
func (r *recent) add(i Interaction) { r.last, r.grown = slices.Insert(r.last, 0, i), true }

// put replaces interactions that were changed.
func (r *recent) put(changed []Interaction) {
	for n := range r.last {
		for _, i := range changed {
			if i.ID == r.last[n].ID {
				r.last[n] = i
			}
		}
	}
}

// notBefore returns the time for a new entry: now, but not before existing entries. Process clocks differ, and a caller that
// waited for a lock read its clock before waiting.
func (r *recent) notBefore(now time.Time) time.Time {
	if len(r.last) > 0 && r.last[0].At.After(now) {
		return r.last[0].At
	}
	return now
}

// thread is [InteractionReader].Thread.
func (r *recent) thread(ctx context.Context, tx Tx, n int) ([]MessageRef, error) {
	if !r.whole {
		return tx.Thread(ctx, r.conversationID, n)
	}
	var refs []MessageRef
	for _, i := range r.last {
		if i.MessageID != "" && i.Status != StatusDraft && !i.IsForward && len(refs) < n {
			refs = append(refs, MessageRef{MessageID: i.MessageID, InteractionID: i.ID, ConversationID: i.ConversationID, Type: i.Type})
		}
	}
	slices.Reverse(refs)
	return refs, nil
}

// get returns an interaction of the conversation; its body may be missing.
func (r *recent) get(ctx context.Context, tx Tx, id int64) (Interaction, error) {
	if at := slices.IndexFunc(r.last, func(i Interaction) bool { return i.ID == id }); at >= 0 {
		return r.last[at], nil
	}
	return tx.Interactions().Get(ctx, id)
}

// scheduled is [ScheduleReader].Scheduled.
func (r *recent) scheduled(ctx context.Context, tx Tx) ([]Interaction, error) {
	if r.whole && !slices.ContainsFunc(r.last, Interaction.Scheduled) {
		return nil, nil
	}
	return tx.Scheduled(ctx, []int64{r.conversationID})
}

// newestFrom is [CrossingReader].NewestFrom.
func (r *recent) newestFrom(ctx context.Context, tx Tx, notBy int64) (Interaction, error) {
	if !r.whole {
		return tx.NewestFrom(ctx, r.conversationID, notBy)
	}
	var newest Interaction
	for _, i := range r.last {
		others := i.Type == TypeCustomer || i.Type == TypeUser && i.Status == StatusPosted && !i.Automatic() && cmp.Or(i.PostedByID, i.UserID) != notBy
		if others && (newest.ID == 0 || i.saidAfter(newest)) {
			newest = i
		}
	}
	return newest, nil
}

// lastArrived is [InteractionReader].LastArrived.
func (r *recent) lastArrived(ctx context.Context, tx Tx) (int64, error) {
	if !r.whole && !r.grown {
		return tx.LastArrived(ctx, r.conversationID)
	}
	var last int64
	for _, i := range r.last {
		last = max(last, i.ID)
	}
	return last, nil
}
