package bunstore

import (
	"context"
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/storage/fault"
)

//go:embed migrations
var migrationFiles embed.FS

// migrationsTable lists the applied migrations.
const migrationsTable = "hw_migrations"

// migration is a step of the schema.
type migration struct {
	number string // four digits
	title  string
	file   string
}

func (m migration) String() string { return m.number + "_" + m.title }

const (
	migrationSuffix = ".tx.up.sql"
	splitLine       = "\n--bun:split\n" // between statements of a file that run one by one
)

// migrations lists all migrations in order.
func (db *DB) migrations() ([]migration, error) {
	folder := "migrations/sqlite"
	if db.postgres {
		folder = "migrations/postgres"
	}
	files, err := migrationFiles.ReadDir(folder)
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "bunstore.Migrate", err)
	}
	all := make([]migration, len(files))
	for i, f := range files {
		number, title, _ := strings.Cut(strings.TrimSuffix(f.Name(), migrationSuffix), "_")
		all[i] = migration{number: number, title: title, file: path.Join(folder, f.Name())}
	}
	return all, nil
}

// Pending lists the migrations that [DB.Migrate] would run, in order.
func (db *DB) Pending(ctx context.Context) ([]string, error) {
	done, err := db.Applied(ctx)
	if err != nil {
		return nil, err
	}
	all, err := db.migrations()
	if err != nil {
		return nil, err
	}
	var pending []string
	for _, m := range all {
		if !slices.Contains(done, m.number) {
			pending = append(pending, m.String())
		}
	}
	return pending, nil
}

// Applied lists the numbers of the applied migrations, such as "0110", in order.
func (db *DB) Applied(ctx context.Context) ([]string, error) {
	known := `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?`
	if db.postgres {
		known = `SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = ?`
	}
	var tables int
	if err := db.write.NewRaw(known, migrationsTable).Scan(ctx, &tables); err != nil || tables == 0 {
		return nil, failure(ctx, err, "migration", 0)
	}
	var numbers []string
	err := db.write.NewRaw("SELECT name FROM "+migrationsTable+" ORDER BY name").Scan(ctx, &numbers)
	return numbers, failure(ctx, err, "migration", 0)
}

// CodeNewerSchema is the code of the Conflict fault of [DB.CheckSchema].
const CodeNewerSchema = "newer_schema"

// CheckSchema returns a Conflict fault for a schema of a later release, since this release might damage it. An older schema
// is not a fault, see [DB.Pending].
func (db *DB) CheckSchema(ctx context.Context) error {
	done, err := db.Applied(ctx)
	if err != nil {
		return err
	}
	all, err := db.migrations()
	if err != nil {
		return err
	}
	for _, number := range done {
		if !slices.ContainsFunc(all, func(m migration) bool { return m.number == number }) {
			return &fault.Error{Kind: fault.Conflict, Code: CodeNewerSchema, Resource: "database",
				Message: "A later release made this database: its migration " + number + " is unknown to this release. Run the later release, or restore a backup from before it."}
		}
	}
	return nil
}

// apply applies those of some migrations that are not applied yet, each in a transaction of its own. A new file of SQLite gets
// all in one, so that it waits for the disk once; PostgreSQL would need some 1,500 locks for that.
func (db *DB) apply(ctx context.Context, some []migration) error {
	id, at := "INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT", "TIMESTAMP"
	if db.postgres {
		id, at = "BIGSERIAL PRIMARY KEY", "TIMESTAMPTZ"
	}
	// Only earlier releases read group_id.
	if _, err := db.schema.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS `+migrationsTable+
		` (id `+id+`, name VARCHAR, group_id BIGINT, migrated_at `+at+` NOT NULL DEFAULT CURRENT_TIMESTAMP)`); err != nil {
		return failure(ctx, err, "migration", 0)
	}
	done, err := db.Applied(ctx)
	if err != nil {
		return err
	}
	pending := slices.DeleteFunc(slices.Clone(some), func(m migration) bool { return slices.Contains(done, m.number) })
	size := 1
	if len(done) == 0 && !db.postgres {
		size = max(1, len(pending))
	}
	for together := range slices.Chunk(pending, size) {
		err := db.schema.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
			for _, m := range together {
				if err := m.run(ctx, tx); err != nil {
					return fmt.Errorf("migration %s: %w", m, err)
				}
			}
			return nil
		})
		if err != nil {
			return failure(ctx, err, "migration", 0)
		}
	}
	return nil
}

// run runs a migration and records that it is applied, both in one transaction: otherwise a process that dies in between leaves
// a database in which the migration would run a second time, and fail.
func (m migration) run(ctx context.Context, tx bun.Tx) error {
	text, err := migrationFiles.ReadFile(m.file)
	if err != nil {
		return err
	}
	for statement := range strings.SplitSeq(string(text), splitLine) {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO "+migrationsTable+" (name) VALUES (?)", m.number)
	return err
}
