package main

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/testenv"
)

// acting is a help desk in which rules and an SLA act while its servers die.
type acting struct {
	*process
	servers                []*process
	db                     *sql.DB
	relay                  *sink
	box                    mailboxView
	deaths                 map[int64]int // at mails
	notes, replies, timely int64         // rules
}

// How much happens in TestKillWhileRulesRun: mails, of which the first come before anybody dies, and changes by the API.
const (
	actingMails  = 500
	actingFirst  = 20
	actingWrites = 500
)

// TestKillWhileRulesRun kills servers, two of them on PostgreSQL, while mails come in, applications write, members answer, hours
// pass and rules act: in the end each message has got one note of one rule and each conversation one reply, which has left under
// one Message-ID; each rule has run once at each event, and the one about time once in each conversation; and of each promise it
// was said once that it is due soon, and that it was kept or not.
func TestKillWhileRulesRun(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		a := newActing(t, databaseURL)
		for i := range actingFirst {
			a.mail(i)
		}
		a.filed(actingFirst)
		written := a.conversations() // what a kill rolls back leaves gaps between their ids
		answered := written[:actingFirst/2]
		var wait sync.WaitGroup
		wait.Go(func() {
			for i := actingFirst; i < actingMails; i++ {
				a.mail(i)
			}
		})
		wait.Go(func() {
			for i := range actingWrites {
				a.write(written[i%actingFirst].ID, "customer", i)
				if i%5 == 0 && i/5 < len(answered) {
					a.write(answered[i/5].ID, "user", i)
				}
			}
		})
		for range 4 {
			killTimes(kills/4, a.deaths, []int64{a.box.ID}, a.servers...)
			a.anHourPasses()
		}
		wait.Wait()
		a.filed(actingMails)
		a.rest()
		for range 2 { // for the last ones
			a.anHourPasses()
			a.rest()
		}
		time.Sleep(2 * time.Second) // nothing comes after that
		a.check(answered)
	})
}

// newActing starts servers with rules and an SLA.
func newActing(t *testing.T, databaseURL string) *acting {
	t.Helper()
	a := &acting{deaths: map[int64]int{}, relay: newSink(t, 20*time.Millisecond)}
	env := append(sharing(t, databaseURL), "HELPWRIGHT_SMTP_URL=smtp://"+a.relay.address+"?tls=none")
	a.process = newServer(t, env...)
	a.servers = []*process{a.process}
	if strings.HasPrefix(databaseURL, "postgres") {
		a.servers = append(a.servers, newServer(t, env...))
	}
	driver, dsn := "pgx", databaseURL
	if strings.HasPrefix(dsn, "sqlite:") {
		driver, dsn = "sqlite", "file:"+filepath.Join(a.dir, "data", "helpwright.db")+"?_txlock=immediate&_pragma=busy_timeout(60000)"
	}
	var err error
	if a.db, err = sql.Open(driver, dsn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.db.Close() })
	a.box = a.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
	make := func(path string, form url.Values) int64 {
		var made object[struct{ ID int64 }]
		a.ok("POST", "/accounts/1/"+path, form, &made)
		return made.Data.ID
	}
	reply := make("saved-replies", url.Values{"name": {"Thanks"}, "body": {"We have it."}, "is_shared": {"1"}})
	a.notes = make("rules", url.Values{
		"name": {"Notes"}, "on[]": {"interaction.created"}, "match[all][0][field]": {"interaction.type"}, "match[all][0][op]": {"is"}, "match[all][0][value]": {"customer"},
		"actions[0][type]": {"add_note"}, "actions[0][value]": {"Noted."},
	})
	a.replies = make("rules", url.Values{
		"name": {"Replies"}, "on[]": {"conversation.created"}, "actions[0][type]": {"reply"}, "actions[0][value]": {fmt.Sprint(reply)},
		"actions[1][type]": {"set_priority"}, "actions[1][value]": {"high"},
	})
	a.timely = make("rules", url.Values{
		"name": {"Timely"}, "on[]": {"time"}, "after[since]": {"created"}, "after[hours]": {"1"}, "actions[0][type]": {"add_note"}, "actions[0][value]": {"An hour has passed."},
	})
	make("slas", url.Values{"name": {"Gold"}, "first_reply": {"90"}, "due_soon": {"50"}}) // soon after one hour, and too late after two
	return a
}

