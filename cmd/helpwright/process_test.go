package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/transport/server"
)

const apiBase = server.APIBase

// built is the server, built once for all tests.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "helpwright")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "helpwright")
	out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

// program returns the server's path. A test that starts the server takes long, and is left to continuous integration.
func program(t *testing.T) string {
	t.Helper()
	testenv.Slow(t, "it starts the server")
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMain(m *testing.M) {
	// The tests wait for processes, leases and retries more than they compute. The flags, parsed later, win.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	code := m.Run()
	if testenv.Requires() {
		if path, err := built(); err == nil {
			_ = os.RemoveAll(filepath.Dir(path))
		}
	}
	os.Exit(code)
}

// databases are the databases for tests of the whole server.
var databases = map[string]func(t *testing.T) string{
	"SQLite":     func(*testing.T) string { return "sqlite:data/helpwright.db" },
	"PostgreSQL": func(t *testing.T) string { return testenv.Postgres(t) },
}

func eachDatabase(t *testing.T, fn func(t *testing.T, databaseURL string)) {
	t.Helper()
	for name, open := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fn(t, open(t))
		})
	}
}

// process is a process of the program in a folder of its own.
type process struct {
	t      *testing.T
	dir    string
	env    []string
	http   string // address
	intake string
	token  string
	cmd    *exec.Cmd
	stderr *os.File
	stdout *testenv.Output
	next   string // page after the last answer
}

// newServer starts a server with further settings ("NAME=value").
func newServer(t *testing.T, env ...string) *process {
	t.Helper()
	s := &process{t: t, dir: t.TempDir(), http: freeAddress(t), intake: freeAddress(t), token: "test-token-0123456789abcdef"}
	var err error
	if s.stderr, err = os.Create(filepath.Join(s.dir, "stderr")); err != nil {
		t.Fatal(err)
	}
	s.env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "TMPDIR=" + s.dir,
		"HELPWRIGHT_LISTEN=" + s.http, "HELPWRIGHT_INTAKE_LISTEN=" + s.intake, "HELPWRIGHT_BOOTSTRAP_TOKEN=" + s.token,
		"HELPWRIGHT_RATE_LIMIT=0",           // the tests send more requests than people do
		"HELPWRIGHT_DNS_SERVER=127.0.0.1:1", // no server listens there, which fails at once
	}, env...)
	t.Cleanup(func() {
		s.kill()
		if text, err := os.ReadFile(s.stderr.Name()); err == nil && t.Failed() {
			t.Logf("the server's log ends:\n%s", text[max(0, len(text)-4000):])
		}
		_ = s.stderr.Close()
	})
	s.start()
	return s
}

// sharing is the environment of servers that share a database, files and the secret key.
func sharing(t *testing.T, database string, more ...string) []string {
	t.Helper()
	return append([]string{
		"HELPWRIGHT_DATABASE_URL=" + database, "HELPWRIGHT_BLOB_URL=file:" + filepath.Join(t.TempDir(), "blobs"),
		"HELPWRIGHT_SECRET_KEY=" + strings.Repeat("k", 32),
	}, more...)
}

// lastPort is the port that freeAddress returned last.
var lastPort atomic.Uint32

// freeAddress returns an address where nothing listens and that no other test of this package gets. Its port is outside the
// system's range for connections: it stays free while a server is killed and started again.
func freeAddress(t *testing.T) string {
	t.Helper()
	lastPort.CompareAndSwap(0, 12_000+rand.Uint32N(10_000))
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", lastPort.Add(1)))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("no port is free")
	return ""
}

// start runs the process until it reports that it listens.
func (s *process) start() {
	s.t.Helper()
	path := program(s.t)
	s.cmd = exec.Command(path, "serve")
	s.cmd.Dir, s.cmd.Env, s.cmd.Stderr = s.dir, s.env, s.stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	if err != nil || !strings.Contains(first, "listens on") {
		text, _ := os.ReadFile(s.stderr.Name())
		s.t.Fatalf("the server did not start: %q %v\n%s", first, err, text)
	}
	s.stdout = &testenv.Output{}
	_, _ = s.stdout.Write([]byte(first))
	go func(to *testenv.Output) { _, _ = io.Copy(to, lines) }(s.stdout)
}

