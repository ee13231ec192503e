package main

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
)

// A third noun needs a declaration here with its two accessors, and a table in state.

var domains = noun[sending.Domain, storage.NoFilter]{
	Noun:  helpdesk.Nouns().Domains,
	table: func(s *state) *table[sending.Domain] { return &s.domains },
}

// Domains implements [helpdesk.Reader].
func (r reader) Domains() storage.RowReader[sending.Domain, storage.NoFilter] {
	return rows[sending.Domain, storage.NoFilter]{&domains, r.from, r.account}
}

// Domains implements [helpdesk.Rows].
func (t tx) Domains() storage.Rows[sending.Domain, storage.NoFilter] { return storedOf(t, &domains) }

var signatures = noun[helpdesk.Signature, helpdesk.SignatureFilter]{
	Noun:  helpdesk.Nouns().Signatures,
	table: func(s *state) *table[helpdesk.Signature] { return &s.signatures },
	match: func(f helpdesk.SignatureFilter, s *helpdesk.Signature) bool {
		return slices.Contains(f.UserIDs, s.UserID)
	},
}

// Signatures implements [helpdesk.Reader].
func (r reader) Signatures() storage.RowReader[helpdesk.Signature, helpdesk.SignatureFilter] {
	return rows[helpdesk.Signature, helpdesk.SignatureFilter]{&signatures, r.from, r.account}
}

// Signatures implements [helpdesk.Rows].
func (t tx) Signatures() storage.Rows[helpdesk.Signature, helpdesk.SignatureFilter] {
	return storedOf(t, &signatures)
}

func storedOf[T, F any](t tx, n *noun[T, F]) storage.Rows[T, F] {
	return stored[T, F]{rows[T, F]{n, t.in, t.account}, t.in, func(ctx context.Context) error {
		_, err := t.Account(ctx)
		return err
	}}
}
