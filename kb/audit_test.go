package kb_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

// Deletions are recorded in the account's audit log, except those of a rehearsal.
func TestAudit(t *testing.T) {
	t.Parallel()
	for name, open := range backends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, open(t))
			site := b.site(t, kb.SiteInput{})
			e, err := b.From(netip.MustParseAddr("::ffff:192.0.2.7")).Editor(t.Context(), erin, site.ID)
			if err != nil {
				t.Fatal(err)
			}
			operator, err := b.Operator(t.Context(), site.ID)
			if err != nil {
				t.Fatal(err)
			}
			c, err := e.CreateCollection(t.Context(), kb.CollectionInput{TextInput: kb.TextInput{SourceLocale: "en", Translations: title("Basics")}})
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Rehearsal().DeleteCollection(t.Context(), c.ID); err == nil {
				t.Error("a rehearsal succeeds")
			}
			if err := e.DeleteCollection(t.Context(), c.ID); err != nil {
				t.Fatal(err)
			}
			if err := operator.DeleteSite(t.Context()); err != nil {
				t.Fatal(err)
			}
			log, err := b.desk.Within(helpdesk.Scope{AccountID: 1}).AuditLog(t.Context(), helpdesk.AuditFilter{}, storage.Seek{Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, a := range log {
				got = append(got, fmt.Sprintf("%s %d by %d from %q", a.Action, a.Subject, a.UserID, a.Address))
			}
			want := []string{
				fmt.Sprintf("collection.deleted %d by 1 from %q", c.ID, "192.0.2.7"), fmt.Sprintf("site.deleted %d by 0 from %q", site.ID, ""),
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
