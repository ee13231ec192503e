package helpdesk

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// counted handles every field of a filter: when a field is added, it must decide whether the stored counts cover it.
func TestCountedKnowsAllFields(t *testing.T) {
	t.Parallel()
	var fields []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[ConversationFilter]()) {
		fields = append(fields, f.Name)
	}
	kept := []string{"Statuses", "MailboxID", "UserID", "TeamID", "Awaiting", "Snoozed", "TagIDs", "Priorities", "Spam"}
	others := []string{"CustomerID", "CompanyID", "UpdatedSince", "CreatedBefore", "Terms", "Fields", "Audience", "DraftBy", "Undelivered", "Due", "Ratings", "Held", "Unerased", "Attached", "Also", "Except"}
	known := map[string]bool{}
	for _, name := range append(kept, others...) {
		known[name] = true
	}
	got := map[string]bool{}
	for _, name := range fields {
		got[name] = true
	}
	if diff := cmp.Diff(known, got); diff != "" {
		t.Errorf("fields of ConversationFilter (-known +there): %s", diff)
	}
}
