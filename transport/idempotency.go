package transport

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// keyHeader of a POST request makes it safe to send again:
// draft-ietf-httpapi-idempotency-key-header-07. Its value is a string of a
// structured field; without the quotes it is taken too.
const keyHeader = "Idempotency-Key"

const (
	// keepAnswer is how long an answer is given again.
	keepAnswer = 24 * time.Hour
	// maxAnswer is how long the body of an answer may be to be given again.
	maxAnswer = 64 << 10
	// keyLease is how long a request may take. When the process dies meanwhile, the
	// key is in use for that long, and free after it: nobody knows then whether the
	// request was done.
	keyLease = 2 * time.Minute
	// keyMargin before the end of the lease the work ends.
	keyMargin = 10 * time.Second
)

var (
	errKeyReused = &fault.Error{Kind: fault.Conflict, Code: "idempotency_key_reused",
		Message: "The Idempotency-Key came with another request before. Use a new one."}
	errKeyInUse = &fault.Error{Kind: fault.Conflict, Code: "idempotency_key_in_use",
		Message: "The request with this Idempotency-Key has not been answered yet. Send it again later."}
	errAnswerLost = &fault.Error{Kind: fault.Conflict, Code: "idempotency_answer_lost",
		Message: "The request with this Idempotency-Key was done. Its answer cannot be given again."}
)

// Identify says who asks, for requests with an Idempotency-Key: a resolver calls
// it with a text that is the caller's own. Otherwise it is the Authorization
// header that tells callers apart, or the client's address.
func (r *Request) Identify(caller string) { r.who = caller }

// kept is an answer that can be given again.
type kept struct {
	Status int               `json:"status"`
	Header map[string]string `json:"header"`
	Body   []byte            `json:"body"`
	Lost   bool              `json:"lost"` // too long, or not to be kept
}

// keptHeaders are the header fields of an answer that are given again.
var keptHeaders = []string{"Content-Type", "Location", "ETag", "Cache-Control", "Vary"}

// keyed is a request with an Idempotency-Key.
type keyed struct {
	key         string
	sealer      storage.Sealer
	reservation storage.Reservation
	reserved    bool
	replay      *kept
}

// errReplay ends a request whose answer is known.
var errReplay = fault.New(fault.Internal, "The answer is known.")

// once serves a POST request with an Idempotency-Key. The answer is held back
// until it is stored: what a client has seen is what it will see again.
//
// What was refused before anything was tried is not kept (credentials, an
// unreadable body), and neither is a 5xx, after which it may be tried again.
func (t *Table) once(w *response, r *Request) error {
	key, err := idempotencyKey(r.http.Header.Values(keyHeader))
	if err != nil {
		return err
	}
	// The database alone does not give the answers away, which may hold secrets
	// that are shown once.
	secret := sha256.Sum256(lengthened("answer", key, r.credentials()))
	k := &keyed{key: key}
	if k.sealer, err = storage.NewSealer(secret[:]); err != nil {
		return fault.Wrap(fault.Internal, "transport.once", err)
	}
	r.keyed = k
	held := &heldAnswer{ResponseWriter: w.ResponseWriter}
	w.ResponseWriter = held
	settled := false
	defer func() { // also when the operation panics
		w.ResponseWriter = held.ResponseWriter
		if !settled {
			w.status = 0
			t.settle(r, kept{Status: http.StatusInternalServerError})
		}
	}()
	err = r.route.serve(w, r)
	switch {
	case k.replay != nil:
		k.replay.write(w)
	case err != nil && !k.reserved:
		settled = true
		return err
	case err != nil:
		t.fail(w, r, err)
	}
	t.settle(r, held.answer())
	settled = true
	held.send()
	return nil
}

// reserve takes the key of the request, once it is known who asks. From then on
// the request is served to its end, also when the client has left, but not longer
// than its lease.
func (r *Request) reserve() error {
	k := r.keyed
	if k == nil {
		return nil
	}
	body, err := r.readBody()
	if err != nil {
		return err
	}
	r.body, r.bodyRead = body, true
	who := r.who
	if who == "" {
		who = r.limitKey()
	}
	hash := sha256.New()
	hash.Write(lengthened(r.http.URL.RawQuery))
	if err := body.Sum(hash); err != nil {
		return fault.Wrap(fault.Unavailable, "transport.reserve", err)
	}
	name := sha256.Sum256(lengthened(append([]string{who, r.route.ID, k.key}, r.values...)...))
	now := r.table.config.Now().UTC()
	wanted := storage.Reservation{Key: name[:], Request: hash.Sum(nil), Holder: rand.Text(), Until: now.Add(keyLease)}
	found, mine, err := r.table.config.Idempotency.Reserve(r.Context(), wanted, now)
	switch {
	case err != nil:
		return err
	case mine:
		k.reservation, k.reserved = wanted, true
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), keyLease-keyMargin)
		r.cleanup = append(r.cleanup, cancel)
		r.http = r.http.WithContext(ctx)
		return nil
	case string(found.Request) != string(wanted.Request):
		return errKeyReused
	case found.Answer == nil:
		return errKeyInUse
	}
	text, err := k.sealer.Open(found.Answer, keyHeader)
	var answer kept
	if err != nil || json.Unmarshal(text, &answer) != nil || answer.Lost {
		return errAnswerLost
	}
	k.replay = &answer
	return errReplay
}

