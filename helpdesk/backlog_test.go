package helpdesk_test

import (
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/storage"
)

// The backlog of a mailbox has its own dates in lists; a new mail has the date of its arrival, whatever its Date. The
// mailbox was created at noon on 1 November 2026; the mails are fetched two days later.
func TestDatesOfFetchedMail(t *testing.T) {
	t.Parallel()
	at := func(text string) time.Time {
		if text == "" {
			return time.Time{}
		}
		return must(time.Parse("2006-01-02 15:04", text))(t).UTC()
	}
	const now = "2026-11-03 12:00"
	for name, tt := range map[string]struct{ source, date, server, hop, want string }{
		"history":                               {"imap", "2019-03-04 10:00", "2019-03-04 10:01", "2019-03-04 10:01", "2019-03-04 10:00"},
		"history by POP3":                       {"pop3", "2019-03-04 10:00", "", "2019-03-04 10:01", "2019-03-04 10:00"},
		"history that was moved here":           {"imap", "2019-03-04 10:00", "2026-10-31 09:00", "2019-03-04 10:01", "2019-03-04 10:00"},
		"history without Received":              {"imap", "2019-03-04 10:00", "2026-10-31 09:00", "", "2019-03-04 10:00"},
		"history by POP3 without Received":      {"pop3", "2019-03-04 10:00", "", "", "2019-03-04 10:00"},
		"history of a clock that was wrong":     {"imap", "2001-01-01 00:00", "2019-03-04 10:01", "2019-03-04 10:01", "2019-03-04 10:01"},
		"history of a clock that was fast":      {"imap", "2031-01-01 00:00", "2019-03-04 10:01", "2019-03-04 10:01", "2019-03-04 10:01"},
		"history without a date":                {"imap", "", "2019-03-04 10:01", "2019-03-04 10:01", "2019-03-04 10:01"},
		"history without anything":              {"pop3", "", "", "", now},
		"days in a queue":                       {"imap", "2019-03-01 10:00", "2019-03-04 10:01", "2019-03-04 10:01", "2019-03-01 10:00"},
		"new":                                   {"imap", "2026-11-03 11:58", "2026-11-03 11:59", "2026-11-03 11:59", now},
		"new, with an old date":                 {"imap", "2001-01-01 00:00", "2026-11-03 11:59", "2026-11-03 11:59", now},
		"new, with an old date, no Received":    {"imap", "2001-01-01 00:00", "2026-11-03 11:59", "", now},
		"new, with an old date and way":         {"imap", "2001-01-01 00:00", "2026-11-03 11:59", "2001-01-01 00:01", now},
		"new, with a date to come":              {"imap", "2031-01-01 00:00", "2026-11-03 11:59", "2026-11-03 11:59", now},
		"new by POP3, with an old date":         {"pop3", "2001-01-01 00:00", "", "2026-11-03 11:59", now},
		"after a day without a connection":      {"imap", "2026-11-02 09:59", "2026-11-02 10:00", "2026-11-02 10:00", "2026-11-02 09:59"},
		"the same, with an old date":            {"imap", "2001-01-01 00:00", "2026-11-02 10:00", "2026-11-02 10:00", "2026-11-02 10:00"},
		"the same, with an old date and no way": {"imap", "2001-01-01 00:00", "2026-11-02 10:00", "", "2026-11-02 10:00"},
		"by SMTP, with an old date":             {"smtp", "2019-03-04 10:00", "", "2019-03-04 10:01", now},
		"a server without a clock":              {"imap", "2019-03-04 10:00", "1969-01-01 00:00", "2019-03-04 10:01", "2019-03-04 10:00"},
		"new, the server states 1970":           {"imap", "2026-11-03 11:58", "1970-01-01 00:00", "2026-11-03 11:59", now},
		"the same, without Received":            {"imap", "2026-11-03 11:58", "1970-01-01 00:00", "", now},
		"new, the server states 1980":           {"imap", "2026-11-03 11:58", "1980-01-01 00:00", "", now},
		"new, the server states the year 1":     {"imap", "2026-11-03 11:58", "0001-01-01 00:00", "", now},
		"new, the server is a year behind":      {"imap", "2026-11-03 11:58", "2025-11-03 11:59", "", now},
		"new, the server is a year ahead":       {"imap", "2026-11-03 11:58", "2027-11-03 11:59", "", now},
		"new by POP3, the hop states 1970":      {"pop3", "2026-11-03 11:58", "", "1970-01-01 00:00", now},
		"history, the server states 1970":       {"imap", "2019-03-04 10:00", "1970-01-01 00:00", "2019-03-04 10:01", "2019-03-04 10:00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			b.clock.Add(48 * time.Hour)
			m := opening()
			m.Identity, m.Date, m.LastHop = []byte("x"), at(tt.date), at(tt.hop)
			intake := b.svc.Intake()
			raw := []ledger.Raw{{Raw: []byte("mail"), Position: "1", DeliveredAt: at(tt.server)}}
			if err := intake.Take(b.ctx, b.account.ID, b.mailbox.ID, tt.source, raw, nil); err != nil {
				t.Fatal(err)
			}
			row := must(intake.File(b.ctx, b.account.ID, 1, m))(t)
			c, i := b.conversation(row.ConversationID), b.interactions(row.ConversationID)[0]
			for what, got := range map[string]time.Time{"created": c.CreatedAt, "updated": c.UpdatedAt, "waiting": c.AwaitingSince} {
				if !got.Equal(at(tt.want)) {
					t.Errorf("%s at %v, want %s", what, got, tt.want)
				}
			}
			if !i.CreatedAt.Equal(at(now)) || !i.Mail.Date.Equal(at(tt.date)) {
				t.Errorf("it arrived at %v, sent at %v", i.CreatedAt, i.Mail.Date)
			}
		})
	}
}

// A mail of the backlog does not turn back the conversation that it comes into.
func TestBacklogIntoConversation(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	first := b.receive(opening())
	b.clock.Add(time.Hour)
	must(b.desk.Conversations().Update(b.ctx, first.ConversationID, helpdesk.ConversationUpdate{Subject: storage.Some("x"), Status: storage.Some(helpdesk.StatusClosed)}))(t)
	before := b.conversation(first.ConversationID)
	old := ledger.Incoming{
		Message: message.Message{
			From: []mailaddr.Address{ada}, InReplyTo: []string{"1@example.com"}, Text: "Old.", Date: time.Date(2019, 3, 4, 10, 0, 0, 0, time.UTC),
		}, Identity: []byte("old"),
	}
	raw := []ledger.Raw{{Raw: []byte("mail"), Position: "1", DeliveredAt: old.Date}}
	if err := b.svc.Intake().Take(b.ctx, b.account.ID, b.mailbox.ID, "imap", raw, nil); err != nil {
		t.Fatal(err)
	}
	must(b.svc.Intake().File(b.ctx, b.account.ID, 2, old))(t)
	after := b.conversation(first.ConversationID)
	if !after.CreatedAt.Equal(before.CreatedAt) || !after.UpdatedAt.Equal(before.UpdatedAt) || after.Status != helpdesk.StatusPosted {
		t.Errorf("it was %+v and is %+v", before, after)
	}
}
