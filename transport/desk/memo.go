package desk

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// memo caches data that pages show and that rarely changes, for one member of an account: the member, the account, the team,
// tags, teams, views, mailboxes, names of customers. It is valid until the log of events has a change of it, and no longer
// than memoLife: names of users, and other accounts, have no events there. A page of the inbox takes 5 queries with it, and 20
// without.
type memo struct {
	begun time.Time
	seq   int64       // of the last event with which it was compared, see memos
	busy  atomic.Bool // there were events at the last comparison

	mu      sync.Mutex
	user    kept[identity.User] // the member
	account kept[identity.Account]
	members kept[[]identity.Membership]
	people  map[int64]person // members
	tags    kept[[]tagView]
	fields  kept[[]helpdesk.Field] // of conversations
	traits  kept[[]helpdesk.Field] // fields of customers
	teams   kept[[]helpdesk.Team]
	views   kept[[]helpdesk.View]
	boxes   kept[[]helpdesk.Mailbox]
	slas    kept[[]helpdesk.SLA]
	links   kept[[]Link] // of other accounts
	names   map[int64]string
	counts  kept[helpdesk.Counts] // valid until any event at all
}

const (
	memoLife = 30 * time.Second
	// maxMemos is the maximum number of members cached in a process, and maxNames that of customers' names for each.
	maxMemos, maxNames = 1000, 5000
)

// kept is a cached value.
type kept[T any] struct {
	known bool
	value T
}

// memoize returns a cached value, or reads it.
func memoize[T any](m *memo, slot *kept[T], read func() (T, error)) (T, error) {
	m.mu.Lock()
	found := *slot
	m.mu.Unlock()
	if found.known {
		return found.value, nil
	}
	value, err := read()
	if err == nil {
		m.mu.Lock()
		*slot = kept[T]{true, value}
		m.mu.Unlock()
	}
	return value, err
}

// memos are those of a process.
type memos struct {
	mu   sync.Mutex
	kept map[memoKey]*memo
}

type memoKey struct {
	user, account int64
	scope         string // mailboxes that the member sees
}

// of returns a member's memo and the event with which it was compared; nil if there is none, or it is too old.
func (all *memos) of(key memoKey, now time.Time) (*memo, int64) {
	all.mu.Lock()
	defer all.mu.Unlock()
	m := all.kept[key]
	if m == nil || now.Sub(m.begun) > memoLife || now.Before(m.begun) {
		return nil, 0
	}
	return m, m.seq
}

// set stores a memo that was compared with an event.
func (all *memos) set(key memoKey, m *memo, seq int64) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.kept == nil || len(all.kept) >= maxMemos {
		all.kept = map[memoKey]*memo{}
	}
	if all.kept[key] == nil { // a new member makes room by evicting expired ones
		maps.DeleteFunc(all.kept, func(_ memoKey, old *memo) bool { return m.begun.Sub(old.begun) > memoLife })
	}
	m.seq = max(m.seq, seq)
	all.kept[key] = m
}

func (all *memos) drop(key memoKey) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.kept, key)
}

// remember finds the member's memo, and records the position in the log of events before the page is read. Form submissions
// bypass the memo.
func (v *visit) remember() error {
	v.memo = &memo{}
	key := memoKey{v.UserID(), v.AccountID(), fmt.Sprint(v.Scope().Mailboxes)}
	if v.r.Method != http.MethodGet && v.r.Method != http.MethodHead {
		v.h.memos.drop(key)
		return nil
	}
	m, seq := v.h.memos.of(key, v.now)
	last := seq
	if m != nil && !m.busy.Load() { // probably nothing has happened, and reading the last event's number is cheaper
		var err error
		if last, err = v.Events().Last(v.ctx()); err != nil {
			return v.unlessForbidden(err)
		}
	}
	if m != nil && (last > seq || m.busy.Load()) {
		page, err := v.Events().List(v.ctx(), subscription.EventQuery{After: seq}, storage.PageRequest{Limit: storage.MaxLimit})
		if err != nil {
			return v.unlessForbidden(err)
		}
		if n := len(page.Items); n > 0 {
			seq = page.Items[n-1].Seq
			m = m.after(page.Items)
		} else {
			m.busy.Store(false)
		}
		if page.Next != "" {
			m = nil
		}
		seq = max(seq, last) // beyond events that the member may not see
	}
	if m == nil {
		last, err := v.Events().Last(v.ctx())
		if err != nil {
			return v.unlessForbidden(err)
		}
		m, seq = &memo{begun: v.now}, last
	}
	v.memo, v.last = m, seq
	v.h.memos.set(key, m, seq)
	return nil
}

