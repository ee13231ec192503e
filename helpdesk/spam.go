package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// IsSpam reports whether somebody, or a blocked sender's mail, made it spam.
func (c Conversation) IsSpam() bool { return !c.SpamAt.IsZero() }

// spam makes a conversation spam, or takes that back. Spam is closed, so that it is in no
// list of what is at work; what is opened is no spam any more. The status of c is the new
// one already, of which asked says whether it was asked for. Answers that wait for their time
// in what becomes spam are the caller's to return, see [madeSpam].
func (d *Desk) spam(ctx context.Context, tx Tx, c *Conversation, in storage.Opt[bool], asked storage.Opt[Status]) error {
	spam, given := in.Get()
	if given && spam {
		if status, set := asked.Get(); set && status != StatusClosed {
			return fault.Field("status", "must be closed, or left out, for spam")
		}
		if c.Status = StatusClosed; !c.IsSpam() {
			c.SpamAt = d.svc.now()
		}
		return nil
	}
	if !c.IsSpam() || !given && c.Status == StatusClosed {
		return nil
	}
	c.SpamAt = time.Time{}
	if given && !asked.IsSet() {
		c.Status = StatusPosted
	}
	if !c.AwaitingSince.IsZero() {
		return nil
	}
	var err error
	c.AwaitingSince, err = d.waiting(ctx, tx, *c)
	return err
}

// madeSpam reports whether a change made spam of a conversation.
func madeSpam(old, c Conversation) bool { return !old.IsSpam() && c.IsSpam() }
