package bunstore_test

import (
	"path/filepath"
	"strings"
	"testing"

	desktransfer "github.com/helpwright/helpwright/helpdesk/transfer"
	kbtransfer "github.com/helpwright/helpwright/kb/transfer"
	"github.com/helpwright/helpwright/storage/bunstore"
)

// A table that is added has rows that an archive of an account carries, or leaves out for a reason.
func TestAllTablesTravel(t *testing.T) {
	t.Parallel()
	db := open(t, "sqlite:"+filepath.Join(t.TempDir(), "a.db"), bunstore.Config{})
	tables, err := bunstore.Tables(t.Context(), db)
	if err != nil || len(tables) < 50 {
		t.Fatal(tables, err)
	}
	for _, name := range tables {
		if !strings.HasPrefix(name, "hw_") || strings.HasPrefix(name, "hw_migration") || strings.Contains(name, "_search_") || strings.Contains(name, "_terms_") || strings.HasSuffix(name, "_vocabulary") {
			continue
		}
		_, desk := desktransfer.Tables()[name]
		_, site := kbtransfer.Tables()[name]
		if _, out := desktransfer.LeftOut()[name]; out == (desk || site) {
			t.Errorf("%s: an archive of an account must either have it or leave it out for a reason", name)
		}
	}
}