// unlessForbidden ignores a Forbidden fault: members who may not see events have no memo.
func (v *visit) unlessForbidden(err error) error {
	if fault.Is(err, fault.Forbidden) {
		return nil
	}
	return err
}

// after returns the part of a memo that is valid after events; nil if none is. Concurrent reads go into the old one.
func (m *memo) after(events []storage.Event) *memo {
	renamed := false
	for _, e := range events {
		switch area, what, _ := strings.Cut(e.Type, "."); area {
		case "conversation", "interaction", "attachment", "notification", "mail":
		case "customer":
			renamed = renamed || what != "created"
		case "sla":
			if !helpdesk.SLAOutcomeEvent(e.Type) {
				return nil
			}
		default:
			return nil
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	next := &memo{begun: m.begun, user: m.user, account: m.account, members: m.members, people: m.people, tags: m.tags, fields: m.fields, traits: m.traits, teams: m.teams, views: m.views, boxes: m.boxes, slas: m.slas, links: m.links}
	if !renamed {
		next.names = m.names
	}
	next.busy.Store(true)
	return next
}

// customersNames returns the known names of customers, and the ids of the others.
func (m *memo) customersNames(ids []int64) (names map[int64]string, unknown []int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	names = map[int64]string{}
	for _, id := range ids {
		if name, known := m.names[id]; known {
			names[id] = name
		} else {
			unknown = append(unknown, id)
		}
	}
	return names, unknown
}

// keepNames adds names of customers. Several memos may share the map, so it is not modified.
func (m *memo) keepNames(found map[int64]string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(found) == 0 {
		return
	}
	all := make(map[int64]string, len(m.names)+len(found))
	if len(m.names)+len(found) <= maxNames {
		for id, name := range m.names {
			all[id] = name
		}
	}
	for id, name := range found {
		all[id] = name
	}
	m.names = all
}

// memberships returns the memberships of the account, at most maxTeam.
func (v *visit) memberships() ([]identity.Membership, error) {
	return memoize(v.memo, &v.memo.members, func() ([]identity.Membership, error) {
		var all []identity.Membership
		for cursor := ""; ; {
			page, err := v.Members().List(v.ctx(), storage.PageRequest{Limit: storage.MaxLimit, Cursor: cursor})
			if err != nil {
				return nil, err
			}
			all = append(all, page.Items...)
			if cursor = page.Next; cursor == "" || len(all) >= maxTeam {
				return all, nil
			}
		}
	})
}

// people finds users by id, ignoring 0.
func (v *visit) people(ids []int64) (map[int64]person, error) {
	found := map[int64]person{}
	v.memo.mu.Lock()
	ids = slices.DeleteFunc(without(ids, 0), func(id int64) bool {
		p, known := v.memo.people[id]
		if known {
			found[id] = p
		}
		return known
	})
	v.memo.mu.Unlock()
	if len(ids) == 0 {
		return found, nil
	}
	users, err := v.Members().Users(v.ctx(), ids)
	v.memo.mu.Lock()
	defer v.memo.mu.Unlock()
	all := make(map[int64]person, len(v.memo.people)+len(users))
	for id, p := range v.memo.people {
		all[id] = p
	}
	for _, u := range users {
		found[u.ID] = v.person(u)
		all[u.ID] = found[u.ID]
	}
	v.memo.people = all
	return found, err
}
