package wire

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
)

// The steps of every protocol; see [StepError].
const (
	StepResolve  = "resolve"  // the host's name
	StepConnect  = "connect"  // TCP, or Server.Dial
	StepTLS      = "tls"      // handshake and certificate
	StepSTARTTLS = "starttls" // the command, before the handshake
	StepGreeting = "greeting" // the server's first line and capabilities
	StepToken    = "token"    // Server.Token
	StepLogin    = "login"
)

// StepError is an error with the step that failed. Its text may quote the server: it is for the mailbox's administrator, not
// for a log.
type StepError struct {
	Protocol string // imap or pop3
	Step     string // one of the Step constants, with the folder's name if the step is about a folder
	Err      error
}

// Error implements error.
func (e *StepError) Error() string { return e.Protocol + ": " + e.Step + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *StepError) Unwrap() error { return e.Err }

// ReplyError is a rejection by the server (RFC 9051, section 7.1; RFC 1939, section 3).
type ReplyError struct {
	Status    string // NO, BAD or BYE; -ERR
	Code      string // response code such as AUTHENTICATIONFAILED; may be empty
	Text      string // the server's own text
	Temporary bool   // the code indicates a temporary failure
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

// Reasons of a [StepError], for errors.Is.
var (
	// ErrLoginDisabled: the server accepts no password on this connection; most require TLS first.
	ErrLoginDisabled = errors.New("the server takes no password on this connection: it wants TLS or another kind of login")
	// ErrReauth: no access token is available until someone grants access again.
	ErrReauth = errors.New("access was withdrawn or has expired: it must be granted again")
	// ErrTimeout: the server was silent for longer than the step allows.
	ErrTimeout = errors.New("the server did not answer in time")
	// ErrClosed: the server closed the connection.
	ErrClosed = errors.New("the server closed the connection")
	// ErrTooMuch: the server sent more than the step allows.
	ErrTooMuch = errors.New("the server sent far more than was asked for")
	// ErrProtocol: the server's reply was not understood.
	ErrProtocol = errors.New("the server's answer was not understood")
	// ErrNotSent: the server lists the message but does not send it.
	ErrNotSent = errors.New("the server lists the mail but does not send it")
	// ErrGone: the message is no longer in the folder, or the folder was replaced by another one of the same name.
	ErrGone = errors.New("the mail is no longer there")
)

var own = []error{ErrLoginDisabled, ErrReauth, ErrTimeout, ErrClosed, ErrTooMuch, ErrProtocol, ErrNotSent, ErrGone,
	context.Canceled, context.DeadlineExceeded}

// Explain converts a read or write error to one of the above. cause is the reason for which the connection itself ended;
// libraries keep only its text.
func Explain(err, cause error) error {
	switch {
	case isOwn(err), errors.As(err, new(*ReplyError)), IsTLS(err):
		return err
	case cause == nil && strings.HasSuffix(err.Error(), "EOF"): // TLS was closed, or a library's text of it
		return ErrClosed
	case cause == nil:
		return fmt.Errorf("%w: %s", ErrProtocol, Short(err.Error()))
	case errors.Is(cause, os.ErrDeadlineExceeded):
		return ErrTimeout
	case errors.Is(cause, io.EOF), errors.Is(cause, io.ErrUnexpectedEOF), errors.Is(cause, net.ErrClosed):
		return ErrClosed
	default:
		return Outward(cause)
	}
}

func isOwn(err error) bool {
	for _, one := range []error{ErrLoginDisabled, ErrReauth, ErrTooMuch, ErrProtocol, ErrNotSent, ErrGone} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}

// IsTLS reports whether the handshake failed or a certificate was rejected.
func IsTLS(err error) bool {
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

// Short returns the first line of s, at most 200 bytes, in valid UTF-8.
func Short(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	if len(s) > 200 {
		s = s[:200]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// Refused reports whether the server rejects this login permanently.
func Refused(err error) bool {
	return NeedsReauth(err) || errors.Is(err, ErrLoginDisabled)
}

// NeedsReauth reports whether the password, or the grant behind the access token, is invalid and must be replaced.
func NeedsReauth(err error) bool {
	if errors.Is(err, ErrReauth) {
		return true
	}
	var step *StepError
	var reply *ReplyError
	return errors.As(err, &step) && step.Step == StepLogin && errors.As(err, &reply) && !reply.Temporary
}

// Reason returns err without text from the server or a message, for a log.
func Reason(err error, known ...error) (step, why string) {
	var stepErr *StepError
	if errors.As(err, &stepErr) {
		step, _, _ = strings.Cut(stepErr.Step, " ")
	}
	var reply *ReplyError
	if errors.As(err, &reply) {
		return step, strings.TrimSpace(reply.Status + " " + reply.Code)
	}
	for _, one := range append(known, own...) {
		if errors.Is(err, one) {
			return step, one.Error()
		}
	}
	var network *net.OpError
	if errors.As(err, &network) && network.Err != nil {
		return step, network.Err.Error()
	}
	if IsTLS(err) {
		return step, "TLS: the certificate or the handshake"
	}
	return step, "other error"
}
