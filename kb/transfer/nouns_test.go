package transfer

import (
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage/transfer"
)

// A noun added to the knowledge base is transferred, or listed with the reason why not.
func TestAllNounsTravel(t *testing.T) {
	t.Parallel()
	travels := map[string]bool{}
	for _, n := range newNouns().all() {
		travels[n.Name()] = true
	}
	if fields := reflect.TypeFor[nouns]().NumField(); fields != len(travels) {
		t.Errorf("%d nouns are declared, and %d listed", fields, len(travels))
	}
	declared := reflect.TypeFor[kb.Declarations]()
	for i := range declared.NumField() {
		name := declared.Field(i).Name
		if _, out := LeftOut()[name]; out == travels[snake(name)] {
			t.Errorf("%s: an archive must either have it or leave it out for a reason", name)
		}
	}
}

func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Contents refer to pages and files of the site by the ids that these have.
func TestReferencesTravel(t *testing.T) {
	t.Parallel()
	r := revision{Revision: kb.Revision{Text: kb.Text{Translations: []kb.Translation{{
		Content:  `<p><a href="kb:articles/7#x">a</a><img src="kb:files/8/abcdefgh/a%20b.png"/></p>`,
		Markdown: "[a](kb:collections/9)", MadeFrom: kb.SourceText{Content: `<a href="kb:categories/10">a</a>`},
	}}}}}
	to := map[string]int64{"article": 70, "file": 80, "collection": 90, "category": 100}
	newNouns().revisions.Walk(transfer.NewVisitor(nil, func(noun string, id *int64, _ bool) { *id = to[noun] }), &r)
	got := r.Translations[0]
	want := kb.Translation{
		Content:  `<p><a href="kb:articles/70#x">a</a><img src="kb:files/80/abcdefgh/a%20b.png"/></p>`,
		Markdown: "[a](kb:collections/90)", MadeFrom: kb.SourceText{Content: `<a href="kb:categories/100">a</a>`},
	}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}
