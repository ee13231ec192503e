package transport

import (
	"context"
	"errors"
	"net/http"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// united is a request that runs as one transaction: one with an Idempotency-Key, whose answer is recorded in it, or one with
// If-Match, which is compared in it. Its answer is held back until the commit, so that clients only see committed results.
type united struct {
	keyed  *keyed // nil without an Idempotency-Key
	key    string
	unit   storage.Unit // nil if the request was refused before the transaction
	failed error        // the failure of the steps with which the transaction begins
	replay *kept
	leave  func() // releases the key for others; nil if the request does not have it
}

// end ends an uncommitted transaction before the outcome is published.
func (u *united) end() {
	if u.unit != nil {
		u.unit.Rollback()
	}
	if u.leave != nil {
		u.leave()
		u.leave = nil
	}
}

// errReplay ends a request whose answer was recorded before.
var errReplay = fault.New(fault.Internal, "The answer is known.")

// unite makes a request one transaction if its header requires that.
func (t *Table) unite(r *Request) (*united, error) {
	switch keys := r.http.Header.Values(keyHeader); {
	case t.config.Idempotency != nil && r.http.Method == http.MethodPost && len(keys) > 0:
		key, err := idempotencyKey(keys)
		if err != nil {
			return nil, err
		}
		k, err := keyedOf(r, key)
		return &united{keyed: k, key: key}, err
	case t.config.Units != nil && len(r.matching()) > 0 && !r.route.Apart:
		return &united{}, nil
	}
	return nil, nil //nolint:nilnil // it is not
}

// begin begins the transaction of a request, once its caller is known. From then on the request's work under its context is
// one transaction.
func (r *Request) begin() error {
	u := r.united
	if u == nil {
		return nil
	}
	units, first, ctx := r.table.config.Units, r.matchLocked, r.Context()
	if k := u.keyed; k != nil {
		if err := k.name(r, u.key); err != nil {
			return err
		}
		if !r.table.inFlight.enter(k.note.Key) {
			return errKeyInUse
		}
		u.leave = func() { r.table.inFlight.leave(k.note.Key) }
		answer, err := k.before(ctx)
		if err != nil {
			return err
		}
		if answer != nil {
			u.replay = answer
			return errReplay
		}
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), keyTime)
		r.cleanup = append(r.cleanup, cancel)
		units, first, ctx = k.store, k.recordRequest, bounded
	}
	ctx, u.unit = units.Begin(ctx, func(ctx context.Context) error {
		u.failed = first(ctx)
		return u.failed
	})
	r.http = r.http.WithContext(ctx)
	return nil
}

// serveUnited serves a request as one transaction.
//
// Requests refused before the transaction (credentials, an unreadable body) are not recorded, and neither are a 429 or a
// 5xx, which roll everything back: the client may retry. Any other error keeps the changes that it would keep without a
// transaction, and is recorded as the answer.
func (t *Table) serveUnited(w *response, r *Request) error {
	u := r.united
	held := &heldAnswer{ResponseWriter: w.ResponseWriter}
	w.ResponseWriter = held
	sent := false
	defer func() { // even if the operation panics
		w.ResponseWriter = held.ResponseWriter
		u.end()
		if !sent {
			w.status = 0
		}
	}()
	err := t.conclude(w, r, held, r.route.serve(w, r))
	if errors.Is(err, storage.ErrNoted) { // another request was faster
		u.unit.Rollback()
		*held = heldAnswer{ResponseWriter: held.ResponseWriter}
		w.status = 0
		clear(w.Header())
		t.common(w.Header(), r)
		if u.replay, err = u.keyed.before(r.Context()); err == nil && u.replay == nil {
			err = errKeyInUse // it was rolled back meanwhile
		}
	}
	if u.replay != nil {
		u.replay.write(w)
		err = nil
	}
	if err == nil {
		sent = true
		u.end()
		w.ResponseWriter = held.ResponseWriter
		held.send(w)
	}
	return err
}

// conclude commits the changes of an operation and records its answer.
func (t *Table) conclude(w *response, r *Request, held *heldAnswer, err error) error {
	u := r.united
	switch {
	case u.replay != nil:
		return nil
	case u.unit == nil:
		return err
	case u.failed != nil:
		return u.failed
	case err != nil && passingStatus(problemOf(err, r.id).Status):
		return err
	}
	last := func(context.Context) error { return nil }
	switch {
	case u.keyed != nil:
		if err != nil {
			t.fail(w, r, err)
		}
		if held.status == 0 { // there is no answer
			return err
		}
		last = func(ctx context.Context) error { return u.keyed.answer(ctx, held.answer()) }
	case err != nil:
		last = nil
	}
	if failed := u.unit.Commit(r.Context(), last); failed != nil {
		return failed
	}
	if u.keyed == nil {
		return err
	}
	ctx := context.WithoutCancel(r.Context())
	if err := t.sweeper.sweep(ctx, t.config.Idempotency, t.config.Now()); err != nil {
		t.config.Logger.WarnContext(ctx, "cannot remove expired answers", "request_id", r.id, "error", err)
	}
	return nil
}

// passingStatus reports whether the same request may be answered differently later.
func passingStatus(status int) bool {
	return status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
}

// heldAnswer holds an answer back.
type heldAnswer struct {
	http.ResponseWriter
	status int
	body   []byte
}

func (w *heldAnswer) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *heldAnswer) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	w.body = append(w.body, p...)
	return len(p), nil
}

// answer returns the answer to record.
func (w *heldAnswer) answer() kept {
	if len(w.body) > maxAnswer || w.Header().Get("Set-Cookie") != "" {
		return kept{Status: w.status, Lost: true}
	}
	k := kept{Status: w.status, Header: map[string]string{}, Body: w.body}
	for _, name := range keptHeaders {
		if value := w.Header().Get(name); value != "" {
			k.Header[name] = value
		}
	}
	return k
}

// send sends the answer.
func (w *heldAnswer) send(to http.ResponseWriter) {
	if w.status != 0 {
		to.WriteHeader(w.status)
		_, _ = to.Write(w.body) // the client may have gone
	}
}
