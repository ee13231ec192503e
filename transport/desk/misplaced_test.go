package desk_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// A message that is in the wrong conversation is put into the right one, from its details.
func TestMisplaced(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		message int // of three
		form    url.Values
		stays   []string // in the conversation
		there   []string // where the message is afterwards; nil: it has not moved
		toast   string
	}{
		"from here on":      {1, url.Values{"act": {"here"}}, []string{"stuck."}, []string{"two", "three"}, "Moved to #3"},
		"alone":             {1, url.Values{"act": {"alone"}}, []string{"stuck.", "three"}, []string{"two"}, "Moved to #3"},
		"the first, alone":  {0, url.Values{"act": {"alone"}}, []string{"two", "three"}, []string{"stuck."}, "Moved to #3"},
		"elsewhere":         {2, url.Values{"act": {"move"}, "into": {" #2 "}}, []string{"stuck.", "two"}, []string{"other", "three"}, "Moved to #2"},
		"all of it":         {0, url.Values{"act": {"here"}}, []string{"stuck.", "two", "three"}, nil, "must leave at least one"},
		"nowhere":           {0, url.Values{"act": {"move"}, "into": {"99"}}, []string{"stuck.", "two", "three"}, nil, "There is no conversation #99"},
		"where it is":       {0, url.Values{"act": {"move"}, "into": {"1"}}, []string{"stuck.", "two", "three"}, nil, "must be another conversation"},
		"by the rules":      {0, url.Values{"act": {"again"}}, []string{"stuck.", "two", "three"}, nil, "Nothing changed"},
		"a note, by rules":  {1, url.Values{"act": {"again"}}, []string{"stuck.", "two", "three"}, nil, "did not arrive by mail"},
		"what no form says": {0, url.Values{"act": {"eat"}}, []string{"stuck.", "two", "three"}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, nil)
			id, _ := b.comes("Subject: The door\n\nIt is stuck.\n")
			other := b.asks("bob@example.com", "Other", "other")
			b.adds(helpdesk.Conversation{ID: id}, helpdesk.TypeNote, "two")
			b.adds(helpdesk.Conversation{ID: id}, helpdesk.TypeNote, "three")
			said, err := b.desk.Interactions().List(t.Context(), id, storage.PageRequest{})
			if err != nil {
				t.Fatal(err)
			}
			at := fmt.Sprintf("/c/%d/i/%d", id, said.Items[tt.message].ID)
			if page := b.get(at).body; !strings.Contains(page, "In the wrong conversation?") {
				t.Errorf("the page offers nothing:\n%s", page)
			}
			a := b.post(at+"/place", tt.form)
			if tt.toast == "" {
				if a.status != http.StatusBadRequest {
					t.Errorf("status %d", a.status)
				}
			} else if page := b.goOn(a); !strings.Contains(page, tt.toast) {
				t.Errorf("%q is not on the page:\n%s", tt.toast, page)
			}
			words := func(id int64) (out []string) {
				for _, s := range b.said(id) {
					out = append(out, s[strings.LastIndexByte(s, ' ')+1:])
				}
				return out
			}
			if diff := cmp.Diff(tt.stays, words(id)); diff != "" {
				t.Error(diff)
			}
			if tt.there == nil {
				return
			}
			there := other.ID
			if tt.form.Get("act") != "move" {
				there = other.ID + 1
			}
			if diff := cmp.Diff(tt.there, words(there)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
