package imap

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	goimap "github.com/emersion/go-imap/v2"
)

// The steps that a [StepError] names. Those about a folder are followed by a space and the folder's name.
const (
	StepResolve  = "resolve"  // the host's name
	StepConnect  = "connect"  // TCP, or Config.Dial
	StepTLS      = "tls"      // handshake and certificate
	StepSTARTTLS = "starttls" // the command, before the handshake
	StepGreeting = "greeting" // the server's first line, and what it is capable of
	StepLogin    = "login"
	StepSelect   = "select" // select <folder>
	StepSearch   = "search" // search <folder>
	StepFetch    = "fetch"  // fetch <folder>
	StepIdle     = "idle"
	StepCursor   = "cursor" // cursor <folder>: Sink.Cursor
	StepTake     = "take"   // take <folder>: Sink.Take
)

// StepError tells which step failed, and why. Its text may quote the server: it is for the mailbox's administrator,
// not for a log.
type StepError struct {
	Step string // one of the Step constants, with the folder's name where it is about a folder
	Err  error
}

// Error implements error.
func (e *StepError) Error() string { return "imap: " + e.Step + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *StepError) Unwrap() error { return e.Err }

// ReplyError is a refusal by the server (RFC 9051, section 7.1).
type ReplyError struct {
	Status string // NO, BAD or BYE
	Code   string // response code such as AUTHENTICATIONFAILED; may be empty
	Text   string // what the server says, in its own words
}

// Error implements error.
func (e *ReplyError) Error() string {
	text := "the server answers " + e.Status
	if e.Code != "" {
		text += " [" + e.Code + "]"
	}
	if e.Text != "" {
		text += " " + e.Text
	}
	return text
}

// Reasons of a [StepError], to be found with errors.Is.
var (
	// ErrLoginDisabled: the server takes no password on this connection; most want TLS first.
	ErrLoginDisabled = errors.New("the server takes no password on this connection: it wants TLS or another kind of login")
	// ErrTimeout: the server was silent for longer than the step may take.
	ErrTimeout = errors.New("the server did not answer in time")
	// ErrClosed: the server closed the connection.
	ErrClosed = errors.New("the server closed the connection")
	// ErrTooMuch: the server sent more than the step can need.
	ErrTooMuch = errors.New("the server sent far more than was asked for")
	// ErrProtocol: the server's answer was not understood.
	ErrProtocol = errors.New("the server's answer was not understood")
	// ErrNoUIDs: the folder has no UIDVALIDITY, and so no positions that last.
	ErrNoUIDs = errors.New("the server gives the folder no UIDVALIDITY")
	// ErrNotSent: the server lists the mail, and does not send it.
	ErrNotSent = errors.New("the server lists the mail but does not send it")
	// ErrGone: the mail is no longer in the folder, or the folder is another one of the same name.
	ErrGone = errors.New("the mail is no longer there")
)

// explain turns an error of the client library into one of the above. cause is what the connection knows about its own
// end: the library keeps only the text of that.
func explain(err, cause error) error {
	var reply *goimap.Error
	switch {
	case errors.As(err, &reply):
		return &ReplyError{Status: string(reply.Type), Code: strings.ToUpper(string(reply.Code)), Text: short(reply.Text)}
	case isOwn(err):
		return err
	case errors.As(err, new(*ReplyError)), isTLS(err):
		return err
	case cause == nil && strings.HasSuffix(err.Error(), "EOF"): // TLS was closed, or a library's text of it
		return ErrClosed
	case cause == nil:
		return fmt.Errorf("%w: %s", ErrProtocol, short(err.Error()))
	case errors.Is(cause, os.ErrDeadlineExceeded):
		return ErrTimeout
	case errors.Is(cause, io.EOF), errors.Is(cause, io.ErrUnexpectedEOF), errors.Is(cause, net.ErrClosed):
		return ErrClosed
	default:
		return cause
	}
}

func isOwn(err error) bool {
	for _, own := range []error{ErrLoginDisabled, ErrTooMuch, ErrProtocol, ErrNoUIDs, ErrNotSent, ErrGone} {
		if errors.Is(err, own) {
			return true
		}
	}
	return false
}

func isTLS(err error) bool {
	var (
		verify    *tls.CertificateVerificationError
		record    tls.RecordHeaderError
		alert     tls.AlertError
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
	)
	return errors.As(err, &verify) || errors.As(err, &record) || errors.As(err, &alert) ||
		errors.As(err, &authority) || errors.As(err, &hostname)
}

// short is the first line of s, at most 200 bytes of it, in valid UTF-8.
func short(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	if len(s) > 200 {
		s = s[:200]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// refused tells whether the server will not have this login, rather than not now (RFC 9051, section 7.1).
func refused(err error) bool {
	var step *StepError
	if !errors.As(err, &step) || step.Step != StepLogin {
		return false
	}
	if errors.Is(err, ErrLoginDisabled) {
		return true
	}
	var reply *ReplyError
	if !errors.As(err, &reply) {
		return false
	}
	switch goimap.ResponseCode(reply.Code) {
	case goimap.ResponseCodeUnavailable, goimap.ResponseCodeInUse, goimap.ResponseCodeServerBug:
		return false
	}
	return reply.Status != "BYE"
}

// reason is err without anything that the server or a mail could have put into it, for a log.
func reason(err error) (step, why string) {
	var stepErr *StepError
	if errors.As(err, &stepErr) {
		step, _, _ = strings.Cut(stepErr.Step, " ")
	}
	var reply *ReplyError
	if errors.As(err, &reply) {
		return step, strings.TrimSpace(reply.Status + " " + reply.Code)
	}
	for _, known := range []error{ErrLoginDisabled, ErrTimeout, ErrClosed, ErrTooMuch, ErrProtocol, ErrNoUIDs, ErrNotSent,
		ErrGone, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, known) {
			return step, known.Error()
		}
	}
	var network *net.OpError
	if errors.As(err, &network) && network.Err != nil {
		return step, network.Err.Error()
	}
	if isTLS(err) {
		return step, "TLS: the certificate or the handshake"
	}
	return step, "other error"
}
