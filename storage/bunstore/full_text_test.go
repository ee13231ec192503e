package bunstore_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/both"
)

// Writes leave the segments of the full-text index to Run, which merges them, and searches find the same before and after.
func TestMergeSegments(t *testing.T) {
	t.Parallel()
	db, err := both.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "helpwright.db"), bunstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	account, err := newAccount(t.Context(), db, "a")
	if err != nil {
		t.Fatal(err)
	}
	scope := helpdesk.Scope{AccountID: account.ID}
	const customers = 60
	for i := range customers {
		err := db.InTx(t.Context(), scope, func(ctx context.Context, tx helpdesk.Tx) error {
			c := helpdesk.Customer{FirstName: fmt.Sprint("c", i)}
			if err := tx.InsertCustomer(ctx, &c); err != nil {
				return err
			}
			return tx.SetCustomerTerms(ctx, c.ID, []string{"all", fmt.Sprint("word", i)})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	segments := func() (n int) {
		t.Helper()
		if err := bunstore.QueryRow(t.Context(), db, "SELECT count(DISTINCT segid) FROM hw_customer_search_idx").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	found := func() (ids []int64) {
		t.Helper()
		for _, word := range []string{"all", "word7", "word59"} {
			page, err := db.Within(scope).Customers(t.Context(), helpdesk.CustomerFilter{Terms: []helpdesk.SearchTerm{{Text: word}}}, storage.Seek{Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range page {
				ids = append(ids, c.ID)
			}
		}
		return ids
	}
	before, many := found(), segments()
	if len(before) != customers+2 || many < 8 {
		t.Fatalf("%d customers are found in %d segments", len(before), many)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- db.Run(ctx) }()
	for range 500 {
		if segments() <= 4 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if n := segments(); n > 4 {
		t.Errorf("%d of %d segments are left", n, many)
	}
	if diff := cmp.Diff(before, found()); diff != "" {
		t.Errorf("customers found before and after: (-before +after)\n%s", diff)
	}
}
