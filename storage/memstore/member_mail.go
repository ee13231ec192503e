package memstore

import (
	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

var memberMails = noun[helpdesk.Scope, helpdesk.MemberMail, helpdesk.MemberMailFilter]{
	Noun: nouns.MemberMails, of: func(db *data) *table[helpdesk.MemberMail] { return &db.memberMails },
	match: func(_ *data, _ helpdesk.Scope, f helpdesk.MemberMailFilter, m *helpdesk.MemberMail) bool {
		return m.UserID == f.UserID && (f.Key == "" || m.Key == f.Key)
	},
}

// MemberMails implements [helpdesk.Reader].
func (r reader) MemberMails() storage.RowReader[helpdesk.MemberMail, helpdesk.MemberMailFilter] {
	return rowsOf(r.src, r.scope.AccountID, r.scope, &memberMails)
}

// MemberMails implements [helpdesk.Rows].
func (t tx) MemberMails() storage.Rows[helpdesk.MemberMail, helpdesk.MemberMailFilter] {
	return storedOf(t.src, t.scope.AccountID, t.scope, &memberMails)
}
