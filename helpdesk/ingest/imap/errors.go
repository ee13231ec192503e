package imap

import (
	"errors"
	"strings"

	goimap "github.com/emersion/go-imap/v2"

	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire"
)

// The steps of a [StepError]. Those about a folder are followed by a space and the folder's name.
const (
	StepResolve  = wire.StepResolve
	StepConnect  = wire.StepConnect
	StepTLS      = wire.StepTLS
	StepSTARTTLS = wire.StepSTARTTLS
	StepGreeting = wire.StepGreeting
	StepToken    = wire.StepToken
	StepLogin    = wire.StepLogin
	StepSelect   = "select" // select <folder>
	StepSearch   = "search" // search <folder>
	StepFetch    = "fetch"  // fetch <folder>
	StepIdle     = "idle"
	StepCursor   = "cursor" // cursor <folder>: Sink.Cursor
	StepTake     = "take"   // take <folder>: Sink.Take
)

type (
	// StepError is an error with the step that failed.
	StepError = wire.StepError
	// ReplyError is a rejection by the server.
	ReplyError = wire.ReplyError
)

// Reasons of a [StepError], for errors.Is. Those shared with other protocols are in package wire.
var (
	ErrLoginDisabled = wire.ErrLoginDisabled
	ErrReauth        = wire.ErrReauth
	ErrTimeout       = wire.ErrTimeout
	ErrClosed        = wire.ErrClosed
	ErrTooMuch       = wire.ErrTooMuch
	ErrProtocol      = wire.ErrProtocol
	ErrNotSent       = wire.ErrNotSent
	ErrGone          = wire.ErrGone
	// ErrNoUIDs: the folder has no UIDVALIDITY, and therefore no permanent positions.
	ErrNoUIDs = errors.New("the server gives the folder no UIDVALIDITY")
)

// explain turns an error of the client library into one of the above; see [wire.Explain].
func explain(err, cause error) error {
	var reply *goimap.Error
	switch {
	case errors.As(err, &reply):
		return replyError(string(reply.Type), strings.ToUpper(string(reply.Code)), reply.Text)
	case errors.Is(err, ErrNoUIDs):
		return err
	default:
		return wire.Explain(err, cause)
	}
}

// replyError returns a rejection. Some codes mean that it is temporary (RFC 9051, section 7.1).
func replyError(status, code, text string) *ReplyError {
	e := &ReplyError{Status: status, Code: code, Text: wire.Short(text), Temporary: status == "BYE"}
	switch goimap.ResponseCode(code) {
	case goimap.ResponseCodeUnavailable, goimap.ResponseCodeInUse, goimap.ResponseCodeServerBug:
		e.Temporary = true
	}
	return e
}

// stepError returns the failure of a step that is not a network error.
func stepError(step string, err error) *StepError {
	return &StepError{Protocol: protocol, Step: step, Err: err}
}

const protocol = "imap"
