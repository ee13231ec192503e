package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/helpwright/helpwright/transport"
)

// The formats of logs.
const (
	formatJSON = "json"
	formatText = "text"
)

// logs writes the log with a level and format that can be changed while the server runs. It adds the ids of the request to
// each line.
type logs struct {
	set        *logSet
	json, text slog.Handler
}

// logSet is the state that all loggers of a server share.
type logSet struct {
	trace  func(context.Context) string // returns the trace of a context without a request; nil: no tracing
	level  slog.LevelVar
	asText atomic.Bool
}

// newLogs uses defaults for invalid values, which the check of the settings reports.
func newLogs(w io.Writer, level, format string) *logs {
	l := &logs{set: &logSet{}}
	options := &slog.HandlerOptions{Level: &l.set.level}
	l.json, l.text = slog.NewJSONHandler(w, options), slog.NewTextHandler(w, options)
	_ = l.change(level, format)
	return l
}

// logLevel parses a level.
func logLevel(text string) (slog.Level, error) {
	switch level := strings.ToLower(text); level {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	}
	return 0, errors.New("the level must be debug, info, warn or error")
}

// change sets level and format, unless they are "": both or, on an error, neither.
func (l *logs) change(level, format string) error {
	now := l.set.level.Level()
	if level != "" {
		var err error
		if now, err = logLevel(level); err != nil {
			return err
		}
	}
	switch format {
	case "":
	case formatJSON, formatText:
		l.set.asText.Store(format == formatText)
	default:
		return errors.New("the format must be json or text")
	}
	l.set.level.Set(now)
	return nil
}

// Enabled implements [slog.Handler].
func (l *logs) Enabled(_ context.Context, level slog.Level) bool { return level >= l.set.level.Level() }

// Handle implements [slog.Handler].
func (l *logs) Handle(ctx context.Context, r slog.Record) error {
	of := transport.TraceOf(ctx)
	if of.TraceID == "" && l.set.trace != nil {
		of.TraceID = l.set.trace(ctx)
	}
	if attrs := of.Attrs(); len(attrs) > 0 {
		named := false
		r.Attrs(func(a slog.Attr) bool {
			named = a.Key == "request_id"
			return !named
		})
		if named && of.RequestID != "" { // set by the caller
			attrs = attrs[1:]
		}
		r.AddAttrs(attrs...)
	}
	if l.set.asText.Load() {
		return l.text.Handle(ctx, r)
	}
	return l.json.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (l *logs) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &logs{set: l.set, json: l.json.WithAttrs(attrs), text: l.text.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (l *logs) WithGroup(name string) slog.Handler {
	return &logs{set: l.set, json: l.json.WithGroup(name), text: l.text.WithGroup(name)}
}

// ServeHTTP reports level and format, and changes them by PUT /log?level=debug&format=text, which no page of another site
// can send.
func (l *logs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodPut:
		if err := l.change(r.URL.Query().Get("level"), r.URL.Query().Get("format")); err != nil {
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprintln(w, err)
			return
		}
		slog.New(l).LogAttrs(r.Context(), slog.LevelWarn, "what is logged has changed", slog.String("now", l.String()))
	default:
		w.Header().Set("Allow", "GET, PUT")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	fmt.Fprintln(w, l)
}

// String returns level and format.
func (l *logs) String() string {
	format := formatJSON
	if l.set.asText.Load() {
		format = formatText
	}
	return "level " + strings.ToLower(l.set.level.Level().String()) + ", format " + format
}

type logCmd struct {
	Level  logLevelCmd  `cmd:"" help:"Change the log level of the running server: debug, info, warn or error. Needs HELPWRIGHT_METRICS_LISTEN."`
	Format logFormatCmd `cmd:"" help:"Change its log format: json or text."`
}

type logLevelCmd struct {
	Level string `arg:"" help:"debug, info, warn or error." enum:"debug,info,warn,error"`
}

// Run queries the server.
func (c *logLevelCmd) Run(s *session) error { return s.changeLogs("level", c.Level) }

type logFormatCmd struct {
	Format string `arg:"" help:"json or text." enum:"json,text"`
}

// Run changes the server's log.
func (c *logFormatCmd) Run(s *session) error { return s.changeLogs("format", c.Format) }

// changeLogs changes the log of a running server until it ends.
func (s *session) changeLogs(what, to string) error {
	if s.settings.MetricsListen == "" {
		return usageError{errors.New("HELPWRIGHT_METRICS_LISTEN is not set: the server is asked there")}
	}
	address, err := dialable(s.settings.MetricsListen)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(s.ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://"+address+"/log?"+url.Values{what: {to}}.Encode(), nil)
	if err != nil {
		return usageError{err}
	}
	client := http.Client{Transport: &http.Transport{}} // no proxy: the server is on this host
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("no server answers at %s: %w", address, err)
	}
	defer func() { _ = res.Body.Close() }() // only read
	text, _ := io.ReadAll(io.LimitReader(res.Body, 1<<10))
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the server says %s: %s", res.Status, strings.TrimSpace(string(text)))
	}
	_, err = s.stdout.Write(text)
	return err
}
