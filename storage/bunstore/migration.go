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

// firstRelease is the number of the first migration. Those of earlier numbers were of databases from before the first release,
// which had a history of their own.
const firstRelease = "1000"

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
		number, title, _ := strings.Cut(strings.TrimSuffix(f.Name(), ".sql"), "_")
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

// Applied lists the numbers of the applied migrations, such as "1000", in order.
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

// The codes of the Conflict faults of [DB.CheckSchema].
const (
	CodeNewerSchema      = "newer_schema"
	CodeUnreleasedSchema = "unreleased_schema"
)

// CheckSchema returns a Conflict fault for a schema of a later release, since this release might damage it, and for one from
// before the first release. A schema of an earlier release is not a fault, see [DB.Pending].
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
		if number < firstRelease {
			return &fault.Error{Kind: fault.Conflict, Code: CodeUnreleasedSchema, Resource: "database",
				Message: "This database is from before the first release. Run \"account export\" with the program that made it, and \"account import\" into a new database."}
		}
		if !slices.ContainsFunc(all, func(m migration) bool { return m.number == number }) {
			return &fault.Error{Kind: fault.Conflict, Code: CodeNewerSchema, Resource: "database",
				Message: "A later release made this database: its migration " + number + " is unknown to this release. Run the later release, or restore a backup from before it."}
		}
	}
	return nil
}

// apply applies those of some migrations that are not applied yet, each in a transaction of its own.
func (db *DB) apply(ctx context.Context, some []migration) error {
	at := "TIMESTAMP"
	if db.postgres {
		at = "TIMESTAMPTZ"
	}
	if _, err := db.schema.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS `+migrationsTable+
		` (name VARCHAR NOT NULL PRIMARY KEY, migrated_at `+at+` NOT NULL DEFAULT CURRENT_TIMESTAMP)`); err != nil {
		return failure(ctx, err, "migration", 0)
	}
	done, err := db.Applied(ctx)
	if err != nil {
		return err
	}
	for _, m := range some {
		if slices.Contains(done, m.number) {
			continue
		}
		err := db.schema.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error { return m.run(ctx, tx) })
		if err != nil {
			return failure(ctx, fmt.Errorf("migration %s: %w", m, err), "migration", 0)
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
	if _, err := tx.ExecContext(ctx, string(text)); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO "+migrationsTable+" (name) VALUES (?)", m.number)
	return err
}
