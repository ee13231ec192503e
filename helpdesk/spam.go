package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// IsSpam reports whether a member, or a blocked sender, made it spam.
func (c Conversation) IsSpam() bool { return !c.SpamAt.IsZero() }

// spam marks a conversation as spam, or not as spam. Spam is closed, so that it is in no list of open conversations; opening
// it clears the mark. c already has its new status, and asked is the requested one. The caller turns scheduled replies of
// new spam back into drafts, see [madeSpam].
func (d *desk) spam(ctx context.Context, tx Tx, c *Conversation, in storage.Opt[bool], asked storage.Opt[Status]) error {
	spam, given := in.Get()
	if given && spam {
		if status, set := asked.Get(); set && status != StatusClosed {
			return fault.Field("status", "must be closed or omitted for spam")
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

// madeSpam reports whether a change marked a conversation as spam.
func madeSpam(old, c Conversation) bool { return !old.IsSpam() && c.IsSpam() }
