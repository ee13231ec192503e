package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/testenv"
)

// TestReplicaOfServer runs a server with a replica: lists come from there with all that was just written, and go on while the
// replica is dead.
func TestReplicaOfServer(t *testing.T) {
	t.Parallel()
	servers := testenv.OwnReplicated(t)
	metrics := freeAddress(t)
	env := []string{"HELPWRIGHT_DATABASE_URL=" + servers.PrimaryURL, "HELPWRIGHT_DATABASE_REPLICA_URL=" + servers.ReplicaURL}
	s := newServer(t, append(env, "HELPWRIGHT_METRICS_LISTEN="+metrics)...)
	s.mailbox(url.Values{"name": {"Forwarded"}, "email": {"forwarded@example.org"}})
	shows := func(line string) bool {
		res, err := http.Get("http://" + metrics + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		return err == nil && strings.Contains(string(text), "\n"+line)
	}
	n := 0
	add := func() {
		t.Helper()
		n++
		s.ok("POST", "/accounts/1/conversations", url.Values{
			"channel": {"email"}, "to": {fmt.Sprintf("customer%d@example.com", n)}, "subject": {fmt.Sprint("No. ", n)},
		}, nil)
		if got := len(s.conversations()); got != n {
			t.Errorf("%d conversations right after the answer, want %d", got, n)
		}
	}
	for range 5 {
		add()
		time.Sleep(100 * time.Millisecond)
	}
	unserved := `helpwright_database_replica_reads_total{by="replica"} 0`
	testenv.Eventually(t, "the replica serves", func() bool {
		s.conversations()
		return shows("helpwright_database_replica_current 1") && !shows(unserved)
	})
	_, out, _ := command(t, s.dir, append(env, "HELPWRIGHT_LISTEN=127.0.0.1:0", "HELPWRIGHT_INTAKE_LISTEN="), "doctor")
	says(t, "with a replica", out, "ok    replica of the database, at most ")

	servers.Kill(t)
	for range 10 {
		add()
	}
	testenv.Eventually(t, "the metrics tell", func() bool { return shows("helpwright_database_replica_current 0") })
	_, out, _ = command(t, s.dir, append(env, "HELPWRIGHT_LISTEN=127.0.0.1:0", "HELPWRIGHT_INTAKE_LISTEN="), "doctor")
	says(t, "without it", out, "FAIL  replica of the database: it does not answer")
	servers.Start(t)
	testenv.Eventually(t, "the replica serves again", func() bool { return shows("helpwright_database_replica_current 1") })
	add()
}

// TestWrongReplicaOfServer gives addresses that are no replica: the server does not start, and tells why, without the password.
func TestWrongReplicaOfServer(t *testing.T) {
	t.Parallel()
	database, other := testenv.Postgres(t), testenv.Postgres(t)
	secret := strings.Replace(database, "postgres@", "postgres:hidden@", 1)
	for name, tc := range map[string]struct{ database, replica, want string }{
		"the primary":      {database, secret, "not a standby"},
		"another database": {database, other, "not a standby"},
		"no PostgreSQL":    {database, "mysql://root:hidden@127.0.0.1/x", "must be postgres://"},
		"SQLite":           {"sqlite:x.db", secret, "needs a PostgreSQL database"},
		"no address":       {database, "postgres://root:hidden@127.0.0.1:port/x", "is not a PostgreSQL URL"},
		"several servers":  {database, "postgres://root:hidden@127.0.0.1:1,127.0.0.1:2/x", "names several servers"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := []string{"HELPWRIGHT_LISTEN=127.0.0.1:0", "HELPWRIGHT_INTAKE_LISTEN=", "HELPWRIGHT_DATABASE_URL=" + tc.database, "HELPWRIGHT_DATABASE_REPLICA_URL=" + tc.replica}
			code, out, problem := command(t, t.TempDir(), env, "serve")
			if code != exitUsage || strings.Contains(out+problem, "hidden") {
				t.Errorf("%d %s %s", code, out, problem)
			}
			says(t, name, problem, "HELPWRIGHT_DATABASE_REPLICA_URL", tc.want)
		})
	}
}