// any is one of the servers.
func (a *acting) any() *process { return a.servers[rand.IntN(len(a.servers))] }

// mail hands in the mail of another customer.
func (a *acting) mail(i int) {
	raw := crlf(head(i, fmt.Sprintf("Message-ID: <rules-%d@example.com>\n\nText %d.\n", i, i)))
	raw = strings.Replace(raw, "Date: Mon, 02 Nov 2026", "Date: "+time.Now().Format("Mon, 02 Jan 2006"), 1)
	handIn(fmt.Sprintf("customer%d@example.com", i), a.box.InternalEmailAddress, raw, a.servers...)
}

// write adds a message to a conversation, or two when the answer to the first one is lost.
func (a *acting) write(conversation int64, kind string, i int) {
	path, form := fmt.Sprintf("/accounts/1/conversations/%d/interactions", conversation), url.Values{"type": {kind}, "body": {fmt.Sprint("More ", i)}}
	insist(a.t, "a message", func() bool { return a.any().try(path, form) == http.StatusCreated })
}

// filed waits until so many mails are filed.
func (a *acting) filed(mails int) {
	a.t.Helper()
	testenv.Moving(a.t, "every mail is filed", func() (string, bool) {
		filed := len(a.conversations())
		return fmt.Sprintf("%d are filed, %d are set aside", filed, len(ledgerOf(a.process, a.box.ID, "quarantined"))), filed == mails
	})
}

