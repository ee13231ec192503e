package bench

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"
)

// address is the address of one of our own databases, with a function to remove it.
type address struct {
	url         string // as bunstore has it
	driver, dsn string // of a plain connection
	drop        func() error
}

func sqliteAddress(dir, name string) address {
	path := filepath.Join(dir, name+".db")
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: "_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=foreign_keys(1)&_pragma=synchronous(FULL)&_txlock=immediate"}
	return address{url: "sqlite:" + path, driver: "sqlite", dsn: u.String(), drop: func() error { return nil }} // with its folder
}

// checkPostgres refuses a text that is not the URL of a server, without quoting it, as it may contain a password.
func checkPostgres(server string) error {
	u, err := url.Parse(server)
	if server != "" && (err != nil || u.Host == "" || u.Scheme != "postgres" && u.Scheme != "postgresql") {
		return errors.New("the address of PostgreSQL must be a URL: postgres://USER:PASSWORD@HOST/DATABASE")
	}
	return nil
}

// createPostgres creates a database with a unique name.
func createPostgres(ctx context.Context, server string) (address, error) {
	u, err := url.Parse(server)
	if err != nil {
		return address{}, err // see checkPostgres
	}
	name := "helpwright_bench_" + strings.ToLower(rand.Text())
	u.Path = "/" + name
	drop := func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute) // even after an interruption
		defer cancel()
		if err := execute(ctx, server, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			return fmt.Errorf("the database %s is left: %w", name, err)
		}
		return nil
	}
	if err := execute(ctx, server, "CREATE DATABASE "+name+" TEMPLATE template0 ENCODING 'UTF8'"); err != nil {
		err = fmt.Errorf("a database cannot be created on the PostgreSQL server: %w", err)
		if ctx.Err() != nil { // it may have been created all the same
			err = errors.Join(err, drop())
		}
		return address{}, err
	}
	return address{url: u.String(), driver: "pgx", dsn: u.String(), drop: drop}, nil
}

// execute runs a statement on a connection of its own.
func execute(ctx context.Context, dsn, statement string) error {
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, statement)
	return errors.Join(err, db.Close())
}
