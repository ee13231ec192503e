package desk

import (
	"io"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk/report"
	"github.com/helpwright/helpwright/transport/internal/file"
)

// table answers with the conversations of the period and the filters as CSV.
func (rv *reportVisit) table() error {
	return rv.download("text/csv", "csv", report.WriteCSV)
}

// lines answers with them as JSON, one in a line.
func (rv *reportVisit) lines() error {
	return rv.download("application/x-ndjson", "jsonl", report.WriteJSONLines)
}

// download streams what write makes of the conversations. An error before the first piece is that of the page; one after it breaks
// the connection, so that nobody takes a part for the whole.
func (rv *reportVisit) download(kind, ending string, write func(io.Writer, func(func(report.Fact) error) error) error) error {
	name := "conversations-" + rv.period.from.Format(dateForm) + "-" + rv.period.last().Format(dateForm) + "." + ending
	out := &lateHeader{w: rv.w, header: func(h http.Header) { file.Describe(h, kind, name) }}
	err := write(out, func(fn func(report.Fact) error) error { return rv.Reports().Each(rv.ctx(), rv.query, fn) })
	if err == nil || !out.begun {
		if err == nil && !out.begun { // nothing at all
			out.header(rv.w.Header())
		}
		return err
	}
	if rv.ctx().Err() == nil {
		rv.h.cfg.Logger.ErrorContext(rv.ctx(), "an export broke off", "request_id", rv.id, "error", err)
	}
	panic(http.ErrAbortHandler)
}

// lateHeader sets headers with the first piece.
type lateHeader struct {
	w      http.ResponseWriter
	header func(http.Header)
	begun  bool
}

// Write implements [io.Writer].
func (l *lateHeader) Write(piece []byte) (int, error) {
	if !l.begun {
		l.begun = true
		l.header(l.w.Header())
	}
	return patientWriter{l.w}.Write(piece)
}
