package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/transport"
)

// step is one request of the walk, and its answer. In the file:
//
//	### A title
//	POST /accounts/1/customers owner
//	Content-Type: application/json
//
//	{"first_name": "Ada"}
//
//	> 201 Location: /api/v1/accounts/1/customers/1
//	{ ...the body, indented... }
//
// The word after the path names the owner of the token. A request line that begins with "!" is an event outside the API.
type step struct {
	title, request, body string
	header               []string
	answer               string
}

// TestWalk goes through every operation over each backend; each file is a walk of its own. -update writes the answers of the
// first backend into the files.
func TestWalk(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/walk*.http")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for n, b := range backends() {
		if *update && n > 0 {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			used := map[string]bool{}
			var routes []transport.Route
			for _, file := range files {
				t.Run(filepath.Base(file), func(t *testing.T) { routes = walk(t, b, file, used, false) })
			}
			for _, r := range routes {
				if !used[r.Method+" "+r.Path] && r.ID != "listLanguages" { // which is long, and tested apart
					t.Errorf("the walks leave out %s", r.ID)
				}
			}
		})
	}
}

// walk goes through one file and notes the routes it used.
func walk(t *testing.T, b backend, file string, used map[string]bool, asJSON bool) []transport.Route {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	steps := parseWalk(t, string(text))
	w := &run{world: newWorld(t, b.open(t)), used: used, items: map[string]int{}, seen: map[string]int{}, json: asJSON}
	w.fetch = func(context.Context, string) (helpdesk.RemoteImage, error) {
		return helpdesk.RemoteImage{ContentType: "image/png", Content: []byte("the door")}, nil
	}
	for i, s := range steps {
		got := w.take(t, s)
		if err := w.svc.FlushMarks(t.Context()); err != nil {
			t.Fatal(err)
		}
		if *update {
			steps[i].answer = got
		} else if diff := cmp.Diff(s.answer, got); diff != "" {
			t.Fatalf("%s: %s\n%s", s.title, s.request, diff)
		}
	}
	if *update {
		writeWalk(t, file, steps)
	}
	return w.table.Routes()
}

func parseWalk(t *testing.T, text string) []step {
	t.Helper()
	var steps []step
	for block := range strings.SplitSeq(text, "### ") {
		if strings.TrimSpace(block) == "" {
			continue
		}
		asked, answer, _ := strings.Cut(strings.TrimRight(block, "\n"), "\n> ")
		head, body, _ := strings.Cut(strings.TrimRight(asked, "\n"), "\n\n")
		lines := strings.Split(head, "\n")
		if len(lines) < 2 {
			t.Fatalf("block without request: %q", block)
		}
		s := step{title: lines[0], request: lines[1], body: body, answer: answer}
		for _, line := range lines[2:] {
			name, value, _ := strings.Cut(line, ": ")
			s.header = append(s.header, name, value)
		}
		steps = append(steps, s)
	}
	return steps
}

