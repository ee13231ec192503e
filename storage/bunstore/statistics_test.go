package bunstore_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/both"
)

// An opened database has statistics of the tables that have rows.
func TestStatistics(t *testing.T) {
	t.Parallel()
	url := databases[0].url(t)
	db := unmigrated(t, url)
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if _, err := newAccount(t.Context(), db, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := both.Open(t.Context(), url, bunstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = again.Close() })
	var got string
	if err := bunstore.QueryRow(t.Context(), again, "SELECT stat FROM sqlite_stat1 WHERE tbl = 'hw_accounts' LIMIT 1").Scan(&got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("20", got); diff != "" {
		t.Errorf("accounts: (-want +got)\n%s", diff)
	}
}
