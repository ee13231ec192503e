package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/helpdesk/webhook/signature"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/jobs"
)

const (
	// maxAnswer limits the bytes read from a response, so that the connection can be reused; excerpt limits those passed on.
	maxAnswer = 16 << 10
	excerpt   = 1 << 10
	// share is how long a job works before other webhooks get their turn.
	share = 20 * time.Second
	// patience limits the time for recording an outcome.
	patience = 10 * time.Second
)

// newClient returns the client for all requests. It follows no redirects and ignores proxy settings in the environment,
// either of which could bypass Dial's restrictions.
func newClient(cfg Config) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext: cfg.Dial, ForceAttemptHTTP2: true, DisableCompression: true, MaxResponseHeaderBytes: 64 << 10,
			TLSHandshakeTimeout: cfg.Timeout, MaxIdleConns: 100, MaxIdleConnsPerHost: cfg.Parallel, IdleConnTimeout: 30 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// errMore retries a job that used up its time.
var errMore = errors.New("webhook: more deliveries may be due")

// Handle runs one job of kind [helpdesk.JobWebhook]: it attempts a webhook's due deliveries, several at a time, until there
// are none. Errors come from the database or ctx. The job is then retried, and sends again what it could not report.
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

// send makes a call, and then other due ones, one after the other.
func (s *Sender) send(ctx context.Context, call *subscription.WebhookCall, until time.Time) error {
	for {
		out := s.try(ctx, *call)
		if ctx.Err() != nil && out.Status == 0 {
			return ctx.Err() // interrupted; not the receiver's failure
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

// report records an outcome, even after ctx ended, because unrecorded deliveries are sent again.
func (s *Sender) report(ctx context.Context, call subscription.WebhookCall, out subscription.WebhookOutcome, parallel int) (*subscription.WebhookCall, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return s.cfg.Dispatch.Report(ctx, call, out, parallel)
}

// try posts an event once.
func (s *Sender) try(ctx context.Context, call subscription.WebhookCall) subscription.WebhookOutcome {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, call.URL, bytes.NewReader(call.Body))
	if err != nil {
		return subscription.WebhookOutcome{Problem: "The address is none."}
	}
	now := s.cfg.Now()
	r.Header.Set("Content-Type", "application/cloudevents+json")
	r.Header.Set("User-Agent", "helpwright-webhook")
	r.Header.Set(signature.HeaderID, call.MessageID)
	r.Header.Set(signature.HeaderTimestamp, strconv.FormatInt(now.Unix(), 10))
	r.Header.Set(signature.HeaderSignature, signature.Sign(call.MessageID, now, call.Body, call.Keys...))
	res, err := s.call(r)
	if err != nil {
		return subscription.WebhookOutcome{Problem: s.problem(err)}
	}
	defer func() { _ = res.Body.Close() }()
	answer, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer)) // only the status counts
	out := subscription.WebhookOutcome{Status: res.StatusCode, Response: string(answer[:min(len(answer), excerpt)])}
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

// call sends a request.
func (s *Sender) call(r *http.Request) (*http.Response, error) {
	if s.cfg.Tracer == nil {
		return s.client.Do(r)
	}
	ctx, span := s.cfg.Tracer.Start(r.Context(), "send webhook", storage.SpanClient)
	res, err := s.client.Do(r.WithContext(ctx))
	if err != nil {
		span.End(err)
		return nil, err
	}
	span.End(nil, slog.Int("http.response.status_code", res.StatusCode))
	return res, nil
}

// retryAfter parses a Retry-After header: seconds or a date (RFC 9110 section 10.2.3). Anything else is 0.
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

// problem describes an error for the account's members, without the addresses of the receiver and of our resolver.
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
