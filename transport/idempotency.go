package transport

import (
	"bytes"
	"compress/gzip"
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

// keyHeader makes a POST request safe to repeat: draft-ietf-httpapi-idempotency-key-header-07. Its value is a string of a
// structured field; the quotes may be missing.
const keyHeader = "Idempotency-Key"

const (
	// keepAnswer is how long an answer is kept for repeated requests.
	keepAnswer = 24 * time.Hour
	// maxAnswer is the maximum length of a body that is kept.
	maxAnswer = 6 << 20
	// keyTime is how long a request with a key may take, even if its client has disconnected.
	keyTime = 110 * time.Second
)

var (
	errKeyReused = &fault.Error{Kind: fault.Conflict, Code: "idempotency_key_reused",
		Message: "This Idempotency-Key was used with a different request. Use a new one."}
	errKeyInUse = &fault.Error{Kind: fault.Conflict, Code: "idempotency_key_in_use",
		Message: "The request with this Idempotency-Key is still being processed. Try again later."}
	errAnswerLost = &fault.Error{Kind: fault.Conflict, Code: "idempotency_answer_lost",
		Message: "The request with this Idempotency-Key has been processed. Its response is no longer available."}
)

// Identify names the caller of a request with an Idempotency-Key: a resolver calls it with a text unique to the caller.
// Otherwise callers are distinguished by the Authorization header or, without one, by the client's address.
func (r *Request) Identify(caller string) { r.who = caller }

// kept is an answer kept for repeated requests.
type kept struct {
	Status int               `json:"status"`
	Header map[string]string `json:"header"`
	Body   []byte            `json:"body"`
	Lost   bool              `json:"lost"` // too long, or not to be kept
}

// keptHeaders are the header fields kept with an answer.
var keptHeaders = []string{"Content-Type", "Location", "ETag", "Cache-Control", "Vary"}

// keyed is a request with an Idempotency-Key. It is recorded, with its answer, in the transaction of the request itself.
type keyed struct {
	sealer storage.Sealer
	store  storage.Idempotency
	note   storage.Note
	now    time.Time
}

// keyedOf prepares a request with an Idempotency-Key.
func keyedOf(r *Request, key string) (*keyed, error) {
	// The answer may contain secrets that are shown once: it must not be readable from the database alone.
	secret := sha256.Sum256(lengthened("answer", key, r.Credentials()))
	sealer, err := storage.NewSealer(secret[:])
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "transport.keyedOf", err)
	}
	return &keyed{sealer: sealer, store: r.table.config.Idempotency}, nil
}

// name names the request, once its caller is known.
func (k *keyed) name(r *Request, key string) error {
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
		return fault.Wrap(fault.Unavailable, "transport.name", err)
	}
	name := sha256.Sum256(lengthened(append([]string{who, r.route.ID, key}, r.values...)...))
	k.now = r.table.config.Now().UTC()
	k.note = storage.Note{Key: name[:], Request: hash.Sum(nil), Holder: rand.Text(), Until: k.now.Add(keepAnswer)}
	return nil
}

// before returns the recorded answer to the request, nil if the request is new.
func (k *keyed) before(ctx context.Context) (*kept, error) {
	there, err := k.store.Noted(ctx, k.note.Key, k.now)
	switch {
	case fault.Is(err, fault.NotFound):
		return nil, nil //nolint:nilnil // there is none
	case err != nil:
		return nil, err
	case string(there.Request) != string(k.note.Request):
		return nil, errKeyReused
	}
	text, err := k.sealer.Open(there.Answer, keyHeader)
	if err != nil {
		return nil, errAnswerLost
	}
	return unpack(text)
}

// recordRequest records the request, without an answer, as the first step of the transaction of ctx. From then on, others with the
// same key wait.
func (k *keyed) recordRequest(ctx context.Context) error { return k.store.Note(ctx, k.note, k.now) }

// answer records the answer in the same transaction.
func (k *keyed) answer(ctx context.Context, answer kept) error {
	text, err := answer.pack()
	if err != nil {
		return fault.Wrap(fault.Internal, "transport.answer", err)
	}
	done := k.note
	if done.Answer, err = k.sealer.Seal(text, keyHeader); err != nil {
		return err
	}
	return k.store.Note(ctx, done, k.now)
}

// pack compresses an answer.
func (k *kept) pack() ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if err := json.NewEncoder(w).Encode(k); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func unpack(text []byte) (*kept, error) {
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, errAnswerLost
	}
	var answer kept
	if json.NewDecoder(r).Decode(&answer) != nil || answer.Lost {
		return nil, errAnswerLost
	}
	return &answer, nil
}

// inFlight has the keys of the requests in progress in this process.
type inFlight struct {
	mu   sync.Mutex
	keys map[string]bool
}

func (f *inFlight) enter(key []byte) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.keys[string(key)] {
		return false
	}
	if f.keys == nil {
		f.keys = map[string]bool{}
	}
	f.keys[string(key)] = true
	return true
}

func (f *inFlight) leave(key []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.keys, string(key))
}

// sweeper removes expired answers, once a minute, as part of a request that records one.
type sweeper struct {
	mu   sync.Mutex
	last time.Time
}

// sweepMost is the maximum number of rows that one request has to remove.
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

// lengthened joins texts unambiguously: no two lists give the same result.
func lengthened(texts ...string) []byte {
	var b []byte
	for _, text := range texts {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	return b
}

// write sends the recorded answer.
func (k *kept) write(w http.ResponseWriter) {
	h := w.Header()
	for name, value := range k.Header {
		h.Set(name, value)
	}
	h.Set("Idempotency-Replayed", "true")
	w.WriteHeader(k.Status)
	_, _ = w.Write(k.Body) // the client may have gone
}
