// Package fault defines the error type of the module: what went wrong, in the domain's terms. A backend turns its driver's
// errors into faults at its edge; only the transport turns faults into HTTP statuses.
package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Kind classifies a fault. The list only ever grows.
type Kind uint8

// The kinds. Internal is the zero value: an unclassified error.
const (
	Internal        Kind = iota // a bug, or an unexpected response of a driver
	Invalid                     // well-formed input that breaks a rule; Fields says which
	Malformed                   // input that cannot be parsed
	Unauthenticated             // no caller, or a token that is unknown, expired or revoked
	Forbidden                   // a known caller without the permission
	NotFound                    // absent, or in an account that the caller is not a member of
	Conflict                    // the state of the resource does not allow it
	Precondition                // somebody else has changed the resource since it was read
	TooLarge                    // over a size limit
	Unsupported                 // a media type or an encoding that is not supported
	RateLimited                 // too many requests
	Unavailable                 // the database or the blobs cannot be reached now; a retry may help
	Disabled                    // the feature is switched off
	OutcomeUnknown              // the database did not confirm the commit, so it may have happened; undo nothing
)

var names = [...]string{
	"internal", "invalid", "malformed", "unauthenticated", "forbidden", "not_found", "conflict",
	"precondition_failed", "too_large", "unsupported", "rate_limited", "unavailable", "feature_disabled",
	"outcome_unknown",
}

// String returns the kind's stable, machine-readable name, such as "not_found".
func (k Kind) String() string {
	if int(k) < len(names) {
		return names[k]
	}
	return "internal"
}

// Error is a fault. Message is safe to show to the caller; Err is only for the log.
type Error struct {
	Kind     Kind
	Op       string // method that failed, such as "Mailboxes.Create"
	Resource string // noun of the resource, such as "conversation"
	ID       int64  // of the resource, 0 when unknown
	Code     string // more specific than Kind where a client may act on it; empty: the kind's name
	Message  string // one sentence, safe to show
	Fields   Fields // problems by field, for Invalid
	Err      error  // cause; logged, never shown
}

// Error implements error. It is meant for logs and includes the cause.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Op != "" {
		b.WriteString(e.Op + ": ")
	}
	b.WriteString(e.Text())
	if len(e.Fields) > 0 {
		b.WriteString(" (" + e.Fields.String() + ")")
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Text returns the sentence that may be shown: Message, or one built from resource and kind.
func (e *Error) Text() string {
	if e.Message != "" {
		return e.Message
	}
	what := strings.ReplaceAll(e.Kind.String(), "_", " ")
	if e.Resource != "" && e.ID != 0 {
		return fmt.Sprintf("%s %d: %s", e.Resource, e.ID, what)
	}
	if e.Resource != "" {
		return e.Resource + ": " + what
	}
	return what
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is makes errors.Is(err, helpdesk.ErrNotFound) true for every fault of that kind: a target that sets only Kind matches all
// faults of the kind.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	if !ok {
		return false
	}
	bare := t.Op == "" && t.Resource == "" && t.ID == 0 && t.Code == "" && t.Message == "" && t.Fields == nil && t.Err == nil
	return bare && t.Kind == e.Kind
}

// Of returns the kind of the first fault in err's chain, or Internal for any other error. err must not be nil.
func Of(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Internal
}

// Is reports whether err is a fault of kind k.
func Is(err error, k Kind) bool { return err != nil && Of(err) == k }

// Certain reports whether err, returned by a transaction, leaves no doubt about its outcome. After an OutcomeUnknown fault,
// do not remove what was prepared for the transaction, such as files: committed rows may refer to it.
func Certain(err error) bool { return !errors.Is(err, &Error{Kind: OutcomeUnknown}) }

// Passes reports whether a retry may succeed later: the database or the blobs were unreachable, too slow or full, or the
// outcome is unknown.
func Passes(err error) bool {
	return Is(err, Unavailable) || !Certain(err) || errors.Is(err, context.DeadlineExceeded)
}

// New returns a fault of kind k with a message that is safe to show.
func New(k Kind, message string) *Error { return &Error{Kind: k, Message: message} }

// Newf is New with formatting.
func Newf(k Kind, format string, args ...any) *Error {
	return &Error{Kind: k, Message: fmt.Sprintf(format, args...)}
}

// Wrap returns a fault of kind k with a cause that is logged and never shown.
func Wrap(k Kind, op string, err error) *Error { return &Error{Kind: k, Op: op, Err: err} }

// Missing returns the NotFound fault of one resource. It reads the same whether the resource does not exist or belongs to
// another account.
func Missing(resource string, id int64) *Error {
	return &Error{Kind: NotFound, Resource: resource, ID: id, Message: "There is no such " + resource + "."}
}