// kill ends the process at once, as a crash does.
func (s *process) kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// stop signals the process and expects it to end in time, with exit code 0.
func (s *process) stop() {
	s.t.Helper()
	begin := time.Now()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("the server ended with %v", err)
	}
	if took := time.Since(begin); took > 10*time.Second {
		s.t.Errorf("stopping took %v", took)
	}
	s.cmd = nil
}

// call does a request with a form body and decodes the answer into out, if any.
func (s *process) call(method, path string, form url.Values, out any) int {
	s.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	target := path
	if !strings.HasPrefix(path, "http") {
		target = "http://" + s.http + apiBase + path
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, target, body)
	if err != nil {
		s.t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Accept", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if out != nil && res.StatusCode < 300 {
		if err := json.Unmarshal(data, out); err != nil {
			s.t.Fatalf("%s %s: %v in %s", method, path, err, data)
		}
	}
	if res.StatusCode >= 400 {
		s.t.Logf("%s %s: %d %s", method, path, res.StatusCode, data)
	}
	s.next = next(res.Header.Get("Link"))
	return res.StatusCode
}

// ok is call for requests that must succeed.
func (s *process) ok(method, path string, form url.Values, out any) {
	s.t.Helper()
	if status := s.call(method, path, form, out); status >= 300 {
		s.t.Fatalf("%s %s: status %d", method, path, status)
	}
}

// next finds the next page in a Link header.
func next(link string) string {
	for part := range strings.SplitSeq(link, ",") {
		if target, rest, ok := strings.Cut(part, ">"); ok && strings.Contains(rest, `rel="next"`) {
			return strings.TrimPrefix(strings.TrimSpace(target), "<")
		}
	}
	return ""
}

// all reads every page of a list.
func all[T any](s *process, path string) []T {
	s.t.Helper()
	var items []T
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	for target := path + separator + "limit=100"; target != ""; target = s.next {
		var page struct{ Data []T }
		s.ok("GET", target, nil, &page)
		items = append(items, page.Data...)
	}
	return items
}

// The wire as these tests read it.
type (
	object[T any] struct{ Data T }
	mailboxView   struct {
		ID                   int64
		InternalEmailAddress string `json:"internal_email_address"`
	}
	conversationView struct {
		ID      int64
		Number  int64
		Subject string
		Status  string
	}
	interactionView struct {
		ID         int64
		Type       string
		Body       string
		MessageID  string `json:"message_id"`
		Source     string
		Deliveries []struct{ Address, State, Response string }
		Threading  struct{ Rule string }
	}
	failureView struct {
		ID     int64
		State  string
		Reason string

		ConversationID int64 `json:"conversation_id"`
		InteractionID  int64 `json:"interaction_id"`
	}
)

func (s *process) mailbox(form url.Values) mailboxView {
	s.t.Helper()
	var m object[mailboxView]
	s.ok("POST", "/accounts/1/mailboxes", form, &m)
	return m.Data
}

func (s *process) conversations() []conversationView {
	return all[conversationView](s, "/accounts/1/conversations")
}

func (s *process) interactions(conversation int64) []interactionView {
	return all[interactionView](s, fmt.Sprintf("/accounts/1/conversations/%d/interactions", conversation))
}

func mailboxPath(id int64) string { return fmt.Sprintf("/accounts/1/mailboxes/%d", id) }

// ledgerOf lists the received mails of a mailbox in given states; none means all.
func ledgerOf(s *process, mailbox int64, states ...string) []failureView {
	s.t.Helper()
	if len(states) == 0 {
		states = []string{"received", "filed", "ignored", "quarantined"}
	}
	query := url.Values{"state[]": states}
	return all[failureView](s, mailboxPath(mailbox)+"/failures?"+query.Encode())
}

// attachments counts the files of an interaction.
func (i interactionView) attachments(s *process, conversation int64) int {
	s.t.Helper()
	return len(all[struct{}](s, fmt.Sprintf("/accounts/1/conversations/%d/interactions/%d/attachments", conversation, i.ID)))
}