// settle keeps the answer of a reserved request, or frees the key.
func (t *Table) settle(r *Request, answer kept) {
	k := r.keyed
	if !k.reserved {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), keyMargin)
	defer cancel()
	err := func() error {
		if answer.Status == 0 || answer.Status >= http.StatusInternalServerError {
			return t.config.Idempotency.Release(ctx, k.reservation)
		}
		text, err := json.Marshal(answer)
		if err != nil {
			return err
		}
		done := k.reservation
		done.Until = t.config.Now().UTC().Add(keepAnswer)
		if done.Answer, err = k.sealer.Seal(text, keyHeader); err != nil {
			return err
		}
		return t.config.Idempotency.Answered(ctx, done)
	}()
	if err == nil {
		err = t.sweeper.sweep(ctx, t.config.Idempotency, t.config.Now())
	}
	if err != nil {
		t.config.Logger.WarnContext(ctx, "the answer to an Idempotency-Key was not kept", "request_id", r.id, "error", err)
	}
}

// sweeper removes answers that are old, once a minute, with a request that keeps one.
type sweeper struct {
	mu   sync.Mutex
	last time.Time
}

// sweepMost bounds what one request may have to remove.
const sweepMost = 1000

func (s *sweeper) sweep(ctx context.Context, store storage.Idempotency, now time.Time) error {
	s.mu.Lock()
	due := now.Sub(s.last) >= time.Minute
	if due {
		s.last = now
	}
	s.mu.Unlock()
	if !due {
		return nil
	}
	n, err := store.Sweep(ctx, now, sweepMost)
	if n == sweepMost { // there are more
		s.mu.Lock()
		s.last = time.Time{}
		s.mu.Unlock()
	}
	return err
}

// idempotencyKey reads the header.
func idempotencyKey(values []string) (string, error) {
	key := strings.TrimSpace(strings.Join(values, ", "))
	if inner, ok := strings.CutPrefix(key, `"`); ok {
		key, ok = strings.CutSuffix(inner, `"`)
		if !ok {
			key = ""
		}
	}
	bad := len(values) != 1 || key == "" || len(key) > 255
	for _, c := range []byte(key) {
		bad = bad || c < 0x20 || c > 0x7e || c == '"'
	}
	if bad {
		return "", &fault.Error{Kind: fault.Malformed, Code: "idempotency_key_malformed",
			Message: "The Idempotency-Key must be one string of 1 to 255 printable ASCII characters."}
	}
	return key, nil
}

// lengthened joins texts so that no two lists give the same.
func lengthened(texts ...string) []byte {
	var b []byte
	for _, text := range texts {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	return b
}

// write gives the answer again.
func (k *kept) write(w http.ResponseWriter) {
	h := w.Header()
	for name, value := range k.Header {
		h.Set(name, value)
	}
	h.Set("Idempotency-Replayed", "true")
	w.WriteHeader(k.Status)
	_, _ = w.Write(k.Body) // the client may have gone
}

// heldAnswer holds an answer back as far as it may be kept.
type heldAnswer struct {
	http.ResponseWriter
	status int
	body   []byte
	sent   bool
}

func (w *heldAnswer) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *heldAnswer) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if !w.sent && len(w.body)+len(p) > maxAnswer {
		w.send()
	}
	if w.sent {
		return w.ResponseWriter.Write(p)
	}
	w.body = append(w.body, p...)
	return len(p), nil
}

// answer is what to keep.
func (w *heldAnswer) answer() kept {
	if w.sent || w.Header().Get("Set-Cookie") != "" {
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

// send lets the answer go.
func (w *heldAnswer) send() {
	if w.sent || w.status == 0 {
		return
	}
	w.sent = true
	w.ResponseWriter.WriteHeader(w.status)
	_, _ = w.ResponseWriter.Write(w.body) // the client may have gone
}
