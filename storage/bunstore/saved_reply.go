package bunstore

import (
	"context"
	"unicode/utf8"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

type savedReplyRow struct {
	bun.BaseModel `bun:"table:hw_saved_replies,alias:hw_saved_replies"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	UserID        int64
	Name          string
	NameKey       string
	Body          string
	CreatedAt     int64
	UpdatedAt     int64
}

func (r *savedReplyRow) reply() helpdesk.SavedReply {
	return helpdesk.SavedReply{
		ID: r.ID, UserID: r.UserID, Name: r.Name, Key: r.NameKey, Body: r.Body,
		CreatedAt: timeOf(r.CreatedAt), UpdatedAt: timeOf(r.UpdatedAt),
	}
}

func savedReplyRowOf(account int64, s *helpdesk.SavedReply) savedReplyRow {
	return savedReplyRow{
		ID: s.ID, AccountID: account, UserID: s.UserID, Name: s.Name, NameKey: s.Key, Body: s.Body,
		CreatedAt: micros(s.CreatedAt), UpdatedAt: micros(s.UpdatedAt),
	}
}

var savedReplies = table[writer, helpdesk.SavedReply, helpdesk.SavedReplyFilter, savedReplyRow]{
	Noun: nouns.SavedReplies, row: savedReplyRowOf, item: (*savedReplyRow).reply,
	belongs: func(f helpdesk.SavedReplyFilter) (string, []int64) { return "user_id", f.UserIDs },
	match: func(_ context.Context, _ writer, q *bun.SelectQuery, f helpdesk.SavedReplyFilter) error {
		q.Err(checkText(f.Prefix))
		if f.Prefix != "" {
			q.Where("substr(name_key, 1, ?) = ?", utf8.RuneCountInString(f.Prefix), f.Prefix)
		}
		return nil
	},
}

// SavedReplies implements [helpdesk.Reader].
func (r reader) SavedReplies() storage.RowReader[helpdesk.SavedReply, helpdesk.SavedReplyFilter] {
	return rowsOf(r.placed(), &savedReplies)
}

// SavedReplies implements [helpdesk.Rows].
func (w writer) SavedReplies() storage.Rows[helpdesk.SavedReply, helpdesk.SavedReplyFilter] {
	return storedOf(w, &savedReplies)
}
