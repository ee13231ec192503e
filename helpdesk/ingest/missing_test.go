package ingest_test

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/ingest"
	"github.com/helpwright/helpwright/storage/fault"
)

func TestNewListsMissingFields(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func() error
		want []string
	}{
		"a fetcher": {func() error { _, err := ingest.NewFetcher(ingest.FetcherConfig{}); return err }, []string{"Intake", "Servers"}},
		"a filer":   {func() error { _, err := ingest.NewFiler(ingest.FilerConfig{}); return err }, []string{"Intake"}},
		"again":     {func() error { _, err := ingest.NewAgain(ingest.AgainConfig{}); return err }, []string{"Intake", "Servers"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, ok := errors.AsType[*fault.Error](c.make())
			if !ok || f.Kind != fault.Invalid {
				t.Fatalf("%v", f)
			}
			if diff := cmp.Diff(c.want, slices.Sorted(maps.Keys(f.Fields))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
