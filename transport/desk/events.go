package desk

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport/internal/sse"
)

// heartbeat is the interval of heartbeats on a stream without events.
const heartbeat = 20 * time.Second

// change is an event as the script receives it: which parts to reload, without any content.
type change struct {
	Type         string `json:"type"`
	Subject      int64  `json:"subject"`
	Conversation int64  `json:"conversation,omitempty"`
	Mailbox      int64  `json:"mailbox,omitempty"`
	Actor        int64  `json:"actor,omitempty"`
}

// events follows the log of the account until the browser disconnects.
func (v *visit) events() error {
	in := helpdesk.FollowInput{}
	if last := cmp.Or(v.r.Header.Get("Last-Event-ID"), v.r.URL.Query().Get("after")); last != "" {
		in.After = storage.Some(number(last))
	}
	follower, err := v.Events().Follow(v.ctx(), in)
	if err != nil {
		return err
	}
	defer follower.Close()
	sse.Start(v.w.Header())
	out := sse.New(v.w)
	if err := out.Begin(2 * time.Second); err != nil {
		return nil //nolint:nilerr // the browser has gone
	}
	if follower.Reset() {
		_ = out.Send("", "reset", []byte("{}"))
	}
	for {
		if err := v.listen(follower, out); err != nil {
			return nil //nolint:nilerr // the browser comes back, and is told then
		}
	}
}

// listen sends changes for a while, and then a heartbeat.
func (v *visit) listen(follower *helpdesk.EventFollower, out *sse.Writer) error {
	ctx, cancel := context.WithTimeout(v.ctx(), heartbeat) // one for many events: each costs a timer
	defer cancel()
	for {
		found, err := follower.Next(ctx)
		if v.ctx().Err() != nil {
			return v.ctx().Err()
		}
		if errors.Is(err, ctx.Err()) && ctx.Err() != nil {
			return out.Beat()
		}
		if err != nil {
			return err
		}
		if err := v.sendChanges(follower, out, found); err != nil {
			return err
		}
	}
}

// sendChanges sends changes, and how far the follower is.
func (v *visit) sendChanges(follower *helpdesk.EventFollower, out *sse.Writer, found []storage.Event) error {
	last := int64(0) // of the last one sent
	for _, e := range found {
		heard, concerns := v.hears(e)
		if !concerns {
			continue
		}
		data, err := json.Marshal(heard)
		if err != nil {
			return err
		}
		if err := out.Add(itoa(e.Seq), "", data); err != nil {
			return err
		}
		last = e.Seq
	}
	if last != follower.Position() {
		return out.Send(itoa(follower.Position()), "", nil)
	}
	return out.Flush()
}

// hears returns the change for the script, if the event concerns the member: members receive only their own notifications.
func (v *visit) hears(e storage.Event) (change, bool) {
	heard := change{Type: e.Type, Subject: e.Subject, Conversation: e.ConversationID, Mailbox: e.MailboxID, Actor: e.ActorID}
	if e.Type != "notification.created" {
		return heard, true
	}
	var told struct {
		ConversationID int64   `json:"conversation_id"`
		UserIDs        []int64 `json:"user_ids"`
	}
	err := json.Unmarshal(e.Data, &told)
	heard.Conversation = told.ConversationID
	return heard, err == nil && slices.Contains(told.UserIDs, v.UserID())
}
