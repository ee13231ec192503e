package bunstore_test

import (
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/testenv"
)

// TestBlobColumns compares blobColumns with the schema: it must include every column whose name suggests the key of a blob
// or of a raw mail, and each must have an index.
func TestBlobColumns(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]func(t *testing.T) *sql.DB{
		"SQLite": func(t *testing.T) *sql.DB {
			path := filepath.Join(t.TempDir(), "db")
			open(t, "sqlite:"+path, bunstore.Config{})
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { db.Close() })
			return db
		},
		"PostgreSQL": func(t *testing.T) *sql.DB {
			dsn := testenv.Postgres(t)
			open(t, dsn, bunstore.Config{})
			return plainPostgres(t, dsn)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			query := `SELECT m.name || '.' || c.name FROM sqlite_master AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table'`
			if name == "PostgreSQL" {
				query = `SELECT table_name || '.' || column_name FROM information_schema.columns WHERE table_schema = current_schema()`
			}
			rows, err := schema(t).Query(query)
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			var columns []string
			for rows.Next() {
				var column string
				if err := rows.Scan(&column); err != nil {
					t.Fatal(err)
				}
				if _, c, _ := strings.Cut(column, "."); strings.Contains(c, "blob") || strings.Contains(c, "raw") {
					columns = append(columns, column)
				}
			}
			slices.Sort(columns)
			if diff := cmp.Diff(bunstore.BlobColumns(), columns); diff != "" {
				t.Errorf("columns with keys of blobs (-known +schema):\n%s", diff)
			}
		})
	}
}
