package transport

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
)

// deskCounts are the numbers beside the lists of a desk.
type deskCounts struct {
	Mine        int64           `json:"mine" description:"Open and assigned to the caller."`
	Unassigned  int64           `json:"unassigned" description:"Open and assigned to no user and no team."`
	Open        int64           `json:"open" description:"Posted or pending, and awake."`
	Waiting     int64           `json:"waiting" description:"Open, and a customer waits for an answer."`
	Snoozed     int64           `json:"snoozed" description:"Posted or pending, and asleep."`
	Drafts      int64           `json:"drafts" description:"With a draft of an answer by the caller; 1000 means as many or more."`
	Undelivered int64           `json:"undelivered" description:"Posted or pending, with an answer that did not reach somebody; 1000 means as many or more."`
	Quarantined int64           `json:"quarantined" description:"Mails that could not be filed; 1000 means as many or more, and 0 is what members without mailboxes.connection see."`
	Spam        int64           `json:"spam" description:"Spam; 1000 means as many or more."`
	Mailboxes   []mailboxCounts `json:"mailboxes" description:"Those that have open conversations."`
	Teams       []teamCounts    `json:"teams" description:"Those that have open conversations."`
	Views       []viewCounts    `json:"views" description:"Saved views whose filter asks for nothing but agent, team, mailbox, one tag, status, priority, spam, and who waits or sleeps; the oldest 100. Others are not counted."`
}

type viewCounts struct {
	ViewID        int64 `json:"view_id"`
	Conversations int64 `json:"conversations" description:"That the view shows to the caller."`
}

type mailboxCounts struct {
	MailboxID  int64 `json:"mailbox_id"`
	Open       int64 `json:"open"`
	Unassigned int64 `json:"unassigned"`
	Waiting    int64 `json:"waiting"`
}

type teamCounts struct {
	TeamID     int64 `json:"team_id"`
	Open       int64 `json:"open"`
	Unassigned int64 `json:"unassigned" description:"To no user."`
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
			Mine: c.Mine, Unassigned: c.Unassigned, Open: c.Open, Waiting: c.Waiting, Snoozed: c.Snoozed, Drafts: c.Drafts, Undelivered: c.Undelivered,
			Quarantined: c.Quarantined, Spam: c.Spam,
			Mailboxes: []mailboxCounts{}, Teams: []teamCounts{}, Views: []viewCounts{},
		}
		for _, m := range c.Mailboxes {
			out.Mailboxes = append(out.Mailboxes, mailboxCounts(m))
		}
		for _, team := range c.Teams {
			out.Teams = append(out.Teams, teamCounts(team))
		}
		for _, view := range c.Views {
			out.Views = append(out.Views, viewCounts(view))
		}
		return out, err
	})
}
