package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/webhook/signature"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/jobs"
)

const (
	// maxAnswer is how many bytes of an answer are read, so that the connection can be
	// used again, and excerpt how many are handed on.
	maxAnswer = 16 << 10
	excerpt   = 1 << 10
	// share is how long a job works before those of other webhooks get their turn.
	share = 20 * time.Second
	// patience is how long recording an outcome may take.
	patience = 10 * time.Second
)

// newClient makes the client of all requests: it follows no redirect and uses no proxy
// of the environment, either of which could lead to what Dial refuses.
func newClient(cfg Config) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext: cfg.Dial, ForceAttemptHTTP2: true, DisableCompression: true, MaxResponseHeaderBytes: 64 << 10,
			TLSHandshakeTimeout: cfg.Timeout, MaxIdleConns: 100, MaxIdleConnsPerHost: cfg.Parallel, IdleConnTimeout: 30 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// errMore is why a job comes again that had its share of time.
var errMore = errors.New("webhook: more deliveries may be due")

// Handle does one job of kind [helpdesk.JobWebhook]: it tries deliveries of a webhook
// that are due until there are none, several at a time. Errors are those of the
// database, or of ctx: the job is to be done again then, and sends again what it could
// not report.
func (s *Sender) Handle(ctx context.Context, job storage.ClaimedJob) error {
	calls, err := s.cfg.Dispatch.Begin(ctx, job, s.cfg.Parallel)
	if err != nil {
		return err
	}
	until := s.cfg.Now().Add(share)
	errs := make([]error, len(calls))
	var wait sync.WaitGroup
	for i := range calls {
		wait.Go(func() { errs[i] = s.send(ctx, &calls[i], until) })
	}
	wait.Wait()
	more := false
	for _, err := range errs {
		if err != nil && !errors.Is(err, errMore) {
			return err
		}
		more = more || err != nil
	}
	if more {
		return jobs.RetryAt(s.cfg.Now(), errMore)
	}
	return nil
}

// send makes a call, and then others that are due, one after the other.
func (s *Sender) send(ctx context.Context, call *helpdesk.WebhookCall, until time.Time) error {
	for {
		out := s.try(ctx, *call)
		if ctx.Err() != nil && out.Status == 0 {
			return ctx.Err() // interrupted, which is not the receiver's fault
		}
		s.cfg.Logger.InfoContext(ctx, "webhook: delivery tried", "webhook_id", call.WebhookID, "delivery_id", call.DeliveryID, "status", out.Status)
		parallel := s.cfg.Parallel
		if !s.cfg.Now().Before(until) || ctx.Err() != nil {
			parallel = 0
		}
		next, err := s.report(ctx, *call, out, parallel)
		switch {
		case err != nil:
			return err
		case parallel == 0:
			return errMore
		case next == nil:
			return nil
		}
		call = next
	}
}

// report records an outcome, also when ctx has ended: what is not recorded is sent again.
func (s *Sender) report(ctx context.Context, call helpdesk.WebhookCall, out helpdesk.WebhookOutcome, parallel int) (*helpdesk.WebhookCall, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return s.cfg.Dispatch.Report(ctx, call, out, parallel)
}

// try posts an event once.
func (s *Sender) try(ctx context.Context, call helpdesk.WebhookCall) helpdesk.WebhookOutcome {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, call.URL, bytes.NewReader(call.Body))
	if err != nil {
		return helpdesk.WebhookOutcome{Problem: "The address is none."}
	}
	now := s.cfg.Now()
	r.Header.Set("Content-Type", "application/cloudevents+json")
	r.Header.Set("User-Agent", "helpwright-webhook")
	r.Header.Set(signature.HeaderID, call.MessageID)
	r.Header.Set(signature.HeaderTimestamp, strconv.FormatInt(now.Unix(), 10))
	r.Header.Set(signature.HeaderSignature, signature.Sign(call.MessageID, now, call.Body, call.Keys...))
	res, err := s.client.Do(r)
	if err != nil {
		return helpdesk.WebhookOutcome{Problem: s.problem(err)}
	}
	defer func() { _ = res.Body.Close() }()
	answer, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer)) // the status counts, whatever becomes of the body
	out := helpdesk.WebhookOutcome{Status: res.StatusCode, Response: string(answer[:min(len(answer), excerpt)])}
	switch {
	case res.StatusCode >= 300 && res.StatusCode < 400:
		out.Problem = fmt.Sprintf("The receiver answered %d: redirects are not followed.", res.StatusCode)
	case res.StatusCode >= 400:
		out.Problem = fmt.Sprintf("The receiver answered %d.", res.StatusCode)
	}
	if res.StatusCode == http.StatusTooManyRequests || res.StatusCode == http.StatusServiceUnavailable {
		out.RetryAfter = retryAfter(res.Header.Get("Retry-After"), now)
	}
	return out
}

// retryAfter reads the field of that name: seconds or a date (RFC 9110 section 10.2.3). What is neither counts as 0.
func retryAfter(field string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(field, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(field)
	if err != nil {
		return 0
	}
	return max(0, at.Sub(now))
}

// problem is what an account's members are told about an error: neither the address of
// the receiver nor that of our resolver.
func (s *Sender) problem(err error) string {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if timeout, ok := errors.AsType[net.Error](err); errors.Is(err, context.DeadlineExceeded) || ok && timeout.Timeout() {
		return fmt.Sprintf("The receiver did not answer within %v.", s.cfg.Timeout)
	}
	if lookup, ok := errors.AsType[*net.DNSError](err); ok {
		return "The receiver's name cannot be resolved: " + lookup.Err + "."
	}
	if dialed, ok := errors.AsType[*net.OpError](err); ok {
		err = dialed.Err
	}
	return "The receiver cannot be reached: " + err.Error() + "."
}
