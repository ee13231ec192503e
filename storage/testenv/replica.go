package testenv

import (
	"database/sql"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Replicated describes a PostgreSQL server with a streaming replica, for one test alone.
type Replicated struct {
	PrimaryURL string // of the database "postgres", by a superuser
	ReplicaURL string // of the same database on the replica
	ctl        string
}

// OwnReplicated starts a PostgreSQL server and a streaming replica of it, which takes some seconds. Both are stopped at the end
// of the test.
func OwnReplicated(t testing.TB) Replicated {
	t.Helper()
	if os.Getenv(EnvPostgresURL) == "" { // then this machine has the programs
		Skip(t, "no PostgreSQL: "+EnvPostgresURL+" is not set")
	}
	env := own(t, "replica", nil)
	address := func(name string) string { return "postgres://postgres@" + env(name) + "/postgres?sslmode=disable" }
	return Replicated{
		PrimaryURL: address("HELPWRIGHT_TEST_PRIMARY"), ReplicaURL: address("HELPWRIGHT_TEST_REPLICA"), ctl: env("HELPWRIGHT_TEST_REPLICA_CTL"),
	}
}

// Database creates another database, which is dropped at the end of the test, and returns its URLs on the server and on the
// replica, which has it by then.
func (r Replicated) Database(t testing.TB) (primaryURL, replicaURL string) {
	t.Helper()
	name := Name("helpwright_test")
	execPostgres(t, r.PrimaryURL, `CREATE DATABASE `+name+` TEMPLATE template0 ENCODING 'UTF8'`)
	t.Cleanup(func() { execPostgres(t, r.PrimaryURL, `DROP DATABASE IF EXISTS `+name+` WITH (FORCE)`) })
	of := func(server string) string { return strings.Replace(server, "/postgres?", "/"+name+"?", 1) }
	db, err := sql.Open("pgx", of(r.ReplicaURL))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	Eventually(t, "the replica has the new database", func() bool { return db.PingContext(t.Context()) == nil })
	return of(r.PrimaryURL), of(r.ReplicaURL)
}

// Kill kills the replica as a crash does.
func (r Replicated) Kill(t testing.TB) {
	t.Helper()
	r.control(t, "kill")
}

// Start starts the replica again.
func (r Replicated) Start(t testing.TB) {
	t.Helper()
	r.control(t, "start")
}

// Synchronize has the primary answer a commit once the replica has it too.
func (r Replicated) Synchronize(t testing.TB) {
	t.Helper()
	execPostgres(t, r.PrimaryURL, "ALTER SYSTEM SET synchronous_standby_names = '*'")
	execPostgres(t, r.PrimaryURL, "SELECT pg_reload_conf()")
}

// EitherURL is a URL that names both servers.
func (r Replicated) EitherURL(t testing.TB) string {
	t.Helper()
	u, err := url.Parse(r.PrimaryURL)
	if err != nil {
		t.Fatal(err)
	}
	replica, err := url.Parse(r.ReplicaURL)
	if err != nil {
		t.Fatal(err)
	}
	u.Host += "," + replica.Host
	return u.String()
}

// Crash kills the primary as a crash does.
func (r Replicated) Crash(t testing.TB) {
	t.Helper()
	r.control(t, "crash")
}

// Promote makes the replica a primary.
func (r Replicated) Promote(t testing.TB) {
	t.Helper()
	r.control(t, "promote")
}

// Rejoin makes the primary that crashed a replica of the one that was promoted.
func (r Replicated) Rejoin(t testing.TB) {
	t.Helper()
	r.control(t, "rejoin")
}

func (r Replicated) control(t testing.TB, what string) {
	t.Helper()
	if out, err := exec.Command(r.ctl, what).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", what, err, out)
	}
}

// PauseReplay lets the replica fall behind, while it still answers.
func (r Replicated) PauseReplay(t testing.TB) {
	t.Helper()
	execPostgres(t, r.ReplicaURL, "SELECT pg_wal_replay_pause()")
}

// ResumeReplay lets the replica catch up.
func (r Replicated) ResumeReplay(t testing.TB) {
	t.Helper()
	execPostgres(t, r.ReplicaURL, "SELECT pg_wal_replay_resume()")
}
