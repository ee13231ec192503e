package bunstore_test

import (
	"sync"
	"testing"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
)

// Two owners limit, demote or remove each other at the same moment, in two processes: in any order, one owner with full
// reach remains.
func TestLastOwnerAtOnce(t *testing.T) {
	t.Parallel()
	persistent(t, func(t *testing.T, url string) {
		two, mailbox := processes(t, url)
		ctx, operator, account := t.Context(), two[0].svc.Operator(), two[0].desk.AccountID()
		second, err := operator.CreateUser(ctx, identity.UserInput{Email: "otto@example.org"})
		if err != nil {
			t.Fatal(err)
		}
		m2, err := operator.AddMember(ctx, account, second.ID, identity.RoleOwner)
		if err != nil {
			t.Fatal(err)
		}
		m1, err := two[0].desk.Membership(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if two[1].desk, err = two[1].svc.Desk(ctx, two[1].svc.As(second.ID), account); err != nil {
			t.Fatal(err)
		}
		limit := identity.MembershipUpdate{RoleIDs: m1.RoleIDs, MailboxIDs: storage.Some([]int64{mailbox.ID})}
		free := identity.MembershipUpdate{RoleIDs: m1.RoleIDs, MailboxIDs: storage.Null[[]int64]()}
		for range 15 {
			var errs [2]error
			var all sync.WaitGroup
			for n, victim := range []int64{m2.ID, m1.ID} {
				all.Go(func() { _, errs[n] = two[n].desk.Members().Update(ctx, victim, limit) })
			}
			all.Wait()
			if (errs[0] == nil) == (errs[1] == nil) {
				t.Fatalf("%v", errs)
			}
			winner := 0
			if errs[0] != nil {
				winner = 1
			}
			for _, id := range []int64{m1.ID, m2.ID} {
				if _, err := two[winner].desk.Members().Update(ctx, id, free); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
