package transport

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/uptrace/bunrouter"
)

// router finds the route of a request with bunrouter. Instead of the client's request, bunrouter sees one that we build: its
// path is decoded once and encoded again, without empty segments, and its method is one of routedMethods. So clients meet
// none of bunrouter's peculiarities: redirects, half-decoded parameters, 404 for a wrong method, no HEAD, a panic at %00.
type router struct {
	bun     *bunrouter.Router
	entries map[string]*entry // by shape
	// arrived answers a request at its entry, or at nil if there is none.
	arrived func(*arrival, *entry) error
}

// routedMethods are the methods of all entries. An entry also answers methods that it does not have, as it can list the
// allowed ones. OPTIONS represents all other methods.
var routedMethods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

// arrival is a request on its way through bunrouter.
type arrival struct {
	w        *response
	r        *Request
	segments []string // of the path, decoded
}

type arrivalKey struct{}

// entry is a path with the routes of its methods. Paths that differ only in the names of their parameters share an entry.
type entry struct {
	segments []segment
	methods  map[string]*Route
}

type segment struct {
	literal string // "" for a parameter
	rest    bool   // the last parameter takes the rest of the path
	integer bool
}

func newRouter(arrived func(*arrival, *entry) error) *router {
	m := &router{entries: map[string]*entry{}, arrived: arrived}
	m.bun = bunrouter.New(bunrouter.WithNotFoundHandler(m.handler(nil)), bunrouter.WithMethodNotAllowedHandler(m.handler(nil)))
	return m
}

// handler is the function that bunrouter calls at an entry.
func (m *router) handler(e *entry) bunrouter.HandlerFunc {
	return func(_ http.ResponseWriter, req bunrouter.Request) error {
		a, ok := req.Context().Value(arrivalKey{}).(*arrival)
		if !ok {
			return errNoAddress
		}
		return m.arrived(a, e)
	}
}

// serve answers a request for an escaped path below the base.
func (m *router) serve(w *response, r *Request, escaped string) error {
	a := &arrival{w: w, r: r}
	path, ok := "", false
	if a.segments, path, ok = canonicalPath(escaped); !ok {
		return m.arrived(a, nil)
	}
	method := r.http.Method
	if !slices.Contains(routedMethods, method) {
		method = http.MethodOptions
	}
	req := (&http.Request{Method: method, URL: &url.URL{Path: path, RawPath: path}}).WithContext(context.WithValue(r.http.Context(), arrivalKey{}, a))
	return m.bun.ServeHTTPError(w, req)
}

// entry returns the entry of a shape, and makes it if it is new.
func (m *router) entry(shape string, segments []segment) *entry {
	if e := m.entries[shape]; e != nil {
		return e
	}
	e := &entry{segments: segments, methods: map[string]*Route{}}
	m.entries[shape] = e
	for _, method := range routedMethods {
		m.bun.Handle(method, shape, m.handler(e))
	}
	return e
}

// add registers a route under pattern and returns the names of its parameters.
func (m *router) add(r *Route, pattern string) (params []string, err error) {
	segments, params, shape, err := parsePattern(pattern)
	if err != nil {
		return nil, err
	}
	e := m.entry(shape, segments)
	if last := len(segments) - 1; segments[last].rest {
		// Without an entry, bunrouter would redirect to the path with a slash.
		m.entry(shape[:strings.LastIndexByte(shape, '/')], segments[:last])
	}
	if !slices.Equal(e.segments, segments) {
		return nil, fmt.Errorf("path %s is taken with parameters of other types", pattern)
	}
	if _, taken := e.methods[r.Method]; taken {
		return nil, fmt.Errorf("%s %s is a duplicate", r.Method, pattern)
	}
	e.methods[r.Method] = r
	if pattern == r.Path {
		r.entry = e
	}
	return params, nil
}

// parsePattern parses a pattern like "/accounts/{account_id}/files/{file_path...}". Parameters whose name ends in "id" are
// integers. The shape is bunrouter's pattern.
func parsePattern(pattern string) (segments []segment, params []string, shape string, err error) {
	parts := strings.Split(pattern, "/")
	if len(parts) < 2 || parts[0] != "" {
		return nil, nil, "", fmt.Errorf("path %q", pattern)
	}
	for i, part := range parts[1:] {
		name, isParam := strings.CutPrefix(part, "{")
		if !isParam {
			if part == "" || strings.ContainsAny(part, "{}:*%") {
				return nil, nil, "", fmt.Errorf("path %q", pattern)
			}
			segments = append(segments, segment{literal: part})
			shape += "/" + part
			continue
		}
		name, closed := strings.CutSuffix(name, "}")
		name, rest := strings.CutSuffix(name, "...")
		if !closed || name == "" || slices.Contains(params, name) || (rest && i != len(parts)-2) {
			return nil, nil, "", fmt.Errorf("path %q", pattern)
		}
		sign := "/:p"
		if rest {
			sign = "/*p"
		}
		shape += sign + strconv.Itoa(len(params))
		params = append(params, name)
		segments = append(segments, segment{rest: rest, integer: integerParam(name)})
	}
	return segments, params, shape, nil
}

func integerParam(name string) bool { return name == "id" || strings.HasSuffix(name, "_id") }

// canonicalPath splits an escaped path into decoded segments and joins them again. A trailing slash and empty segments are
// ignored. A path with ".." or with bytes that occur in no resource's path is not ok.
func canonicalPath(escaped string) (segments []string, path string, ok bool) {
	var canonical strings.Builder
	for part := range strings.SplitSeq(escaped, "/") {
		if part == "" {
			continue
		}
		decoded, err := url.PathUnescape(part)
		if err != nil || decoded == "." || decoded == ".." || !utf8.ValidString(decoded) || strings.IndexByte(decoded, 0) >= 0 {
			return nil, "", false
		}
		segments = append(segments, decoded)
		canonical.WriteString("/" + url.PathEscape(decoded))
	}
	return segments, canonical.String(), len(segments) > 0
}

// values reads the parameters from the decoded segments of a path.
func (e *entry) values(path []string) (values []string, ok bool) {
	for i, s := range e.segments {
		switch {
		case i >= len(path):
			return nil, false
		case s.literal != "":
			if path[i] != s.literal {
				return nil, false
			}
		case s.rest:
			rest := strings.Join(path[i:], "/")
			ok := fs.ValidPath(rest) && !strings.Contains(rest, `\`)
			return append(values, rest), ok
		default:
			if s.integer && !canonicalID(path[i]) {
				return nil, false
			}
			values = append(values, path[i])
		}
	}
	return values, len(path) == len(e.segments)
}

// canonicalID reports whether s is an id as the API writes it, so that each resource has one address.
func canonicalID(s string) bool {
	id, err := strconv.ParseInt(s, 10, 64)
	return err == nil && id > 0 && s == strconv.FormatInt(id, 10)
}

// allow lists the methods of the entry for the Allow header.
func (e *entry) allow() string {
	methods := []string{http.MethodOptions}
	for method := range e.methods {
		methods = append(methods, method)
		if method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
	}
	slices.Sort(methods)
	return strings.Join(methods, ", ")
}
