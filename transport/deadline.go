package transport

import (
	"context"
	"errors"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// How long the work on a request may take, the time that its body needs to come in, and that the client needs to take a
// file or a stream, not counted: what waits for a database or a disk that is away ends then.
const (
	patience     = 30 * time.Second
	slowPatience = 5 * time.Minute // of uploads, and of what is asked of other servers
)

// errTooLong is why the work on a request was ended.
var errTooLong = fault.New(fault.Unavailable, "The server could not finish this in time. Try again later.")

// bound ends the request's context when the work on it takes too long.
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

// stopClock lets what follows take its time.
func (r *Request) stopClock() {
	if r.clock != nil {
		r.clock.Stop()
	}
}

// startClock limits what follows.
func (r *Request) startClock() {
	if r.clock != nil {
		r.clock.Reset(r.limit)
	}
}

// late tells that the work was ended here, where its error says that somebody did.
func (r *Request) late(err error) error {
	if err != nil && errors.Is(err, context.Canceled) && errors.Is(context.Cause(r.Context()), errTooLong) {
		// Its text alone: the client has not gone.
		return &fault.Error{Kind: fault.Unavailable, Op: "transport", Message: errTooLong.Message, Err: errors.New(err.Error())}
	}
	return err
}
