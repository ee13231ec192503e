package helpdesk

import (
	"context"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
)

// maxFollowed limits the conversations in one query for followers.
const maxFollowed = 100

// Followers returns the members who follow the given conversations, at most 100, by conversation and user. It needs
// conversations.view.
func (d Conversations) Followers(ctx context.Context, conversationIDs []int64) ([]Follower, error) {
	r, err := d.guard.Read(identity.ConversationsView)
	if err != nil {
		return nil, err
	}
	var problems fault.Collector
	problems.Check(len(conversationIDs) <= maxFollowed, "conversation_id", "has more than 100 ids")
	if err := problems.Err(); err != nil || len(conversationIDs) == 0 {
		return nil, err
	}
	return followers(ctx, r, conversationIDs)
}

// followers returns the followers of conversations who are members.
func followers(ctx context.Context, r Reader, conversationIDs []int64) ([]Follower, error) {
	found, err := r.Followers(ctx, conversationIDs)
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, f := range found {
		ids = append(ids, f.UserID)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	users, err := r.UsersByID(ctx, sortedSet(ids))
	if err != nil {
		return nil, err
	}
	member := map[int64]bool{}
	for _, u := range users {
		member[u.ID] = true
	}
	var all []Follower
	for _, f := range found {
		if f.Follows && member[f.UserID] {
			all = append(all, f)
		}
	}
	return all, nil
}

// Follow starts or stops notifying the caller of what the customer writes in a conversation. After stopping, a
// mention there does not start it again. It needs conversations.view, does not change the conversation, and emits the event
// conversation.followed.
func (d Conversations) Follow(ctx context.Context, conversationID int64, follow bool) ([]Follower, error) {
	begin, err := d.guard.Write(identity.ConversationsView)
	if err != nil {
		return nil, err
	}
	var all []Follower
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		c, err := tx.Conversations().Lock(ctx, conversationID)
		if err != nil {
			return err
		}
		there, err := tx.Followers(ctx, []int64{c.ID})
		if err != nil {
			return err
		}
		if own, known := followerOf(there, d.userID); !known || own.Follows != follow {
			f := Follower{ConversationID: c.ID, UserID: d.userID, Follows: follow, CreatedAt: d.svc.now()}
			if err := tx.SaveFollowers(ctx, []Follower{f}); err != nil {
				return err
			}
			if err := d.emit(ctx, tx, "conversation.followed", c.ID, c.MailboxID); err != nil {
				return err
			}
		}
		all, err = followers(ctx, tx.Reader(), []int64{c.ID})
		return err
	})
	return all, err
}

func followerOf(all []Follower, userID int64) (Follower, bool) {
	for _, f := range all {
		if f.UserID == userID {
			return f, true
		}
	}
	return Follower{}, false
}
