package sqlite

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/fault"
)

// TestPoolHasItsSettings opens pools with addresses that set more and less: Pool adds what is absent, and Ping names what is
// wrong.
func TestPoolHasItsSettings(t *testing.T) {
	t.Parallel()
	plain := func(dsn string) (*sql.DB, error) { return sql.Open("sqlite", dsn) }
	for name, tt := range map[string]struct {
		open  func(dsn string) (*sql.DB, error)
		query string
		want  string // in the fault; "": none
	}{
		"nothing set":                {Pool, "", ""},
		"keys only":                  {Pool, "?_pragma=foreign_keys(1)", ""},
		"shorter names":              {Pool, "?_foreign_keys=1&_busy_timeout=9000&_journal_mode=wal", ""},
		"another setting":            {Pool, "?_pragma=synchronous(FULL)", ""},
		"keys off":                   {Pool, "?_pragma=foreign_keys(0)", "foreign_keys(1)"},
		"transactions begin late":    {Pool, "?_txlock=deferred", "_txlock=immediate"},
		"a journal that is deleted":  {Pool, "?_pragma=journal_mode(DELETE)", "journal_mode(WAL)"},
		"no time to wait":            {Pool, "?_pragma=busy_timeout(0)", "busy_timeout(5000)"},
		"the driver's, nothing set":  {plain, "", "foreign_keys(1)"},
		"the driver's, keys only":    {plain, "?_pragma=foreign_keys(1)", "busy_timeout(5000)"},
		"the driver's, with a delay": {plain, "?_pragma=foreign_keys(1)&_pragma=busy_timeout(5000)", "journal_mode(WAL)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool, err := tt.open("file:" + filepath.Join(t.TempDir(), "own.db") + tt.query)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = pool.Close() })
			db := bunstore.New(bun.NewDB(pool, sqlitedialect.New()), bunstore.Config{})
			for what, err := range map[string]error{"Ping": db.Ping(t.Context()), "Migrate": db.Migrate(t.Context())} {
				switch {
				case tt.want == "" && err != nil:
					t.Errorf("%s: %v", what, err)
				case tt.want != "" && (!fault.Is(err, fault.Disabled) || !strings.Contains(err.Error(), tt.want)):
					t.Errorf("%s: %v, want %s", what, err, tt.want)
				}
			}
		})
	}
}
