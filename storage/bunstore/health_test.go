package bunstore_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/both"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/testenv"
)

// write creates an account with a name of the given size.
func write(ctx context.Context, db *bunstore.DB, size int) error {
	return db.InSystemTx(ctx, func(ctx context.Context, tx helpdesk.SystemTx) error {
		return tx.InsertAccount(ctx, &identity.Account{Name: strings.Repeat("x", size), NextNumber: 1})
	})
}

// TestUnwritable makes a database refuse writes: that is an Unavailable fault, never Internal, also for CheckWrite, and
// writes work again afterwards.
func TestUnwritable(t *testing.T) {
	t.Parallel()
	execute := func(query string) func(*testing.T, *bunstore.DB) {
		return func(t *testing.T, db *bunstore.DB) {
			t.Helper()
			if err := bunstore.Exec(t.Context(), db, query); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, test := range map[string]struct {
		breaks, mends func(*testing.T, *bunstore.DB)
	}{
		"SQLite read-only": {execute("PRAGMA query_only = 1"), execute("PRAGMA query_only = 0")},
		"SQLite full":      {execute("PRAGMA max_page_count = 1"), execute("PRAGMA max_page_count = 1000000")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t, "sqlite:"+filepath.Join(t.TempDir(), "db"), bunstore.Config{})
			for range 2 {
				if err := db.CheckWrite(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			test.breaks(t, db)
			// First use up the free space in the file.
			var err error
			for n := 0; err == nil && n < 100; n++ {
				err = write(t.Context(), db, 20_000)
			}
			if !fault.Is(err, fault.Unavailable) {
				t.Errorf("writing: %v", err)
			}
			if err := db.CheckWrite(t.Context()); !fault.Is(err, fault.Unavailable) {
				t.Errorf("CheckWrite: %v", err)
			}
			if _, err := db.HasUsers(t.Context()); err != nil {
				t.Errorf("reading: %v", err)
			}
			test.mends(t, db)
			if err := write(t.Context(), db, 20_000); err != nil {
				t.Error(err)
			}
			if err := db.CheckWrite(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestReadOnlyPostgres is TestUnwritable for a standby or a read-only server.
func TestReadOnlyPostgres(t *testing.T) {
	t.Parallel()
	dsn := testenv.Postgres(t)
	db := open(t, dsn, bunstore.Config{})
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	admin := plainPostgres(t, dsn)
	set := func(value string) *bunstore.DB {
		t.Helper()
		if _, err := admin.Exec(fmt.Sprintf("BEGIN; SET TRANSACTION READ WRITE; ALTER DATABASE %s SET default_transaction_read_only = %s; COMMIT", u.Path[1:], value)); err != nil {
			t.Fatal(err)
		}
		fresh, err := both.Open(t.Context(), dsn, bunstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = fresh.Close() })
		return fresh
	}
	if err := db.CheckWrite(t.Context()); err != nil {
		t.Fatal(err)
	}
	frozen := set("on")
	for what, err := range map[string]error{"writing": write(t.Context(), frozen, 10), "CheckWrite": frozen.CheckWrite(t.Context()), "TryWrite": frozen.TryWrite(t.Context())} {
		if !fault.Is(err, fault.Unavailable) {
			t.Errorf("%s: %v", what, err)
		}
	}
	thawed := set("off")
	for what, db := range map[string]*bunstore.DB{"opened since": thawed, "opened before": frozen} {
		for check, try := range map[string]func(context.Context) error{"CheckWrite": db.CheckWrite, "TryWrite": db.TryWrite} {
			if err := try(t.Context()); err != nil {
				t.Errorf("the database %s: %s: %v", what, check, err)
			}
		}
	}
}

// TestCheckIntegrity damages a file.
func TestCheckIntegrity(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	db, err := both.Open(t.Context(), "sqlite:"+path, bunstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if err := write(t.Context(), db, 2000); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.CheckIntegrity(t.Context()); err != nil {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copy(content[len(content)-4096:], strings.Repeat("\xff", 100)) // a page of accounts
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err = both.Open(t.Context(), "sqlite:"+path, bunstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.CheckIntegrity(t.Context()); err == nil || !strings.Contains(err.Error(), "damaged") && !strings.Contains(err.Error(), "malformed") {
		t.Errorf("a damaged file: %v", err)
	}
}
