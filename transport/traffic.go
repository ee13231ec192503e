package transport

import (
	"context"
	"net/http"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
)

// mailHealth is whether the mail of an account moves.
type mailHealth struct {
	Since   Time          `json:"since"`
	Traffic []mailTraffic `json:"traffic" description:"By mailbox and quarter of an hour; those without a mail are left out."`
	Queues  []mailQueue   `json:"queues" description:"Mailboxes in which something waits."`
}

type mailTraffic struct {
	MailboxID int64 `json:"mailbox_id"`
	Start     Time  `json:"start" description:"Of the quarter of an hour."`
	Received  int64 `json:"received" description:"Mails that came in, whatever became of them."`
	Sent      int64 `json:"sent" description:"Answers of which the first try to send began."`
}

type mailQueue struct {
	MailboxID    int64 `json:"mailbox_id"`
	Filing       int64 `json:"filing" description:"Mails that were received and are not filed yet."`
	Quarantined  int64 `json:"quarantined" description:"Mails that could not be filed."`
	Sending      int64 `json:"sending" description:"Recipients whose mail waits for its first or next try."`
	SendingSince *Time `json:"sending_since" description:"Of the one that has waited longest; null when none waits."`
}

type mailHealthQuery struct {
	Days int `query:"days" minimum:"1" maximum:"35" description:"How far back traffic is counted; 14 by default."`
}

func (a *api) addMailHealth(t *Table) {
	Handle(t, a.desk, Operation{
		ID: "getMailHealth", Method: http.MethodGet, Path: accountPath + "/mail-health", Tag: "Mailboxes",
		Summary:     "See whether mail moves",
		Description: "What came in and went out, and what waits, in the mailboxes that the member reaches. Needs mailboxes.connection.",
	}, func(ctx context.Context, d *helpdesk.Desk, in mailHealthQuery) (mailHealth, error) {
		days := in.Days
		if days == 0 {
			days = 14
		}
		h, err := d.MailHealth(ctx, time.Duration(days)*24*time.Hour)
		out := mailHealth{Since: Time(h.Since), Traffic: []mailTraffic{}, Queues: []mailQueue{}}
		for _, m := range h.Traffic {
			out.Traffic = append(out.Traffic, mailTraffic{MailboxID: m.MailboxID, Start: Time(m.Start), Received: m.Received, Sent: m.Sent})
		}
		for _, q := range h.Queues {
			out.Queues = append(out.Queues, mailQueue{MailboxID: q.MailboxID, Filing: q.Filing, Quarantined: q.Quarantined, Sending: q.Sending, SendingSince: TimePtr(&q.SendingSince)})
		}
		return out, err
	})
}
