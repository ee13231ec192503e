package bunstore

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
)

// Almost every request looks up its token and its grant. A DB remembers both for a moment: a change made through it is seen
// at once, a change by another process within a second. What does not exist is not remembered, so that a new token or member
// works at once everywhere.
const (
	remembering = 900 * time.Millisecond
	mostTokens  = 4096
	mostGrants  = 4096
)

// remembered holds tokens by hash, grants by account and user, and tags.
type remembered struct {
	now func() time.Time // for tests; nil: time.Now

	mu      sync.Mutex
	tags    map[tagKey]versionedTag // never forgotten, see versionedTag
	changes int64                   // counts forget: what was read before the last one is not kept
	tokens  map[string]moment[identity.AccessToken]
	grants  map[member]moment[identity.Grant]
}

type member struct{ account, user int64 }

// moment is a value that was current some time before until.
type moment[V any] struct {
	value V
	until time.Time
}

// forget drops what a transaction that has ended may have changed: the grants of an account, or everything for account 0, as
// a transaction above accounts may have changed tokens and users too.
func (m *remembered) forget(accounts []int64) {
	if len(accounts) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changes++
	if slices.Contains(accounts, 0) {
		m.tokens, m.grants = nil, nil
		return
	}
	maps.DeleteFunc(m.grants, func(of member, _ moment[identity.Grant]) bool { return slices.Contains(accounts, of.account) })
}

// clock returns the current time.
func (m *remembered) clock() time.Time {
	if m.now != nil {
		return m.now()
	}
	return time.Now()
}

// recall returns a value that is remembered, or reads and remembers it. in is the map for it, which the other functions may
// have replaced meanwhile.
func recall[K comparable, V any](m *remembered, in *map[K]moment[V], most int, key K, read func() (V, error)) (V, error) {
	begun := m.clock()
	m.mu.Lock()
	there, ok := (*in)[key]
	changes := m.changes
	m.mu.Unlock()
	if ok && begun.Before(there.until) {
		return there.value, nil
	}
	value, err := read()
	if err != nil {
		return value, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.changes != changes {
		return value, nil // it may have been read before the change
	}
	if *in == nil || len(*in) >= most {
		*in = map[K]moment[V]{}
	}
	(*in)[key] = moment[V]{value, begun.Add(remembering)}
	return value, nil
}

// remembers returns what the store remembers, or nil for statements that must not use it: those in a transaction, which see
// its own changes, and those in a snapshot.
func (s *querier) remembers(ctx context.Context) *remembered {
	if s.tx != nil || storage.IsLocking(ctx) {
		return nil
	}
	if p := (pooled{s.db, s.store.unit, s.store.seen}); p.reads(ctx) != p.db.DB {
		return nil
	}
	return &s.store.remembered
}

// TokenByHash implements [helpdesk.Directory].
func (d directory) TokenByHash(ctx context.Context, hash []byte) (identity.AccessToken, error) {
	m := d.remembers(ctx)
	if m == nil {
		return d.tokenByHash(ctx, hash)
	}
	token, err := recall(m, &m.tokens, mostTokens, string(hash), func() (identity.AccessToken, error) { return d.tokenByHash(ctx, hash) })
	token.Hash, token.Scopes = slices.Clone(token.Hash), slices.Clone(token.Scopes)
	return token, err
}

// Grant implements [helpdesk.Directory].
func (d directory) Grant(ctx context.Context, userID, accountID int64) (identity.Grant, error) {
	m := d.remembers(ctx)
	if m == nil {
		return d.grant(ctx, userID, accountID)
	}
	grant, err := recall(m, &m.grants, mostGrants, member{accountID, userID}, func() (identity.Grant, error) { return d.grant(ctx, userID, accountID) })
	return ownGrant(grant), err
}

// ownGrant copies a grant, so that who gets it cannot change that of others.
func ownGrant(g identity.Grant) identity.Grant {
	g.Membership.RoleIDs, g.Membership.MailboxIDs = slices.Clone(g.Membership.RoleIDs), slices.Clone(g.Membership.MailboxIDs)
	g.Membership.Availability.Schedule = slices.Clone(g.Membership.Availability.Schedule)
	g.Roles = slices.Clone(g.Roles)
	for i := range g.Roles {
		g.Roles[i].Permissions = slices.Clone(g.Roles[i].Permissions)
	}
	return g
}
