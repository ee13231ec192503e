package transport

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
)

// deskCounts are the numbers beside the lists of a desk.
type deskCounts struct {
	Mine        int64           `json:"mine" description:"Open and assigned to the caller."`
	Unassigned  int64           `json:"unassigned" description:"Open and assigned to nobody."`
	Open        int64           `json:"open" description:"Posted or pending, and awake."`
	Waiting     int64           `json:"waiting" description:"Open, and a customer waits for an answer."`
	Snoozed     int64           `json:"snoozed" description:"Posted or pending, and asleep."`
	Drafts      int64           `json:"drafts" description:"With a draft of an answer by the caller; 1000 means as many or more."`
	Undelivered int64           `json:"undelivered" description:"Posted or pending, with an answer that did not reach somebody; 1000 means as many or more."`
	Spam        int64           `json:"spam" description:"Spam; 1000 means as many or more."`
	Quarantined int64           `json:"quarantined" description:"Mails that could not be filed; 1000 means as many or more, and 0 is what members without mailboxes.connection see."`
	Mailboxes   []mailboxCounts `json:"mailboxes" description:"Those that have open conversations."`
}

type mailboxCounts struct {
	MailboxID  int64 `json:"mailbox_id"`
	Open       int64 `json:"open"`
	Unassigned int64 `json:"unassigned"`
	Waiting    int64 `json:"waiting"`
}

func (a *api) addCounts(t *Table) {
	Handle(t, a.desk, Operation{
		ID: "getCounts", Method: http.MethodGet, Path: accountPath + "/counts", Tag: "Conversations",
		Summary:     "Count conversations",
		Description: "As many as the member reaches. The numbers are kept while conversations change, so they cost the same however many there are. Needs conversations.view.",
	}, func(ctx context.Context, d *helpdesk.Desk, _ struct{}) (deskCounts, error) {
		c, err := d.Counts(ctx)
		out := deskCounts{
			Mine: c.Mine, Unassigned: c.Unassigned, Open: c.Open, Waiting: c.Waiting, Snoozed: c.Snoozed, Drafts: c.Drafts, Undelivered: c.Undelivered, Quarantined: c.Quarantined, Spam: c.Spam,
			Mailboxes: []mailboxCounts{},
		}
		for _, m := range c.Mailboxes {
			out.Mailboxes = append(out.Mailboxes, mailboxCounts(m))
		}
		return out, err
	})
}
