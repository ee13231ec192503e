package main

import (
	"context"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// A third noun needs a table in state, and to be in nounOf.

var (
	domains    = plainNoun(helpdesk.Nouns().Domains.Table(), func(s *state) *table[storage.Record] { return &s.domains })
	signatures = plainNoun(helpdesk.Nouns().Signatures.Table(), func(s *state) *table[storage.Record] { return &s.signatures })
)

// plainNoun keeps the rows of a plain noun. All plain nouns are kept alike: a store that keeps all of them itself has a map of
// tables by their names, and needs nothing for a new one.
func plainNoun(t *storage.Table, in func(*state) *table[storage.Record]) noun[storage.Record, []storage.Condition] {
	return noun[storage.Record, []storage.Condition]{
		Noun: storage.Noun[storage.Record]{
			Name:    t.Noun,
			ID:      func(r *storage.Record) *int64 { return &r.ID },
			Account: func(r *storage.Record) *int64 { return &r.Account },
		},
		broken: func(a, b *storage.Record) (code string, broken bool) {
			for _, rule := range t.Unique {
				if t.Broken(rule, *a, *b) {
					return rule.Code, true
				}
			}
			return "", false
		},
		table: in,
		match: func(where []storage.Condition, r *storage.Record) bool { return t.Matches(*r, where) },
	}
}

// nounOf returns the noun of a table that the store keeps itself; nil: memstore has it.
func nounOf(t *storage.Table) *noun[storage.Record, []storage.Condition] {
	switch t.Name {
	case "hw_domains":
		return &domains
	case "hw_signatures":
		return &signatures
	}
	return nil
}

// ReadRecords implements [storage.RecordReader].
func (r reader) ReadRecords(t *storage.Table) storage.RowReader[storage.Record, []storage.Condition] {
	own := nounOf(t)
	if own == nil {
		return r.Reader.ReadRecords(t)
	}
	return rows[storage.Record, []storage.Condition]{own, r.from, r.account}
}

// Records implements [storage.RecordWriter].
func (t tx) Records(of *storage.Table) storage.Rows[storage.Record, []storage.Condition] {
	own := nounOf(of)
	if own == nil {
		return t.Tx.Records(of)
	}
	return storedOf(t, own)
}

func storedOf[T, F any](t tx, n *noun[T, F]) storage.Rows[T, F] {
	return stored[T, F]{rows[T, F]{n, t.in, t.account}, t.in, func(ctx context.Context) error {
		_, err := t.Account(ctx)
		return err
	}}
}
