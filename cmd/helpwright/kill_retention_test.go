package main

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/testenv"
)

// How much there is in TestKillDuringRetention, for each of three policies.
const (
	keptFor  = 40 // conversations, each of another customer
	keptHeld = 4  // of these, on hold
)

// retaining is a help desk whose retention policies run while its server dies.
type retaining struct {
	*process
	db       *sql.DB
	policies map[string]int64 // by the word with which the subjects begin that they are about
	held     map[int64]bool
}

// TestKillDuringRetention kills the server while three policies run: in the end each candidate has gone once, is counted once, and
// has one event, and what is on hold is as it was.
func TestKillDuringRetention(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		r := newRetaining(t, databaseURL)
		r.fill()
		r.kill()
		r.nightComes()
		r.start()
		kills := 0
		for ; kills < 10 && len(r.runs()) < len(r.policies); kills++ {
			time.Sleep(time.Duration(20+rand.IntN(120)) * time.Millisecond)
			r.kill()
			r.start()
		}
		testenv.Moving(t, "all policies have run", func() (string, bool) {
			runs := r.runs()
			return fmt.Sprint(len(runs)), len(runs) == len(r.policies)
		})
		r.check(kills)
	})
}

func newRetaining(t *testing.T, databaseURL string) *retaining {
	t.Helper()
	r := &retaining{process: newServer(t, sharing(t, databaseURL)...), policies: map[string]int64{}, held: map[int64]bool{}}
	driver, dsn := "pgx", databaseURL
	if strings.HasPrefix(dsn, "sqlite:") {
		driver, dsn = "sqlite", "file:"+filepath.Join(r.dir, "data", "helpwright.db")+"?_txlock=immediate&_pragma=busy_timeout(60000)"
	}
	var err error
	if r.db, err = sql.Open(driver, dsn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.db.Close() })
	r.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
	for _, action := range []string{"erase_content", "delete", "erase_customer"} {
		var made object[struct{ ID int64 }]
		r.ok("POST", "/accounts/1/retention-policies", url.Values{
			"name": {action}, "after_days": {"300"}, "action": {action}, "is_active": {"1"}, "match[all][0][field]": {"subject"}, "match[all][0][op]": {"starts_with"},
			"match[all][0][value]": {action},
		}, &made)
		r.policies[action] = made.Data.ID
	}
	return r
}

// fill writes conversations, some of them on hold.
func (r *retaining) fill() {
	for i := range keptFor {
		for action := range r.policies {
			var made object[struct{ ID int64 }]
			r.ok("POST", "/accounts/1/conversations", url.Values{
				"channel": {"email"}, "to": {fmt.Sprintf("%s%d@customers.example", action, i)}, "subject": {fmt.Sprint(action, " ", i)},
				"interactions[0][type]": {"customer"}, "interactions[0][body]": {fmt.Sprint("Text ", i)},
			}, &made)
			if i < keptHeld {
				r.held[made.Data.ID] = true
				r.ok("PUT", fmt.Sprintf("/accounts/1/conversations/%d/hold", made.Data.ID), url.Values{"held": {"1"}}, nil)
			}
		}
	}
}

func (r *retaining) exec(statement string) {
	r.t.Helper()
	if _, err := r.db.Exec(statement); err != nil {
		r.t.Fatal(err)
	}
}

// nightComes makes all conversations older than a year, and the run due.
func (r *retaining) nightComes() {
	const year = 366 * 24 * 3600 * 1000000
	r.exec(fmt.Sprintf("UPDATE hw_conversations SET updated_at = updated_at - %d", year))
	r.exec(fmt.Sprintf("UPDATE hw_jobs SET run_at = %[1]d, due_at = %[1]d WHERE kind = 'retention.run'", time.Now().UnixMicro()))
}

// policyRun is what an event says of a run.
type policyRun struct {
	Data struct{ ID, Examined, Conversations, Customers, Held, Failed int64 }
}

func (r *retaining) runs() []policyRun {
	return all[policyRun](r.process, "/accounts/1/events?types[]=retention.ran")
}

// check checks that everything was done and counted once.
func (r *retaining) check(kills int) {
	r.t.Helper()
	const gone = keptFor - keptHeld
	for _, run := range r.runs() {
		customers := int64(0)
		if run.Data.ID == r.policies["erase_customer"] {
			customers = gone
		}
		if run.Data.Conversations != gone || run.Data.Customers != customers || run.Data.Held != keptHeld || run.Data.Failed != 0 {
			r.t.Errorf("policy %d: %+v", run.Data.ID, run.Data)
		}
	}
	for _, kind := range []string{"conversation.erased", "conversation.deleted", "customer.erased"} {
		seen := map[int64]int{}
		for _, e := range all[struct{ Data struct{ ID int64 } }](r.process, "/accounts/1/events?types[]="+kind) {
			seen[e.Data.ID]++
		}
		if len(seen) != gone {
			r.t.Errorf("%s: %d", kind, len(seen))
		}
		for id, n := range seen {
			if n != 1 || kind != "customer.erased" && r.held[id] {
				r.t.Errorf("%s of %d: %d times", kind, id, n)
			}
		}
	}
	subjects := 0
	for _, c := range all[struct {
		ID      int64
		Subject string
		Hold    *struct{}
	}](r.process, "/accounts/1/conversations") {
		if (c.Subject != "") != r.held[c.ID] || (c.Hold != nil) != r.held[c.ID] {
			r.t.Errorf("conversation %d, on hold: %t, has the subject %q", c.ID, r.held[c.ID], c.Subject)
		}
		if c.Subject != "" {
			subjects++
		}
	}
	if subjects != len(r.held) {
		r.t.Errorf("%d of %d on hold are there", subjects, len(r.held))
	}
	r.t.Logf("%d kills; each of %d gone once, %d on hold as they were", kills, len(r.policies)*gone, len(r.held))
}
