package kb_test

import (
	"errors"
	"testing"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

// A rehearsal finds problems and changes nothing.
func TestRehearsal(t *testing.T) {
	t.Parallel()
	b := memory(t)
	site := b.site(t, kb.SiteInput{})
	sites, err := b.Sites(erin)
	if err != nil {
		t.Fatal(err)
	}
	e, err := b.Editor(t.Context(), erin, site.ID)
	if err != nil {
		t.Fatal(err)
	}
	_, siteErr := sites.Rehearsal().Create(t.Context(), kb.SiteInput{AccountID: 1, Name: "Other"})
	_, right := e.Rehearsal().CreateCollection(t.Context(), kb.CollectionInput{TextInput: kb.TextInput{SourceLocale: "en", Translations: title("Basics")}})
	for what, err := range map[string]error{"a site": siteErr, "a collection": right} {
		if err == nil || errors.Is(err, kb.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := e.Rehearsal().CreateCollection(t.Context(), kb.CollectionInput{}); !errors.Is(err, kb.ErrInvalid) {
		t.Errorf("a collection without anything: %v", err)
	}
	all, err := sites.List(t.Context(), 1, storage.PageRequest{})
	if err != nil || len(all.Items) != 1 {
		t.Errorf("sites %v %v", all.Items, err)
	}
	collections, err := e.Collections(t.Context(), false, storage.PageRequest{})
	if err != nil || len(collections.Items) != 0 {
		t.Errorf("collections %v %v", collections.Items, err)
	}
}
