package bunstore

import (
	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

type teamRow struct {
	bun.BaseModel `bun:"table:hw_teams,alias:hw_teams"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	Name          string
	NameKey       string
	MemberIDs     items[int64] `bun:"member_ids"`
	CreatedAt     int64
	UpdatedAt     int64
}

func (r *teamRow) team() helpdesk.Team {
	return helpdesk.Team{
		ID: r.ID, Name: r.Name, Key: r.NameKey, MemberIDs: r.MemberIDs,
		CreatedAt: timeOf(r.CreatedAt), UpdatedAt: timeOf(r.UpdatedAt),
	}
}

func teamRowOf(account int64, t *helpdesk.Team) teamRow {
	return teamRow{
		ID: t.ID, AccountID: account, Name: t.Name, NameKey: t.Key, MemberIDs: t.MemberIDs,
		CreatedAt: micros(t.CreatedAt), UpdatedAt: micros(t.UpdatedAt),
	}
}

var teams = table[writer, helpdesk.Team, storage.NoFilter, teamRow]{Noun: nouns.Teams, row: teamRowOf, item: (*teamRow).team}

// Teams implements [helpdesk.Reader].
func (r reader) Teams() storage.RowReader[helpdesk.Team, storage.NoFilter] {
	return rowsOf(r.placed(), &teams)
}

// Teams implements [helpdesk.Rows].
func (w writer) Teams() storage.Rows[helpdesk.Team, storage.NoFilter] { return storedOf(w, &teams) }
