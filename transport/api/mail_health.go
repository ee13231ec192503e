package api

import (
	"context"
	"net/http"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/transport"
)

// mailHealth reports whether mail flows in and out of an account.
type mailHealth struct {
	Since   transport.Time `json:"since"`
	Traffic []mailTraffic  `json:"traffic" description:"Counts per mailbox and quarter of an hour. Periods without mail are omitted."`
	Queues  []mailQueue    `json:"queues" description:"Mailboxes with something waiting."`
}

type mailTraffic struct {
	MailboxID int64          `json:"mailbox_id"`
	Start     transport.Time `json:"start" description:"Start of the quarter of an hour."`
	Received  int64          `json:"received" description:"Mails received, whatever became of them."`
	Sent      int64          `json:"sent" description:"Answers whose first sending attempt began."`
}

type mailQueue struct {
	MailboxID    int64           `json:"mailbox_id"`
	Filing       int64           `json:"filing" description:"Mails received but not filed yet."`
	Quarantined  int64           `json:"quarantined" description:"Mails that could not be filed."`
	Sending      int64           `json:"sending" description:"Recipients whose mail waits for its first or next attempt."`
	SendingSince *transport.Time `json:"sending_since" description:"Time of the longest-waiting one. Null if none is waiting."`
}

type mailHealthQuery struct {
	Days int `query:"days" minimum:"1" maximum:"35" description:"How many days back traffic is counted. Default: 14."`
}

func (a *api) addMailHealth(t *transport.Table) {
	transport.Handle(t, a.desk, transport.Operation{
		ID: "getMailHealth", Method: http.MethodGet, Path: accountPath + "/mail-health", Tag: "Mailboxes",
		Summary:     "Retrieve the flow of mail",
		Description: "Mail received and sent, and what is waiting, in the mailboxes that the member can reach. Needs mailboxes.connection.",
	}, func(ctx context.Context, d *helpdesk.Desk, in mailHealthQuery) (mailHealth, error) {
		days := in.Days
		if days == 0 {
			days = 14
		}
		h, err := d.Mailboxes().Health(ctx, time.Duration(days)*24*time.Hour)
		out := mailHealth{Since: transport.Time(h.Since), Traffic: []mailTraffic{}, Queues: []mailQueue{}}
		for _, m := range h.Traffic {
			out.Traffic = append(out.Traffic, mailTraffic{MailboxID: m.MailboxID, Start: transport.Time(m.Start), Received: m.Received, Sent: m.Sent})
		}
		for _, q := range h.Queues {
			out.Queues = append(out.Queues, mailQueue{MailboxID: q.MailboxID, Filing: q.Filing, Quarantined: q.Quarantined, Sending: q.Sending, SendingSince: transport.TimePtr(&q.SendingSince)})
		}
		return out, err
	})
}