func writeWalk(t *testing.T, file string, steps []step) {
	t.Helper()
	var b strings.Builder
	for i, s := range steps {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString("### " + s.title + "\n" + s.request + "\n")
		for i := 0; i < len(s.header); i += 2 {
			b.WriteString(s.header[i] + ": " + s.header[i+1] + "\n")
		}
		if s.body != "" {
			b.WriteString("\n" + s.body + "\n")
		}
		if s.answer != "" {
			b.WriteString("\n> " + s.answer + "\n")
		}
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil { // a source file
		t.Fatal(err)
	}
}

var (
	internalLocal = regexp.MustCompile(`mb-[a-z0-9]{16}`)
	requestIDs    = regexp.MustCompile(`"request_id":"[0-9a-f]+"`)
	itemIDs       = regexp.MustCompile(`"id":([0-9]+),"(email|phone|website)"`)
)

// normal replaces values that differ from run to run, or from store to store: the ids of a customer's items are numbered
// from 1 in order of appearance.
func (r *run) normal(body string) string {
	body = internalLocal.ReplaceAllString(body, "mb-x")
	body = r.secrets(body)
	body = requestIDs.ReplaceAllString(body, `"request_id":"x"`)
	body = stableKeys(body)
	return itemIDs.ReplaceAllStringFunc(body, func(found string) string {
		m := itemIDs.FindStringSubmatch(found)
		key := m[2] + m[1]
		if r.items[key] == 0 {
			r.seen[m[2]]++
			r.items[key] = r.seen[m[2]]
		}
		return fmt.Sprintf(`"id":%d,%q`, r.items[key], m[2])
	})
}

// run is a walk over one backend.
type run struct {
	*world
	used  map[string]bool // routes, as method and path
	items map[string]int
	seen  map[string]int
	json  bool // forms are sent as JSON
}

// take does a step and returns the answer as the file has it.
func (w *run) take(t *testing.T, s step) string {
	t.Helper()
	words := strings.Fields(s.request)
	if action, ok := strings.CutPrefix(words[0], "!"); ok {
		w.happen(t, action, words[1:], s.body)
		return ""
	}
	who := ""
	if len(words) > 2 {
		who = words[2]
	}
	header, body := s.header, s.body
	if w.json && body != "" && (len(header) == 0 || header[0] != "Content-Type") {
		header, body = w.asJSON(t, words[0], words[1], header, body)
	}
	switch {
	case body == "":
	case len(header) == 0 || header[0] != "Content-Type":
		header = append([]string{"Content-Type", "application/x-www-form-urlencoded"}, header...)
	case strings.HasPrefix(header[1], "multipart/"):
		body = strings.ReplaceAll(body, "\n", "\r\n") + "\r\n"
	}
	words[1] = w.fillSecret(words[1])
	rec := w.do(t, who, words[0], words[1], body, header...)
	w.mark(words[0], words[1])
	answer := strconv.Itoa(rec.Code)
	for _, name := range []string{"Location", "Content-Type", "Content-Disposition", "Content-Range", "WWW-Authenticate"} {
		if v := rec.Header().Get(name); v != "" && v != "application/json" {
			answer += " " + name + ": " + v
		}
	}
	shown := rec.Body.String()
	if kind := rec.Header().Get("Content-Type"); strings.Contains(kind, "json") && !strings.Contains(kind, "ndjson") {
		shown = w.normal(shown)
		var indented bytes.Buffer
		if err := json.Indent(&indented, []byte(shown), "", "  "); err != nil {
			t.Fatal(err)
		}
		shown = indented.String()
	}
	if shown != "" {
		answer += "\n" + strings.TrimRight(strings.ReplaceAll(shown, "\r\n", "\n"), "\n")
	}
	return answer
}

// mark notes which route a request went to.
func (w *run) mark(method, path string) {
	path, _, _ = strings.Cut(path, "?")
	best, fewest := "", 99
	for _, r := range w.table.Routes() {
		pattern := regexp.MustCompile(`\\\{[a-z_]+\\\.\\\.\\\.\\\}`).ReplaceAllString(regexp.QuoteMeta(r.Path), `.+`)
		pattern = "^" + regexp.MustCompile(`\\\{[a-z_]+\\\}`).ReplaceAllString(pattern, `[^/]+`) + "$"
		if r.Method == method && len(r.Params()) < fewest && regexp.MustCompile(pattern).MatchString(path) {
			best, fewest = r.Path, len(r.Params())
		}
	}
	w.used[method+" "+best] = best != ""
}

// happen triggers an event outside the API.
func (w *world) happen(t *testing.T, action string, words []string, body string) {
	t.Helper()
	ctx := context.Background()
	switch action {
	case "imported":
		w.imported(t)
	case "advance":
		d, err := time.ParseDuration(words[0])
		if err != nil {
			t.Fatal(err)
		}
		w.clock.advance(d)
	case "mail": // a customer's mail to mailbox 1, with the fields in its body
		var mail ledger.Incoming
		if err := json.Unmarshal([]byte(body), &mail); err != nil {
			t.Fatal(err)
		}
		mail.Identity = []byte(mail.MessageID)
		if _, err := w.svc.Intake().File(ctx, w.account.ID, w.receive(t, 1, "Subject: "+mail.Subject+"\r\n\r\n"), mail); err != nil {
			t.Fatal(err)
		}
	case "sign-ins": // a user gets an identity and passkeys
		user, err := strconv.ParseInt(words[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		w.signsIn(t, user)
	case "bury": // a job of a kind about a subject is given up
		subject, err := strconv.ParseInt(words[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		w.bury(t, words[0], subject)
	case "deliver": // the webhooks' receivers answer with a status, so many times
		status, err := strconv.Atoi(words[0])
		if err != nil {
			t.Fatal(err)
		}
		w.deliver(t, status)
	case "quarantine":
		if err := w.svc.Intake().Quarantine(ctx, w.account.ID, w.receive(t, 1, body), "It has no sender."); err != nil {
			t.Fatal(err)
		}
	case "fetched":
		status := ledger.FetchStatus{MailboxID: 1, LastErrorAt: w.clock.now(), LastError: body}
		if err := w.svc.Intake().ReportFetch(ctx, w.account.ID, status); err != nil {
			t.Fatal(err)
		}
	case "send": // an interaction is tried and deferred
		id, err := strconv.ParseInt(words[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		out, err := w.svc.Outgoing().Begin(ctx, w.account.ID, id, 1)
		if err != nil {
			t.Fatal(err)
		}
		var outcomes []helpdesk.Outcome
		for i, d := range out.Due {
			outcome := helpdesk.Outcome{DeliveryID: d.ID, State: sending.Sent, Code: 250, Response: "2.0.0 OK"}
			if i > 0 {
				outcome = helpdesk.Outcome{
					DeliveryID: d.ID, State: sending.Deferred, Code: 451, EnhancedCode: "4.7.1", Response: "Greylisted",
				}
			}
			outcomes = append(outcomes, outcome)
		}
		if _, err := w.svc.Outgoing().Report(ctx, w.account.ID, id, outcomes); err != nil {
			t.Fatal(err)
		}
	default:
		t.Fatal(fmt.Errorf("unknown action %s", action))
	}
}
