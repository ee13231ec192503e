package storagetest

import (
	"context"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

func (w *world) newMemberMail(name string) helpdesk.MemberMail {
	return helpdesk.MemberMail{
		UserID: w.user.ID, Key: name + w.mark, InboundID: 7, Outcome: helpdesk.MemberMailReturned, CreatedAt: at(1),
	}
}

// testMemberMailFilter lists the mails of a member, and finds one by its key.
func testMemberMailFilter(t *testing.T, b Backend) {
	w := newWorld(t, b)
	var all []helpdesk.MemberMail
	for _, key := range []string{"<a@b>", "<A@b>", "%"} {
		m := w.newMemberMail("")
		m.UserID, m.Key = 0, key
		all = append(all, m)
	}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		for n := range all {
			ok(t, helpdesk.Nouns().MemberMails.Rows(tx).Insert(ctx, &all[n]))
		}
		return nil
	})
	for name, test := range map[string]struct {
		filter helpdesk.MemberMailFilter
		want   []int
	}{
		"all of a user's": {helpdesk.MemberMailFilter{}, []int{0, 1, 2}},
		"one":             {helpdesk.MemberMailFilter{Key: "<a@b>"}, []int{0}},
		"no wildcards":    {helpdesk.MemberMailFilter{Key: "%"}, []int{2}},
		"none":            {helpdesk.MemberMailFilter{Key: "<b@b>"}, nil},
		"another user's":  {helpdesk.MemberMailFilter{UserID: w.user.ID, Key: "<a@b>"}, nil},
	} {
		var want []helpdesk.MemberMail
		for _, n := range test.want {
			want = append(want, all[n])
		}
		got, err := helpdesk.Nouns().MemberMails.Reader(w.in()).List(t.Context(), test.filter, storage.Seek{Limit: 100})
		ok(t, err)
		same(t, name, want, got)
	}
}
