package transport

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/helpwright/helpwright/transport/form"
)

// Request is a request as a resolver sees it.
type Request struct {
	http   *http.Request
	writer http.ResponseWriter // only to bound the body
	table  *Table
	route  *Route
	values []string // of the path parameters
	id     string

	query    *form.Node // decoded once, nil before
	body     *form.Node // valid when bodyRead
	bodyRead bool
	tag      string   // of the list, see listTag
	who      string   // the caller, see Identify
	united   *united  // nil if its transactions are its own
	locking  bool     // the GET locks the object that it reads
	cleanup  []func() // run when the request ends

	share   *share // of the memory
	metered bool   // reads are counted, and start again when there is no room

	clock *time.Timer // ends the work on the request, see bound
	limit time.Duration
}

// Context returns the request's context.
func (r *Request) Context() context.Context { return r.http.Context() }

// ID returns the request id, which is also in the answer and in the log.
func (r *Request) ID() string { return r.id }

// Operation returns the requested operation.
func (r *Request) Operation() Operation { return r.route.Operation }

// Token returns the bearer token of the Authorization header (RFC 6750 section
// 2.1), "" if there is none. The scheme's case does not matter.
func (r *Request) Token() string {
	scheme, token, _ := strings.Cut(r.Header("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// Param returns a path parameter, decoded, or "".
func (r *Request) Param(name string) string {
	if i := slices.Index(r.route.params, name); i >= 0 {
		return r.values[i]
	}
	return ""
}

// ParamID returns a path parameter that is an id, 0 if the path has no parameter of that name. Paths with an id that is not
// a positive integer are refused earlier.
func (r *Request) ParamID(name string) int64 {
	id, err := strconv.ParseInt(r.Param(name), 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// HTTP returns the underlying request, for authentication by a part of it that has no method here. It must not be changed,
// nor its body read.
func (r *Request) HTTP() *http.Request { return r.http }

// Query returns a query parameter that has one value, or "".
func (r *Request) Query(name string) (string, error) {
	query, err := r.queryTree()
	if err != nil {
		return "", err
	}
	if n := query.Get(name); n != nil {
		return n.Text(), nil
	}
	return "", nil
}

// Header returns the first value of a header field.
func (r *Request) Header(name string) string { return r.http.Header.Get(name) }

// Cookie returns the value of a cookie, or "".
func (r *Request) Cookie(name string) string {
	c, err := r.http.Cookie(name)
	if err != nil {
		return ""
	}
	return c.Value
}

// RemoteAddr returns the peer's address as net/http gives it.
func (r *Request) RemoteAddr() string { return r.http.RemoteAddr }

// queryTree returns the query string as a tree.
func (r *Request) queryTree() (*form.Node, error) {
	if r.query != nil {
		return r.query, nil
	}
	tree, err := form.Parse(r.http.URL.RawQuery, r.table.config.Limits)
	if err != nil {
		return nil, err
	}
	r.query = tree
	return tree, nil
}

// forGet returns the request for a GET of the same resource with another query.
func (r *Request) forGet(ctx context.Context, route *Route, query string) *Request {
	inner := r.http.Clone(ctx)
	inner.Method, inner.URL.RawQuery, inner.Body = http.MethodGet, query, http.NoBody
	get := *r
	get.http, get.route, get.query, get.cleanup = inner, route, nil, nil
	get.body, get.bodyRead, get.united = nil, false, nil
	return &get
}

// params are the path parameters by name.
func (r *Request) params() map[string]string {
	params := make(map[string]string, len(r.values))
	for i, name := range r.route.params {
		params[name] = r.values[i]
	}
	return params
}

// forwardedOrigin returns the origin requested from a trusted proxy, unless an origin was set explicitly.
func (r *Request) forwardedOrigin() string {
	if !r.table.config.BaseURLIsDefault {
		return ""
	}
	return ForwardedOrigin(r.http, r.table.config.TrustedProxies)
}

// address returns the address under which the client reached the API's base: a path, including a prefix that an outer mux
// has stripped, or an absolute URL if the configuration has one.
func (r *Request) address() string {
	base := r.table.config.BaseURL
	if origin := r.forwardedOrigin(); origin != "" {
		path := ""
		if u, err := url.Parse(base); err == nil {
			path = u.EscapedPath()
		}
		return origin + path
	}
	if base != "" {
		return base
	}
	asked, _, _ := strings.Cut(r.http.RequestURI, "?")
	prefix, ok := strings.CutSuffix(asked, r.http.URL.EscapedPath())
	if !ok || !strings.HasPrefix(prefix, "/") {
		return ""
	}
	return prefix
}

// requestID takes the client's id if it is well-formed, and makes one otherwise.
func requestID(r *http.Request, random io.Reader) string {
	const hex = "0123456789abcdef"
	id := r.Header.Get("X-Request-Id")
	sane := len(id) >= 8 && len(id) <= 64
	for _, c := range []byte(id) {
		sane = sane && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.')
	}
	if sane {
		return id
	}
	var raw [16]byte
	if _, err := io.ReadFull(random, raw[:]); err != nil {
		return "unavailable"
	}
	var text [32]byte
	for i, b := range raw {
		text[2*i], text[2*i+1] = hex[b>>4], hex[b&15]
	}
	return string(text[:])
}
