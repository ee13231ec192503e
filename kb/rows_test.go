package kb_test

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage/memstore"
)

// A store is asked for the rows of every noun of its own when a service is made.
func TestRowsOfEveryNoun(t *testing.T) {
	t.Parallel()
	var want []string
	for method := range reflect.TypeFor[kb.Reader]().Methods() {
		if of := method.Type; of.NumIn() == 0 && of.NumOut() == 1 && of.Out(0).Kind() == reflect.Interface {
			want = append(want, method.Name)
		}
	}
	got := slices.Sorted(maps.Keys(kb.RowsOf(memstore.New().KB().Within(kb.Scope{}))))
	if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
		t.Error(diff)
	}
}
