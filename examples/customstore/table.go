package main

import (
	"maps"

	"github.com/helpwright/helpwright/storage"
)

// state is all data that the store keeps itself. Rows and maps in a state never change: a write makes new ones. A plain copy
// of a state is therefore a snapshot, and dropping a changed copy is a rollback.
type state struct {
	version    int // grows with every write, to distinguish states
	domains    table[storage.Record]
	signatures table[storage.Record]
}

// without returns the state without the rows of an account.
func (s state) without(account int64) state {
	s.version++
	s.domains = s.domains.without(account)
	s.signatures = s.signatures.without(account)
	return s
}

// table holds the rows of one noun.
type table[T any] struct {
	last int64                 // the highest id given out, in any account
	rows map[int64]map[int64]T // by account and id
}

// editable returns a copy of the table in which the rows of one account may be changed.
func (t table[T]) editable(account int64) table[T] {
	accounts, rows := map[int64]map[int64]T{}, map[int64]T{}
	maps.Copy(accounts, t.rows)
	maps.Copy(rows, t.rows[account])
	accounts[account] = rows
	t.rows = accounts
	return t
}

func (t table[T]) without(account int64) table[T] {
	t.rows = maps.Clone(t.rows)
	delete(t.rows, account)
	return t
}