// rfc3339 finds the times in what is known of a conversation for its promises.
var rfc3339 = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`)

// anHourPasses kills all servers, makes what they have worked off an hour older, and starts them again. What is due already and
// not told stays: nobody is told that something is due soon when it is too late.
func (a *acting) anHourPasses() {
	a.t.Helper()
	a.spare([]int64{a.box.ID}, a.deaths)
	for _, s := range a.servers {
		s.kill()
	}
	now := time.Now().UnixMicro()
	statements := []string{
		`UPDATE hw_events SET time = time - 3600000000 WHERE type = 'conversation.created' AND seq < coalesce((SELECT min(e.seq) FROM hw_events AS e
			JOIN hw_jobs AS j ON j.subject = e.conversation_id AND j.kind = 'rules.run' WHERE e.type = 'conversation.created'), 1000000000)`,
		fmt.Sprintf(`UPDATE hw_jobs SET run_at = %[1]d, due_at = CASE WHEN lease_until < 0 THEN %[1]d ELSE due_at END WHERE kind = 'rules.clock'`, now),
	}
	rows, err := a.db.Query(fmt.Sprintf(`SELECT id, sla_track FROM hw_conversations
		WHERE sla_track <> '' AND id NOT IN (SELECT subject FROM hw_jobs WHERE kind = 'slas.due' AND run_at <= %d)`, now))
	if err != nil {
		a.t.Fatal(err)
	}
	for rows.Next() {
		var id int64
		var track string
		if err := rows.Scan(&id, &track); err != nil {
			a.t.Fatal(err)
		}
		track = rfc3339.ReplaceAllStringFunc(track, func(text string) string {
			at, err := time.Parse(time.RFC3339Nano, text)
			if err != nil {
				a.t.Error(err)
			}
			return at.Add(-time.Hour).Format(time.RFC3339Nano)
		})
		statements = append(statements, fmt.Sprintf(`UPDATE hw_conversations SET sla_track = '%s', awaiting_since = CASE WHEN awaiting_since > 0 THEN awaiting_since - 3600000000 ELSE awaiting_since END,
			due_at = CASE WHEN due_at > 0 THEN due_at - 3600000000 ELSE due_at END, soon_at = CASE WHEN soon_at > 0 THEN soon_at - 3600000000 ELSE soon_at END WHERE id = %d`, track, id),
			fmt.Sprintf(`UPDATE hw_jobs SET run_at = run_at - 3600000000, due_at = CASE WHEN lease_until < 0 THEN run_at - 3600000000 ELSE due_at END
			WHERE kind = 'slas.due' AND subject = %d`, id))
	}
	if err := rows.Err(); err != nil {
		a.t.Fatal(err)
	}
	if _, err := a.db.Exec("BEGIN; " + strings.Join(statements, "; ") + "; COMMIT"); err != nil {
		a.t.Fatal(err)
	}
	for _, s := range a.servers {
		s.start()
	}
}

// ruleRun is a run of a rule.
type ruleRun struct {
	EventID        string `json:"event_id"`
	ConversationID int64  `json:"conversation_id"`
	Outcome        string
}

func (a *acting) runs(rule int64) []ruleRun {
	return all[ruleRun](a.process, fmt.Sprintf("/accounts/1/rules/%d/runs", rule))
}

// written counts the interactions of each conversation by type.
func (a *acting) written() map[int64]map[string]int {
	a.t.Helper()
	said := map[int64]map[string]int{}
	for _, c := range a.conversations() {
		said[c.ID] = map[string]int{}
		for _, i := range a.interactions(c.ID) {
			said[c.ID][i.Type]++
		}
	}
	return said
}

// rest waits until nothing is to be done now by rules and SLAs.
func (a *acting) rest() {
	a.t.Helper()
	testenv.Moving(a.t, "rules and SLAs have nothing to do", func() (string, bool) {
		var jobs, last int64
		err := a.db.QueryRow(fmt.Sprintf(`SELECT count(*), coalesce(max(id), 0) FROM hw_jobs
			WHERE kind IN ('rules.run', 'rules.clock', 'slas.due') AND run_at <= %d AND NOT buried`, time.Now().UnixMicro())).Scan(&jobs, &last)
		if err != nil {
			a.t.Fatal(err)
		}
		return fmt.Sprintf("%d jobs, the last one is %d", jobs, last), jobs == 0
	})
}

// check checks that everything was done once.
func (a *acting) check(answered []conversationView) {
	a.t.Helper()
	left, members := 0, map[int64]bool{}
	for _, c := range answered {
		members[c.ID] = true
	}
	said := a.promises()
	customers, kept := 0, 0
	for id, wrote := range a.written() {
		left, customers = left+wrote["user"], customers+wrote["customer"]
		if wrote["note"] != wrote["customer"]+1 || wrote["user"] != 1 && !members[id] {
			a.t.Errorf("conversation %d: %v", id, wrote)
		}
		switch p := said[id]; {
		case p == promised{soon: 1, breached: 1}:
		case members[id] && p.met == 1 && p.breached == 0 && p.soon <= 1:
			kept++
		default:
			a.t.Errorf("conversation %d: said of its promise: %+v; a member answered: %t", id, p, members[id])
		}
	}
	seen, hours := map[string]bool{}, map[int64]int{}
	for _, rule := range []int64{a.notes, a.replies, a.timely} {
		for _, r := range a.runs(rule) {
			if key := fmt.Sprint(rule, "/", r.EventID); seen[key] || r.Outcome != "changed" {
				a.t.Errorf("run %s: %s, seen before: %t", key, r.Outcome, seen[key])
			} else {
				seen[key] = true
			}
			if rule == a.timely {
				hours[r.ConversationID]++
			}
		}
	}
	if len(hours) != actingMails || len(seen) != 2*actingMails+customers {
		a.t.Errorf("an hour passed in %d conversations; %d runs", len(hours), len(seen))
	}
	testenv.Moving(a.t, "every reply has left", func() (string, bool) {
		accepted, _ := a.relay.counts()
		return fmt.Sprint(accepted), accepted >= left
	})
	accepted, again := a.relay.counts()
	if accepted != left {
		a.t.Errorf("%d replies have left, %d are there", accepted, left)
	}
	a.t.Logf("%d runs, each once; %d replies, of which %d came again with the same Message-ID; %d promises kept of %d", len(seen), accepted, again, kept, len(said))
}

// promised is how often it was said what became of the first promise in a conversation.
type promised struct{ soon, met, breached int }

// promises reads the log: it returns what was said of each conversation.
func (a *acting) promises() map[int64]promised {
	a.t.Helper()
	said := map[int64]promised{}
	for _, e := range all[struct {
		Type string
		Data struct {
			ConversationID int64 `json:"conversation_id"`
			Target         struct{ Kind string }
		}
	}](a.process, "/accounts/1/events?types[]=sla.due_soon&types[]=sla.met&types[]=sla.breached") {
		p := said[e.Data.ConversationID]
		switch e.Type {
		case "sla.due_soon":
			p.soon++
		case "sla.met":
			p.met++
		case "sla.breached":
			p.breached++
		}
		said[e.Data.ConversationID] = p
	}
	return said
}
