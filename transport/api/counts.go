package api

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/transport"
)

// deskCounts are the numbers of conversations next to the lists of a desk.
type deskCounts struct {
	Mine        int64           `json:"mine" description:"Open and assigned to the caller."`
	Unassigned  int64           `json:"unassigned" description:"Open and assigned to no user and no team."`
	Open        int64           `json:"open" description:"Posted or pending, and not snoozed."`
	Waiting     int64           `json:"waiting" description:"Open, with a customer waiting for an answer."`
	Snoozed     int64           `json:"snoozed" description:"Posted or pending, and snoozed."`
	Drafts      int64           `json:"drafts" description:"Conversations with a draft answer by the caller. 1000 means 1000 or more."`
	Undelivered int64           `json:"undelivered" description:"Posted or pending, with an answer that was not delivered to somebody. 1000 means 1000 or more."`
	Quarantined int64           `json:"quarantined" description:"Mails that could not be filed. 1000 means 1000 or more. Always 0 without mailboxes.connection."`
	Spam        int64           `json:"spam" description:"Spam. 1000 means 1000 or more."`
	Mailboxes   []mailboxCounts `json:"mailboxes" description:"Those with open conversations."`
	Teams       []teamCounts    `json:"teams" description:"Those with open conversations."`
	Views       []viewCounts    `json:"views" description:"Counts of the oldest 100 saved views whose filter uses only agent, team, mailbox, one tag, status, priority, spam, waiting and snoozed. Others are not counted."`
}

type viewCounts struct {
	ViewID        int64 `json:"view_id"`
	Conversations int64 `json:"conversations" description:"Number of conversations that the view shows to the caller."`
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
	Unassigned int64 `json:"unassigned" description:"Assigned to no user."`
	Waiting    int64 `json:"waiting"`
}

func (a *api) addCounts(t *transport.Table) {
	transport.Handle(t, a.desk, transport.Operation{
		ID: "getCounts", Method: http.MethodGet, Path: accountPath + "/counts", Tag: "Conversations",
		Summary:     "Count conversations",
		Description: "Counts the conversations that the member can reach. The numbers are maintained as conversations change, so the cost does not grow with their number. Needs conversations.view.",
	}, func(ctx context.Context, d *helpdesk.Desk, _ struct{}) (deskCounts, error) {
		c, err := d.Conversations().Counts(ctx)
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
