package bunstore

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

type memberMailRow struct {
	bun.BaseModel `bun:"table:hw_member_mails,alias:hw_member_mails"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	UserID        int64
	MailKey       string
	InboundID     int64
	Outcome       string
	CreatedAt     int64
}

func (r *memberMailRow) mail() helpdesk.MemberMail {
	return helpdesk.MemberMail{
		ID: r.ID, UserID: r.UserID, Key: r.MailKey, InboundID: r.InboundID, Outcome: helpdesk.MemberMailOutcome(r.Outcome), CreatedAt: timeOf(r.CreatedAt),
	}
}

func memberMailRowOf(account int64, m *helpdesk.MemberMail) memberMailRow {
	return memberMailRow{
		ID: m.ID, AccountID: account, UserID: m.UserID, MailKey: m.Key, InboundID: m.InboundID, Outcome: string(m.Outcome), CreatedAt: micros(m.CreatedAt),
	}
}

var memberMails = table[writer, helpdesk.MemberMail, helpdesk.MemberMailFilter, memberMailRow]{
	Noun: nouns.MemberMails, row: memberMailRowOf, item: (*memberMailRow).mail,
	match: func(_ context.Context, _ writer, q *bun.SelectQuery, f helpdesk.MemberMailFilter) error {
		q.Err(checkText(f.Key)).Where("user_id = ?", f.UserID)
		if f.Key != "" {
			q.Where("mail_key = ?", f.Key)
		}
		return nil
	},
}

// MemberMails implements [helpdesk.Reader].
func (r reader) MemberMails() storage.RowReader[helpdesk.MemberMail, helpdesk.MemberMailFilter] {
	return rowsOf(r.placed(), &memberMails)
}

// MemberMails implements [helpdesk.Rows].
func (w writer) MemberMails() storage.Rows[helpdesk.MemberMail, helpdesk.MemberMailFilter] {
	return storedOf(w, &memberMails)
}
