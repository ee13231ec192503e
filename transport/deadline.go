package transport

import (
	"context"
	"errors"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// The longest time that the work on a request may take, not counting the time for its body to arrive and for the client to
// take a file or a stream. It ends waits for a database or a disk that does not respond.
const (
	patience     = 30 * time.Second
	slowPatience = 5 * time.Minute // for uploads and requests to other servers
)

// errTooLong is the cause with which the context of a request is cancelled at its deadline.
var errTooLong = fault.New(fault.Unavailable, "The server could not finish this in time. Try again later.")

// bound cancels the request's context when the work on it takes too long.
func (r *Request) bound() {
	limit := r.table.config.Patience
	if r.route.Slow || r.route.MaxBody > 0 {
		limit = max(limit, slowPatience)
	}
	ctx, cancel := context.WithCancelCause(r.http.Context())
	clock := time.AfterFunc(limit, func() { cancel(errTooLong) })
	r.stopClock()
	r.clock, r.limit = clock, limit
	r.cleanup = append(r.cleanup, func() { clock.Stop(); cancel(nil) })
	if r.metered {
		ctx = storage.WithMeter(ctx, r.share.meter())
	}
	r.http = r.http.WithContext(ctx)
}

// stopClock suspends the deadline.
func (r *Request) stopClock() {
	if r.clock != nil {
		r.clock.Stop()
	}
}

// startClock starts the deadline again.
func (r *Request) startClock() {
	if r.clock != nil {
		r.clock.Reset(r.limit)
	}
}

// late replaces an error that reports a cancellation by one that reports the deadline, if the deadline was the cause.
func (r *Request) late(err error) error {
	if err != nil && errors.Is(err, context.Canceled) && errors.Is(context.Cause(r.Context()), errTooLong) {
		// Only the text is used: the client is still connected.
		return &fault.Error{Kind: fault.Unavailable, Op: "transport", Message: errTooLong.Message, Err: errors.New(err.Error())}
	}
	return err
}
