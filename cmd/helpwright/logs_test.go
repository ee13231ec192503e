package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/transport"
)

// A log line has the ids of its request once, in both formats.
func TestLogs(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := newLogs(&out, "info", "json")
	logger := slog.New(l).With("part", "x")
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("X-Request-Id", "request-1")
	r.Header.Set("Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	transport.Traced(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		logger.DebugContext(r.Context(), "hidden")
		logger.InfoContext(r.Context(), "one")
		logger.InfoContext(r.Context(), "two", "request_id", "own")
	})).ServeHTTP(httptest.NewRecorder(), r)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 {
		t.Fatal(out.String())
	}
	for i, want := range []string{"request-1", "own"} {
		var line struct {
			Part      string
			RequestID string `json:"request_id"`
			TraceID   string `json:"trace_id"`
		}
		if err := json.Unmarshal([]byte(lines[i]), &line); err != nil || line.RequestID != want || line.TraceID != "4bf92f3577b34da6a3ce929d0e0e4736" || line.Part != "x" ||
			strings.Count(lines[i], "request_id") != 1 {
			t.Errorf("%s %v", lines[i], err)
		}
	}
	if err := l.change("debug", "xml"); err == nil || l.String() != "level info, format json" {
		t.Error(err, l)
	}
	if err := l.change("debug", "text"); err != nil {
		t.Error(err)
	}
	out.Reset()
	logger.Debug("three")
	if text := out.String(); !strings.Contains(text, "level=DEBUG msg=three part=x") {
		t.Error(text)
	}
}

// Level and format of a server that runs are changed by the command, and by PUT at the operators' address alone.
func TestLogLevelWhileServing(t *testing.T) {
	t.Parallel()
	metrics := freeAddress(t)
	s := newServer(t, "HELPWRIGHT_METRICS_LISTEN="+metrics, "HELPWRIGHT_LOG_LEVEL=error")
	env := []string{"HELPWRIGHT_METRICS_LISTEN=" + metrics}
	logged := func() string {
		text, err := os.ReadFile(s.stderr.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	s.ok("GET", "/accounts", nil, nil)
	if text := logged(); strings.Contains(text, `"msg":"request"`) {
		t.Error(text)
	}
	testenv.Eventually(t, "the level is changed", func() bool {
		code, out, _ := command(t, s.dir, env, "log", "level", "info")
		return code == exitDone && out == "level info, format json\n"
	})
	if code, out, stderr := command(t, s.dir, env, "log", "format", "text"); code != exitDone || out != "level info, format text\n" {
		t.Errorf("%d %s%s", code, out, stderr)
	}
	s.ok("GET", "/accounts", nil, nil)
	testenv.Eventually(t, "the request is logged", func() bool { return strings.Contains(logged(), "level=INFO msg=request method=GET") })

	for _, tt := range []struct {
		method, path string
		status       int
	}{{"GET", "/log", 200}, {"PUT", "/log?level=loud", 422}, {"PUT", "/log?format=xml", 422}, {"POST", "/log?level=debug", 405}} {
		if status := s.call(tt.method, "http://"+metrics+tt.path, nil, nil); status != tt.status {
			t.Errorf("%s %s: %d", tt.method, tt.path, status)
		}
	}
	if status := s.call("PUT", "http://"+s.http+"/log?level=debug", nil, nil); status < 400 {
		t.Errorf("everybody changes it: %d", status)
	}
	for _, tt := range []struct {
		env  []string
		args []string
		code int
		says string
	}{
		{nil, []string{"log", "level", "debug"}, exitUsage, "HELPWRIGHT_METRICS_LISTEN is not set"},
		{[]string{"HELPWRIGHT_METRICS_LISTEN=127.0.0.1:1"}, []string{"log", "level", "debug"}, exitFail, "no server answers at 127.0.0.1:1"},
		{env, []string{"log", "level", "loud"}, exitUsage, "loud"},
		{[]string{"HELPWRIGHT_LOG_LEVEL=loud"}, []string{"serve"}, exitUsage, "HELPWRIGHT_LOG_LEVEL: must be debug, info, warn or error"},
		{[]string{"HELPWRIGHT_LOG_FORMAT=xml"}, []string{"serve"}, exitUsage, "HELPWRIGHT_LOG_FORMAT: must be json or text"},
	} {
		if code, out, stderr := command(t, t.TempDir(), tt.env, tt.args...); code != tt.code || !strings.Contains(stderr, tt.says) {
			t.Errorf("%v %v: %d %s%s", tt.env, tt.args, code, out, stderr)
		}
	}
}
