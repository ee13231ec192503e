package desk_test

import (
	"testing"

	"github.com/helpwright/helpwright/transport/desk"
)

// A desk that nobody has opened yet holds its routes: templates are parsed, and files compressed, when they are first asked
// for. Parsing takes 44,000 allocations for each language.
func TestNewParsesNothing(t *testing.T) { //nolint:paralleltest // it measures
	var cfg desk.Config
	newBundle(t, func(c *desk.Config) { cfg = *c })
	const most = 10_000
	if n := testing.AllocsPerRun(5, func() {
		if _, err := desk.New(cfg); err != nil {
			t.Error(err)
		}
	}); n > most {
		t.Errorf("%v allocations, at most %d are expected", n, most)
	}
}
