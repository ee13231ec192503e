package testenv

import (
	"database/sql"
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
	url := func(name string) string { return "postgres://postgres@" + env(name) + "/postgres?sslmode=disable" }
	return Replicated{
		PrimaryURL: url("HELPWRIGHT_TEST_PRIMARY"), ReplicaURL: url("HELPWRIGHT_TEST_REPLICA"), ctl: env("HELPWRIGHT_TEST_REPLICA_CTL"),
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

func (r Replicated) control(t testing.TB, what string) {
	t.Helper()
	if out, err := exec.Command(r.ctl, what).CombinedOutput(); err != nil {
		t.Fatalf("%s the replica: %v\n%s", what, err, out)
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
