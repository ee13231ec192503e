package transport

import (
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

// matcher finds the entry of a path. bunrouter does nothing here but match: it
// never sees the client's path, method or ResponseWriter, so that none of its
// habits (redirects, half-decoded parameters, swallowed errors, 404 for a wrong
// method, a panic at %00) can reach a client.
type matcher struct {
	router  *bunrouter.Router
	entries map[string]*entry // by shape
}

// entry is a path with the routes of its methods. Paths of one shape, which
// differ in the names of their parameters alone, share an entry.
type entry struct {
	segments []segment
	methods  map[string]*Route
}

type segment struct {
	literal string // "" for a parameter
	rest    bool   // the last parameter takes all that follows
	integer bool
}

func newMatcher() *matcher {
	return &matcher{router: bunrouter.New(), entries: map[string]*entry{}}
}

// add registers a route under pattern and returns the names of its parameters.
func (m *matcher) add(r *Route, pattern string) (params []string, err error) {
	segments, params, shape, err := parsePattern(pattern)
	if err != nil {
		return nil, err
	}
	e := m.entries[shape]
	if e == nil {
		e = &entry{segments: segments, methods: map[string]*Route{}}
		m.entries[shape] = e
		m.router.GET(shape, func(w http.ResponseWriter, _ bunrouter.Request) error {
			if f, ok := w.(*found); ok {
				f.entry = e
			}
			return nil
		})
	}
	if !slices.Equal(e.segments, segments) {
		return nil, fmt.Errorf("path %s is taken with parameters of other types", pattern)
	}
	if _, taken := e.methods[r.Method]; taken {
		return nil, fmt.Errorf("%s %s is there already", r.Method, pattern)
	}
	e.methods[r.Method] = r
	if pattern == r.Path {
		r.entry = e
	}
	return params, nil
}

// parsePattern reads "/accounts/{account_id}/files/{file_path...}". Parameters
// whose name ends in "id" are integers. The shape is bunrouter's pattern.
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

// find returns the entry for an escaped path below the base, and the values of
// its parameters in order. A trailing slash and empty segments are taken as if
// they were not there.
func (m *matcher) find(escaped string) (e *entry, values []string) {
	var segments []string
	var canonical strings.Builder
	for part := range strings.SplitSeq(escaped, "/") {
		if part == "" {
			continue
		}
		decoded, err := url.PathUnescape(part)
		if err != nil || decoded == "." || decoded == ".." || !utf8.ValidString(decoded) || strings.IndexByte(decoded, 0) >= 0 {
			return nil, nil
		}
		segments = append(segments, decoded)
		canonical.WriteString("/" + url.PathEscape(decoded))
	}
	path := canonical.String()
	if path == "" {
		return nil, nil
	}
	f := &found{}
	err := m.router.ServeHTTPError(f, &http.Request{Method: http.MethodGet, URL: &url.URL{Path: path, RawPath: path}})
	if err != nil || f.entry == nil {
		return nil, nil
	}
	if values, ok := f.entry.values(segments); ok {
		return f.entry, values
	}
	return nil, nil
}

// values reads the parameters out of the decoded segments of a path.
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

// canonicalID reports whether s is an id as the API writes it, so that a resource
// has one address.
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

// found takes the entry from bunrouter; as a ResponseWriter it swallows what
// bunrouter itself would answer, such as a redirect.
type found struct {
	entry  *entry
	header http.Header
}

func (f *found) Header() http.Header {
	if f.header == nil {
		f.header = http.Header{}
	}
	return f.header
}
func (f *found) Write(p []byte) (int, error) { return len(p), nil }
func (f *found) WriteHeader(int)             {}
