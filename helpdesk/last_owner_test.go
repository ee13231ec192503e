package helpdesk_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// An owner of all mailboxes always remains, otherwise some could never be accessed again.
func TestLastOwnerOfAll(t *testing.T) {
	t.Parallel()
	type people struct {
		*bundle
		owner, limited identity.Membership
		roles          map[string]int64
	}
	lastOwner := func(err error) bool {
		var f *fault.Error
		return errors.As(err, &f) && f.Kind == fault.Conflict && f.Code == "last_owner"
	}
	for name, tt := range map[string]struct {
		second bool // there is another owner of all
		try    func(p people) error
		last   bool
	}{
		"limits itself": {false, func(p people) error {
			_, err := p.desk.Members().Update(p.ctx, p.owner.ID, identity.MembershipUpdate{RoleIDs: p.owner.RoleIDs, MailboxIDs: storage.Some([]int64{p.mailbox.ID})})
			return err
		}, true},
		"limits itself beside another": {true, func(p people) error {
			_, err := p.desk.Members().Update(p.ctx, p.owner.ID, identity.MembershipUpdate{RoleIDs: p.owner.RoleIDs, MailboxIDs: storage.Some([]int64{p.mailbox.ID})})
			return err
		}, false},
		"becomes an admin": {false, func(p people) error {
			_, err := p.desk.Members().Update(p.ctx, p.owner.ID, identity.MembershipUpdate{RoleIDs: []int64{p.roles[identity.RoleAdmin]}})
			return err
		}, true},
		"becomes a limited admin": {false, func(p people) error {
			_, err := p.desk.Members().Update(p.ctx, p.owner.ID, identity.MembershipUpdate{
				RoleIDs: []int64{p.roles[identity.RoleAdmin]}, MailboxIDs: storage.Some([]int64{p.mailbox.ID}),
			})
			return err
		}, true},
		"keeps the role among others": {false, func(p people) error {
			_, err := p.desk.Members().Update(p.ctx, p.owner.ID, identity.MembershipUpdate{
				RoleIDs: []int64{p.roles[identity.RoleAdmin], p.roles[identity.RoleOwner]}, MailboxIDs: storage.Null[[]int64](),
			})
			return err
		}, false},
		"leaves":                    {false, func(p people) error { return p.desk.Members().Remove(p.ctx, p.owner.ID) }, true},
		"leaves another behind":     {true, func(p people) error { return p.desk.Members().Remove(p.ctx, p.owner.ID) }, false},
		"removes the limited owner": {false, func(p people) error { return p.desk.Members().Remove(p.ctx, p.limited.ID) }, false},
		"demotes the limited owner": {false, func(p people) error {
			_, err := p.desk.Members().Update(p.ctx, p.limited.ID, identity.MembershipUpdate{RoleIDs: []int64{p.roles[identity.RoleAgent]}})
			return err
		}, false},
		"deletes the mailbox that limits": {false, func(p people) error { return p.desk.Mailboxes().Delete(p.ctx, p.mailbox.ID, true) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			p := people{bundle: b, owner: membershipOf(t, b.ctx, b.desk), roles: map[string]int64{}}
			for _, role := range must(b.desk.Roles().All(b.ctx))(t) {
				p.roles[role.Key] = role.ID
			}
			p.limited = membershipOf(t, b.ctx, b.member(identity.RoleOwner))
			limit := identity.MembershipUpdate{RoleIDs: p.limited.RoleIDs, MailboxIDs: storage.Some([]int64{b.mailbox.ID})}
			must(b.desk.Members().Update(b.ctx, p.limited.ID, limit))(t)
			if tt.second {
				b.member(identity.RoleOwner)
			}
			if err := tt.try(p); lastOwner(err) != tt.last || err != nil && !tt.last {
				t.Errorf("%v", err)
			}
			// A limited owner stays limited, even if its mailbox is deleted.
			if got := must(b.desk.Members().List(b.ctx, storage.PageRequest{}))(t).Items; !tt.last && len(got) > 0 {
				for _, m := range got {
					if m.ID == p.limited.ID && len(m.MailboxIDs) == 0 {
						t.Error("the limited owner reaches all mailboxes")
					}
				}
			}
		})
	}
}

// Two owners who limit or remove each other at once: one of them remains.
func TestLastOwnerAtOnce(t *testing.T) {
	t.Parallel()
	for range 20 {
		b := newBundle(t)
		other := b.member(identity.RoleOwner)
		one, two := membershipOf(t, b.ctx, b.desk), membershipOf(t, b.ctx, other)
		limit := identity.MembershipUpdate{RoleIDs: one.RoleIDs, MailboxIDs: storage.Some([]int64{b.mailbox.ID})}
		var all sync.WaitGroup
		var errs [2]error
		all.Go(func() { _, errs[0] = b.desk.Members().Update(b.ctx, two.ID, limit) })
		all.Go(func() { _, errs[1] = other.Members().Update(b.ctx, one.ID, limit) })
		all.Wait()
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("%v", errs)
		}
	}
}
