package api_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport/api"
	"github.com/helpwright/helpwright/transport/internal/asyncapigen"
)

// eventTypes lists those of both domains.
func eventTypes() []storage.EventType { return slices.Concat(helpdesk.EventTypes(), kb.EventTypes()) }

func TestAsyncAPI(t *testing.T) {
	t.Parallel()
	document, err := asyncapigen.Generate(asyncapigen.Info{
		Title: "Helpwright events", Version: "1", Base: "/api/v1", OpenAPI: api.OpenAPI(), Types: eventTypes(),
		Description: "What happens in an account, as server-sent events and as requests to webhooks. Events carry ids: ask the API for the rest. " +
			"Later versions may add types; skip those that you do not know.",
	})
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("asyncapi.json", document, 0o644); err != nil { // a source file
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(document, api.AsyncAPI()) {
		t.Error("asyncapi.json is not that of the events: run go generate ./transport/api")
	}
	w := httptest.NewRecorder()
	documented(t).Handler().ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/asyncapi.json", nil))
	if w.Code != 200 || !bytes.Equal(w.Body.Bytes(), api.AsyncAPI()) || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

// Every text in the domains that looks like the type of an event is listed as one, or known to be something else.
func TestEventTypesAreListed(t *testing.T) {
	t.Parallel()
	const (
		job         = "a kind of job"
		permission  = "a permission"
		placeholder = "a placeholder of saved replies"
	)
	others := map[string]string{
		"mail.file": job, "mail.refetch": job, "mail.backfill": job, "mail.replay": job, "mail.invite": job, "mail.probe": job, "mail.return": job, "mail.auto_reply": job, "ratings.ask": job, "retention.run": job, "rules.run": job,
		"mail.tell": job, "mail.password": job, "mail.credential": job, "webhook.send": job, "mail.send": job + " and " + permission, "mail.receive": permission, "account.move_in": permission,
		"feedback.view": permission, "feedback.update": permission, "feedback.delete": permission, "customer.first_name": placeholder, "customer.name": placeholder,
		"conversation.number": placeholder, "conversation.subject": placeholder, "mailbox.name": placeholder, "mailbox.email": placeholder,
		"theme.json": "a file", "site.yaml": "a file",
	}
	listed := map[string]bool{}
	areas := map[string]bool{}
	for _, e := range eventTypes() {
		if listed[e.Name] || e.Description == "" {
			t.Errorf("%s is listed twice, or has no description", e.Name)
		}
		listed[e.Name] = true
		areas[strings.Split(e.Name, ".")[0]] = true
	}
	if !slices.IsSortedFunc(helpdesk.EventTypes(), func(a, b storage.EventType) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the types are not sorted")
	}
	written := map[string]bool{}
	for _, state := range []sending.State{sending.Sent, sending.Delivered, sending.Deferred, sending.Failed, sending.Bounced, sending.Suppressed} {
		written["interaction.delivery_"+string(state)] = true // made of the state
	}
	for _, text := range texts(t, "../../helpdesk", "../../helpdesk/transfer", "../../kb") {
		area, _, _ := strings.Cut(text, ".")
		if areas[area] && others[text] == "" {
			written[text] = true
			if !listed[text] {
				t.Errorf("%q looks like the type of an event: list it in EventTypes, or say in this test what else it is", text)
			}
		}
	}
	for name := range listed {
		if !written[name] {
			t.Errorf("no event has the type %s", name)
		}
	}
}

// texts are the strings of packages that have the form of an event's type. The lists of types are left out.
func texts(t *testing.T, folders ...string) []string {
	t.Helper()
	form := regexp.MustCompile(`^[a-z]+(_[a-z]+)*\.[a-z]+(_[a-z]+)*$`)
	var all []string
	for _, folder := range folders {
		source := func(f fs.FileInfo) bool {
			return !strings.HasSuffix(f.Name(), "_test.go") && f.Name() != "event_type.go"
		}
		packages, err := parser.ParseDir(token.NewFileSet(), folder, source, 0) //nolint:staticcheck // build tags do not matter here
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range packages {
			ast.Inspect(p, func(n ast.Node) bool {
				if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
					if text, err := strconv.Unquote(l.Value); err == nil && form.MatchString(text) {
						all = append(all, text)
					}
				}
				return true
			})
		}
	}
	return all
}
