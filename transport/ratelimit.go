package transport

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage/fault"
)

// Limiter decides how many requests a client may send. [Buckets] is one; an application with many processes may count in a
// shared store.
type Limiter interface {
	// Take counts a request of key, a short text, unless it is over the limit. A limiter that cannot count lets requests pass.
	// The zero Quota means no limit.
	Take(ctx context.Context, key string) Quota
}

// Quota is the rest of a client's limit after a request.
type Quota struct {
	Policy    string        // name, of letters and digits
	Limit     int           // requests per Window; 0 for no limit
	Window    time.Duration // whole seconds
	Remaining int           // requests that may be sent at once
	Reset     time.Duration // time until Remaining is Limit again
	Wait      time.Duration // time until a request is let through; 0 if this one is
}

// setHeaders reports the quota to the client: RateLimit-Policy and RateLimit of draft-ietf-httpapi-ratelimit-headers-10,
// structured fields (RFC 9651).
func (q Quota) setHeaders(h http.Header) {
	h.Set("RateLimit-Policy", fmt.Sprintf(`"%s";q=%d;w=%d`, q.Policy, q.Limit, seconds(q.Window)))
	h.Set("RateLimit", fmt.Sprintf(`"%s";r=%d;t=%d`, q.Policy, q.Remaining, seconds(q.Reset)))
}

// seconds rounds up to whole seconds.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// TooMany returns the RateLimited fault for a client that has to wait that long; see [RetryAfterer].
func TooMany(wait time.Duration) error { return &tooMany{wait} }

// tooMany returns the error for a request over the limit.
type tooMany struct{ wait time.Duration }

var errTooMany = fault.New(fault.RateLimited, "Too many requests. Try again after the time in Retry-After.")

func (e *tooMany) Error() string             { return errTooMany.Error() }
func (e *tooMany) Unwrap() error             { return errTooMany }
func (e *tooMany) RetryAfter() time.Duration { return e.wait }

// countRequest counts a request and reports the rest of the limit to the client.
func countRequest(ctx context.Context, l Limiter, key string, h http.Header) error {
	if l == nil {
		return nil
	}
	q := l.Take(ctx, key)
	if q.Limit > 0 {
		q.setHeaders(h)
	}
	if q.Wait > 0 {
		return &tooMany{q.Wait}
	}
	return nil
}

// limit counts a request before any work on it: by its credentials if the operation verifies them, otherwise by the client's
// address, or each made-up token would have a limit of its own.
func (t *Table) limit(h http.Header, r *Request) error {
	switch {
	case r.route == nil:
		return countRequest(r.Context(), t.config.Limiter, r.ClientKey(), h)
	case r.route.Public && r.route.Method != http.MethodGet:
		return countRequest(r.Context(), t.config.PublicLimiter, r.ClientKey(), h)
	case r.route.Public:
		return countRequest(r.Context(), t.config.Limiter, r.ClientKey(), h)
	}
	return countRequest(r.Context(), t.config.Limiter, r.limitKey(), h)
}

// Limit counts the request against Config.Limiter once more, under another key: for callers who can create any number of
// credentials.
func (r *Request) Limit(key string) error {
	return countRequest(r.Context(), r.table.config.Limiter, key, r.writer.Header())
}

// Limit counts requests to a page beside the API as unauthenticated writes: by the client's address, whatever the method.
// Requests over Config.PublicLimiter are answered as by the API.
func (t *Table) Limit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		hr = traced(hr, t.config.Rand)
		r := &Request{http: hr, writer: w, table: t, id: TraceOf(hr.Context()).RequestID}
		if err := countRequest(hr.Context(), t.config.PublicLimiter, r.ClientKey(), w.Header()); err != nil {
			w.Header().Set("X-Request-Id", r.id)
			writeProblem(w, hr, err, problemOf(err, r.id))
			return
		}
		next.ServeHTTP(w, hr)
	})
}

// LimitTokens counts requests to an endpoint beside the API as the API counts its own: by the token, or by the client's
// address if there is none. Requests with a wrong token, which the endpoint answers with 401, also count against the
// address.
func (t *Table) LimitTokens(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		hr = traced(hr, t.config.Rand)
		r := &Request{http: hr, writer: w, table: t, id: TraceOf(hr.Context()).RequestID}
		w.Header().Set("X-Request-Id", r.id)
		if err := countRequest(hr.Context(), t.config.Limiter, r.limitKey(), w.Header()); err != nil {
			writeProblem(w, hr, err, problemOf(err, r.id))
			return
		}
		next.ServeHTTP(&refusalCounter{ResponseWriter: w, table: t, request: r}, hr)
	})
}

// refusalCounter counts a 401 answer against the client's address. After too many, the client gets a 429 instead.
type refusalCounter struct {
	http.ResponseWriter
	table   *Table
	request *Request
	over    bool
}

// WriteHeader implements [http.ResponseWriter].
func (w *refusalCounter) WriteHeader(status int) {
	if status == http.StatusUnauthorized && w.request.Credentials() != "" {
		if err := countRequest(w.request.Context(), w.table.config.Limiter, w.request.ClientKey(), w.Header()); err != nil {
			w.over = true
			writeProblem(w.ResponseWriter, w.request.http, err, problemOf(err, w.request.id))
			return
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *refusalCounter) Write(body []byte) (int, error) {
	if w.over {
		return len(body), nil
	}
	return w.ResponseWriter.Write(body)
}

// Unwrap is for [http.ResponseController].
func (w *refusalCounter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// refused counts a request with wrong credentials against the client's address: otherwise each wrong token would have a
// limit of its own.
func (t *Table) refused(h http.Header, r *Request, err error) error {
	if !fault.Is(err, fault.Unauthenticated) || r.Credentials() == "" {
		return err
	}
	if over := countRequest(r.Context(), t.config.Limiter, r.ClientKey(), h); over != nil {
		return over
	}
	return err
}

// limitKey returns the key to count by: the credentials, or the client's address. Limiters see a hash of it.
func (r *Request) limitKey() string {
	credentials := r.Credentials()
	if credentials == "" {
		return r.ClientKey()
	}
	sum := sha256.Sum256([]byte(credentials))
	return "token " + base64.RawURLEncoding.EncodeToString(sum[:16])
}

// ClientKey returns a key for the client's address; for IPv6 it is the /64 network, which is the usual allocation of one
// customer.
func (r *Request) ClientKey() string {
	addr := r.ClientAddr()
	if addr.Is6() {
		if network, err := addr.WithZone("").Prefix(64); err == nil {
			return "address " + network.String()
		}
	}
	return "address " + addr.String()
}

// ClientAddr returns the client's address: the peer's, or the address in X-Forwarded-For if the peer is one of
// Config.TrustedProxies. It is not valid if the peer has none, as on a Unix socket.
func (r *Request) ClientAddr() netip.Addr { return ClientAddr(r.http, r.table.config.TrustedProxies) }

// ClientAddr is [Request.ClientAddr] for pages beside the API.
func ClientAddr(r *http.Request, trusted []netip.Prefix) netip.Addr {
	var addr netip.Addr
	if peer, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		addr = peer.Addr().Unmap()
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		if !slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(addr) }) {
			break
		}
		next, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			break
		}
		addr = next.Unmap()
	}
	return addr
}
