package main

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/testenv"
)

// demoProcess is a running demo.
type demoProcess struct {
	process
	site     string // address of the help centre
	email    string // of its owner
	password string
	temp     string // where its temporary folder is
}

// startDemo runs the demo, with further settings, until it is ready.
func startDemo(t *testing.T, env ...string) *demoProcess {
	t.Helper()
	path := program(t)
	d := &demoProcess{process: process{t: t, dir: t.TempDir(), http: freeAddress(t)}, temp: t.TempDir()}
	d.cmd = exec.CommandContext(t.Context(), path, "demo", "--listen", d.http)
	// The demo uses none of a server's own settings.
	d.cmd.Dir, d.cmd.Env = d.dir, append(env,
		"PATH="+os.Getenv("PATH"), "TMPDIR="+d.temp, "HELPWRIGHT_RATE_LIMIT=0",
		"HELPWRIGHT_DATABASE_URL=postgres://nobody@127.0.0.1:1/production", "HELPWRIGHT_SMTP_URL=smtp://127.0.0.1:1",
	)
	d.cmd.Stderr = t.Output()
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.kill)
	said := ""
	for lines := bufio.NewScanner(out); !strings.HasPrefix(said, "Ctrl-C") && lines.Scan(); {
		said = lines.Text()
		if name, value, ok := strings.Cut(strings.TrimSpace(said), "   "); ok {
			switch value = strings.TrimSpace(value); name {
			case "Help centre":
				d.site = value
			case "Sign in":
				d.email, d.password, _ = strings.Cut(value, ", password ")
			case "Token":
				d.token = value
			}
		}
	}
	if d.site == "" || d.token == "" {
		t.Fatal("the demo did not say where it is")
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return d
}

// TestDemo checks all content of the demo, and that nothing is left behind.
func TestDemo(t *testing.T) {
	t.Parallel()
	d := startDemo(t, "HELPWRIGHT_PUBLIC_RATE_LIMIT=0")
	pages := crawl(t, "http://"+d.http+"/", d.site+"/en", d.site+"/de", d.site+"/ar", d.site+"/sitemap.xml", d.site+"/en/feed.atom", d.site+"/llms.txt")
	for locale, least := range map[string]int{"en": 60, "de": 50, "ar": 45} {
		article := regexp.MustCompile("^" + regexp.QuoteMeta(d.site+"/"+locale+"/articles/") + `\d+-[^/.]+$`)
		n := 0
		for address := range pages {
			if article.MatchString(address) {
				n++
			}
		}
		if n < least || locale == "en" && n != least {
			t.Errorf("the help centre has %d articles in %s", n, locale)
		}
	}
	d.desk()
	t.Run("HelpCentre", d.helpCentre)
	if found, _ := filepath.Glob(filepath.Join(d.temp, "helpwright-demo-*")); len(found) != 1 {
		t.Errorf("a running demo has the folders %v", found)
	}
	d.stop()
	for _, dir := range []string{d.temp, d.dir} {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("the demo left behind in %s: %v %v", dir, left, err)
		}
	}
}

// A demo that is killed leaves its folder to the next one, which takes nothing from one that runs.
func TestDemoAfterKill(t *testing.T) {
	t.Parallel()
	d := startDemo(t)
	running := filepath.Join(d.temp, "helpwright-demo-1")
	if err := os.MkdirAll(filepath.Join(running, "half made"), 0o700); err != nil {
		t.Fatal(err)
	}
	d.kill()
	before, _ := filepath.Glob(filepath.Join(d.temp, "helpwright-demo-*"))
	path := program(t)
	next := exec.CommandContext(t.Context(), path, "demo", "--listen", d.http)
	next.Env = []string{"TMPDIR=" + d.temp}
	if err := next.Start(); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, "the folder of the killed demo is removed", func() bool {
		_, err := os.Stat(filepath.Join(d.temp, filepath.Base(before[len(before)-1])))
		return os.IsNotExist(err)
	})
	if err := next.Process.Signal(syscall.SIGINT); err != nil { // while it is being filled
		t.Fatal(err)
	}
	if err := next.Wait(); err != nil {
		t.Errorf("the interrupted demo ended with %v", err)
	}
	left, _ := filepath.Glob(filepath.Join(d.temp, "helpwright-demo-*"))
	if diff := cmp.Diff([]string{running}, left); diff != "" {
		t.Error(diff)
	}
}

func TestDemoNeedsThePort(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	var stderr strings.Builder
	if code := run(t.Context(), []string{"demo", "--listen", taken.Addr().String()}, io.Discard, &stderr); code != exitUsage {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(stderr.String(), "--listen") {
		t.Error(stderr.String())
	}
}

// desk counts the objects in the help desk.
func (d *demoProcess) desk() {
	d.t.Helper()
	counts := map[string]int{
		"conversations": len(d.conversations()), "customers": len(all[struct{}](&d.process, "/accounts/1/customers")),
		"mailboxes": len(all[struct{}](&d.process, "/accounts/1/mailboxes")),
	}
	if diff := cmp.Diff(map[string]int{"conversations": 400, "customers": 40, "mailboxes": 2}, counts); diff != "" {
		d.t.Error(diff)
	}
	type conversation struct {
		ID     int64
		Status string
		UserID *int64 `json:"user_id"`
		Tags   []struct{}
		Unread int `json:"unread_count"`
	}
	seen, answered := map[string]int{}, map[int64]bool{}
	for _, c := range all[conversation](&d.process, "/accounts/1/conversations") {
		seen[c.Status]++
		if c.UserID == nil {
			seen["unassigned"]++
		} else {
			answered[*c.UserID] = true
		}
		if len(c.Tags) > 0 {
			seen["tagged"]++
		}
		if c.Unread > 0 {
			seen["unread"]++
		}
		for _, i := range d.interactions(c.ID) {
			seen[i.Type]++
			for _, sent := range i.Deliveries {
				seen[sent.State]++
			}
		}
	}
	for what, least := range map[string]int{
		"posted": 20, "pending": 5, "closed": 200, "unassigned": 5, "tagged": 300, "unread": 10, "note": 20, "sent": 300, "failed": 3, "bounced": 3,
	} {
		if seen[what] < least {
			d.t.Errorf("there are %d %s", seen[what], what)
		}
	}
	if len(answered) < 3 {
		d.t.Errorf("conversations are of %d members", len(answered))
	}
	d.readers()
}

// readers counts the feedback of the help centre's readers.
func (d *demoProcess) readers() {
	d.t.Helper()
	if n := len(all[struct{}](&d.process, "/sites/1/article-feedbacks")); n < 10 {
		d.t.Errorf("there are %d texts of feedback", n)
	}
}
