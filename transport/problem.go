package transport

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/internal/status"
)

// Problem is the body of every error: RFC 9457, `application/problem+json`.
type Problem struct {
	Type      string              `json:"type" description:"URI of the problem type; about:blank if code says it all."`
	Title     string              `json:"title" description:"The meaning of the status."`
	Status    int                 `json:"status"`
	Detail    string              `json:"detail" description:"What went wrong, for people."`
	Code      string              `json:"code" description:"Stable and machine-readable, such as not_found."`
	RequestID string              `json:"request_id" description:"Identifies this request in the server's log."`
	Errors    map[string][]string `json:"errors,omitempty" description:"Problems by field, in bracket notation."`
}

// RetryAfterer is an error that reports when a retry makes sense. It sets the Retry-After of 429 and 503, which is otherwise
// one second.
type RetryAfterer interface {
	error
	RetryAfter() time.Duration
}

// httpError is a fault with a status that exists in HTTP only.
type httpError struct {
	status int
	fault  *fault.Error
}

func (e *httpError) Error() string { return e.fault.Error() }
func (e *httpError) Unwrap() error { return e.fault }

var (
	errNoAddress = fault.New(fault.NotFound, "Nothing was found at this address.")
	errMethod    = &httpError{status: http.StatusMethodNotAllowed, fault: &fault.Error{
		Kind: fault.Malformed, Code: "method_not_allowed", Message: "The resource does not support this method."}}
	errRange = &httpError{status: http.StatusRequestedRangeNotSatisfiable, fault: &fault.Error{
		Kind: fault.Invalid, Code: "range_not_satisfiable", Message: "The requested range is outside the content."}}
)

// problemOf turns an error into the answer. The text of a 5xx is fixed: the error's own text may reveal internals.
func problemOf(err error, id string) Problem {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		f = &fault.Error{Kind: fault.Internal, Err: err}
		if errors.Is(err, context.DeadlineExceeded) {
			f.Kind = fault.Unavailable
		}
	}
	if !fault.Certain(err) { // regardless of the errors that wrap it
		f = &fault.Error{Kind: fault.OutcomeUnknown, Err: err}
	}
	code := status.Of(f)
	if h, ok := errors.AsType[*httpError](err); ok {
		code = h.status
	}
	p := Problem{Type: "about:blank", Title: http.StatusText(code), Status: code, Code: f.Code, RequestID: id}
	if p.Code == "" {
		p.Code = f.Kind.String()
	}
	if !fault.Certain(err) {
		p.Detail, p.Code = "It is not known whether this was done: the database did not answer. Look before you send it again, or send it with an Idempotency-Key, which makes that safe.", fault.OutcomeUnknown.String()
		return p
	}
	switch code {
	case http.StatusInternalServerError:
		p.Detail, p.Code = "Something went wrong in the server. The log has it under this request_id.", fault.Internal.String()
	case http.StatusServiceUnavailable:
		p.Detail, p.Code = "The server cannot answer right now. Try again later.", fault.Unavailable.String()
	default:
		p.Detail, p.Errors = f.Text(), f.Fields
	}
	return p
}

// writeProblem answers with an error.
func writeProblem(w http.ResponseWriter, r *http.Request, err error, p Problem) {
	h := w.Header()
	for _, name := range []string{"Content-Disposition", "Content-Length", "Content-Security-Policy", "ETag", "Last-Modified", "Link", "Location"} {
		h.Del(name)
	}
	switch p.Status {
	case http.StatusUnauthorized:
		challenge := "Bearer"
		if r.Header.Get("Authorization") != "" { // RFC 6750 section 3.1
			challenge = `Bearer error="invalid_token"`
		}
		h.Set("WWW-Authenticate", challenge)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		wait := time.Second
		if after, ok := errors.AsType[RetryAfterer](err); ok {
			wait = max(wait, after.RetryAfter())
		}
		h.Set("Retry-After", strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10))
	}
	body, failed := json.Marshal(p)
	if failed != nil { // a struct of strings does not fail
		body = []byte("{}")
	}
	h.Set("Content-Type", "application/problem+json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // the client may have gone
}
