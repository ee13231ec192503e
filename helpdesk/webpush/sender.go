package webpush

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// Config configures a [Sender].
type Config struct {
	Key     Key    // required
	Contact string // mailto or https address for the operators of push services; required
	// Dial connects to push services; required. Endpoints are named by browsers, so it restricts the allowed addresses: see
	// netguard.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Client replaces the client for all requests, and Dial. nil: one that follows no redirects and uses no proxy.
	Client *http.Client
	Now    func() time.Time // nil: time.Now
}

// Errors of [Sender.Send].
var (
	// ErrGone is the error for a subscription that no longer exists or is of another key: it is of no use any more.
	ErrGone = errors.New("webpush: the subscription is gone")
	// ErrRefused is the error for a message that the push service does not take and will not take later.
	ErrRefused = errors.New("webpush: the push service refused the message")
	// ErrBusy is the error for a message that may be sent again later.
	ErrBusy = errors.New("webpush: the push service cannot be reached or is busy")
)

// patience limits a request.
const patience = 15 * time.Second

// Sender sends messages. It is safe for concurrent use.
type Sender struct{ cfg Config }

// NewSender returns a sender.
func NewSender(cfg Config) *Sender {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Client == nil {
		cfg.Client = &http.Client{
			Transport: &http.Transport{
				DialContext: cfg.Dial, ForceAttemptHTTP2: true, DisableCompression: true, MaxResponseHeaderBytes: 64 << 10,
				TLSHandshakeTimeout: patience, MaxIdleConns: 100, IdleConnTimeout: 30 * time.Second,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return &Sender{cfg: cfg}
}

// Key returns the key of the sender.
func (s *Sender) Key() Key { return s.cfg.Key }

// Send sends a message of at most [MaxPayload] bytes once. The push service keeps it for a browser that is offline until life
// is over. The error is ErrGone, ErrRefused or ErrBusy, wrapped, or that of ctx.
func (s *Sender) Send(ctx context.Context, to Subscription, message []byte, life time.Duration) error {
	if !to.Valid() {
		return ErrGone
	}
	body, err := Encrypt(to, message)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	signed, err := s.cfg.Key.authorization(to.Endpoint, s.cfg.Contact, s.cfg.Now())
	if err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := http.NewRequestWithContext(within, http.MethodPost, to.Endpoint, bytes.NewReader(body))
	if err != nil {
		return ErrGone
	}
	r.Header.Set("Authorization", signed)
	r.Header.Set("Content-Encoding", "aes128gcm")
	r.Header.Set("Content-Type", "application/octet-stream")
	r.Header.Set("TTL", strconv.Itoa(int(life.Seconds())))
	r.Header.Set("Urgency", "high")
	res, err := s.cfg.Client.Do(r)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection can be used again
	return outcome(res.StatusCode)
}

// outcome returns the error for a status (RFC 8030 section 8, RFC 8292 section 4.2).
func outcome(status int) error {
	switch {
	case status >= 200 && status < 300:
		return nil
	case status == http.StatusNotFound, status == http.StatusGone, status == http.StatusUnauthorized, status == http.StatusForbidden:
		return fmt.Errorf("%w: status %d", ErrGone, status)
	case status == http.StatusTooManyRequests, status >= 500:
		return fmt.Errorf("%w: status %d", ErrBusy, status)
	}
	return fmt.Errorf("%w: status %d", ErrRefused, status)
}
