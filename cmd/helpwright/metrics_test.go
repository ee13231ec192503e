package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/smtp"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/testenv"
)

// TestMetrics scrapes a server that has served, received, filed and sent: all metrics in the dashboard and the alerts of the
// examples exist, Prometheus's own checks pass, and no label contains a path, an address or a name.
func TestMetrics(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		metrics := freeAddress(t)
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL, "HELPWRIGHT_METRICS_LISTEN="+metrics, "HELPWRIGHT_ALLOW_PRIVATE_HOSTS=true")
		forwarded := s.mailbox(url.Values{"name": {"Forwarded"}, "email": {"forwarded@example.org"}})
		s.mailbox(url.Values{
			"name": {"Fetched"}, "email": {"fetched@example.org"}, "connection[inbound][type]": {"IMAP"},
			"connection[inbound][host]": {"127.0.0.1"}, "connection[inbound][port]": {"1"}, "connection[inbound][username]": {"fetched"},
			"connection[inbound][password]": {"secret"}, "connection[inbound][encryption]": {"TLS"}, "connection[inbound][validate_certificate]": {"1"},
		})
		mail := "From: Nora Nobody <nora@customer.example>\r\nTo: forwarded@example.org\r\nSubject: Hidden\r\nMessage-ID: <a@b>\r\n\r\nHello\r\n"
		if err := smtp.SendMail(s.intake, nil, "nora@customer.example", []string{forwarded.InternalEmailAddress}, []byte(mail)); err != nil {
			t.Fatal(err)
		}
		testenv.Eventually(t, "the mail is filed", func() bool { return len(s.conversations()) == 1 })
		s.call("GET", "http://"+s.http+"/nowhere/nora@customer.example", nil, nil)
		s.call("GET", "http://"+s.http+"/desk/sign-in", nil, nil)
		var text string
		testenv.Eventually(t, "the mail and the mailbox are counted", func() bool { // results of the database are cached for a while
			text = fetch(t, "http://"+metrics+"/metrics")
			return strings.Contains(text, `helpwright_inbound_mails_settled_total{state="filed"} 1`) && strings.Contains(text, `helpwright_mailbox_connected{mailbox=`)
		})
		for _, line := range []string{
			`helpwright_database_up 1`, `helpwright_http_requests_total{method="GET",route="/desk/sign-in",status="2xx"} 1`,
			`helpwright_http_requests_total{method="POST",route="/api/v1/accounts/{account_id}/mailboxes",status="2xx"} 2`,
			`helpwright_job_attempts_total{kind="mail.file",result="finished"} 1`, `helpwright_jobs{kind="blobs.sweep",state="scheduled"} 1`,
		} {
			if !strings.Contains(text, "\n"+line+"\n") {
				t.Errorf("there is no %s", line)
			}
		}
		for _, secret := range []string{"nora", "example.org", "nowhere", "Hidden", "Forwarded", s.token} {
			if strings.Contains(text, secret) {
				t.Errorf("%q is among the metrics", secret)
			}
		}
		t.Run("Lint", func(t *testing.T) { promtool(t, strings.NewReader(text), "check", "metrics") })
		t.Run("Deployed", func(t *testing.T) { namesExist(t, text) })
	})
}

// fetch returns a page that must be there.
func fetch(t *testing.T, address string) string {
	t.Helper()
	res, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%d %v: %s", res.StatusCode, err, text)
	}
	return string(text)
}

// promtool runs Prometheus's own tool; a reported mistake fails the test.
func promtool(t *testing.T, input io.Reader, args ...string) {
	t.Helper()
	cmd := exec.Command(installed(t, "promtool"), args...)
	cmd.Stdin = input
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, &out)
	}
}

// TestAlerts has Prometheus check the configuration and the alerts of the examples, and run their tests: each alert has one
// in which it fires and one in which it does not.
func TestAlerts(t *testing.T) {
	t.Parallel()
	promtool(t, nil, "check", "config", filepath.Join(deployDir, "prometheus.yaml"))
	promtool(t, nil, "test", "rules", filepath.Join(deployDir, "helpwright.rules.test.yaml"))
	tests := deployed(t, "helpwright.rules.test.yaml")
	for _, alert := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(deployed(t, "helpwright.rules.yaml"), -1) {
		for _, name := range []string{alert[1] + " fires", alert[1] + " is quiet"} {
			if !strings.Contains(tests, "name: "+name+"\n") {
				t.Errorf("there is no test %q", name)
			}
		}
	}
	// The queries of the dashboard are queries.
	var rules strings.Builder
	rules.WriteString("groups:\n  - name: dashboard\n    rules:\n")
	for i, query := range dashboardQueries(t) {
		rules.WriteString("      - record: q" + strings.Repeat("x", i) + "\n        expr: '" + strings.ReplaceAll(query, "$__rate_interval", "5m") + "'\n")
	}
	promtool(t, nil, "check", "rules", write(t, filepath.Join(t.TempDir(), "dashboard.yaml"), rules.String()))
}

// dashboardQueries are those of the panels of the dashboard.
func dashboardQueries(t *testing.T) (queries []string) {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(deployed(t, "grafana-dashboard.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			queries = append(queries, target.Expr)
		}
	}
	if len(queries) < 20 {
		t.Fatalf("%d queries", len(queries))
	}
	return queries
}

// namesExist looks for the metrics that dashboard and alerts name in a scrape.
func namesExist(t *testing.T, scrape string) {
	t.Helper()
	have := []string{"up"} // Prometheus's own
	for _, line := range regexp.MustCompile(`(?m)^([a-z_]+)[ {]`).FindAllStringSubmatch(scrape, -1) {
		have = append(have, line[1])
	}
	text := deployed(t, "helpwright.rules.yaml") + strings.Join(dashboardQueries(t), "\n")
	named := regexp.MustCompile(`\b((helpwright|go|process)_[a-z_]+|up)\b`).FindAllString(text, -1)
	slices.Sort(named)
	for _, name := range slices.Compact(named) {
		if !slices.Contains(have, name) {
			t.Errorf("the dashboard or an alert names %s, which no server has", name)
		}
	}
}
