package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/internal/bind"
)

// Resolver makes the handle for a request: it authenticates the caller and opens the objects that the path names. Its errors
// are answered unchanged, before the body is read.
type Resolver[H any] func(ctx context.Context, r *Request) (H, error)

// Stabler is an output with parts that change when it is read, such as view counts. Stable returns the output without those
// parts, for If-Match to compare.
type Stabler interface{ Stable() any }

// HeaderSetter is an output that sets header fields, such as a cookie.
type HeaderSetter interface{ SetHeaders(h http.Header) }

// Handle adds an operation that answers with one object: status 200 with an ETag, or op.Status.
//
// Fields of In are tagged `json:"name"` (form, multipart or JSON body), `path:"name"` or `query:"name"`; `alias:"other"` is
// a second name in the body. They may be strings, booleans, integers, floats, time.Time, encoding.TextUnmarshaler, *[File],
// structs, and slices, maps, pointers and storage.Opt of these. An input may have methods SetDefaults() and
// CheckInput(problem func(field, text string)).
//
// With a GET on the same path, If-Match is honoured on PUT, PATCH and DELETE: the GET is run for the current ETag, and again
// in the transaction that makes the change (see [Config].Units), so that only one of several concurrent requests succeeds.
// The header protects agents from overwriting changes that were saved while they were typing. The ETag of a PUT is that of
// its own answer, so it serves for the next If-Match only if the PUT answers with the same representation as the GET, in the
// same language.
//
// Handle panics when the operation contradicts itself or the table.
func Handle[H, In, Out any](t *Table, resolve Resolver[H], op Operation, fn func(ctx context.Context, h H, in In) (Out, error)) {
	route := newRoute[In](op, Object)
	route.Out = reflect.TypeFor[Out]()
	run := func(r *Request) (any, error) { return call(r, resolve, fn) }
	if op.Method == http.MethodGet {
		route.represent = func(r *Request) (representation, error) {
			out, err := run(r)
			if err != nil {
				return representation{}, err
			}
			return represent(out, op.Bare)
		}
	}
	route.serve = func(w http.ResponseWriter, r *Request) error {
		out, err := run(r)
		if err != nil {
			return err
		}
		return writeObject(w, r, out)
	}
	t.add(route)
}

// HandlePage adds an operation that answers with a page of a list: `data`, and a Link header (RFC 8288) with the neighbours.
// In has a [Paging] if the list can be paged. See [Handle].
func HandlePage[H, In, T any](t *Table, resolve Resolver[H], op Operation, fn func(ctx context.Context, h H, in In) (storage.Page[T], error)) {
	route := newRoute[In](op, List)
	route.Out = reflect.TypeFor[T]()
	route.serve = func(w http.ResponseWriter, r *Request) error {
		page, err := call(r, resolve, fn)
		if err != nil {
			return err
		}
		return writeList(w, r, page.Items, page.Next, page.Prev)
	}
	t.add(route)
}

// HandleEmpty adds an operation that answers 204 without a body. See [Handle].
func HandleEmpty[H, In any](t *Table, resolve Resolver[H], op Operation, fn func(ctx context.Context, h H, in In) error) {
	if op.Status == 0 {
		op.Status = http.StatusNoContent
	}
	route := newRoute[In](op, Empty)
	route.serve = func(w http.ResponseWriter, r *Request) error {
		_, err := call(r, resolve, func(ctx context.Context, h H, in In) (struct{}, error) {
			return struct{}{}, fn(ctx, h, in)
		})
		if err == nil {
			w.WriteHeader(op.Status)
		}
		return err
	}
	t.add(route)
}

// HandleContent adds an operation that answers with a file. See [Handle] and [Content].
func HandleContent[H, In any](t *Table, resolve Resolver[H], op Operation, fn func(ctx context.Context, h H, in In) (Content, error)) {
	route := newRoute[In](op, File)
	route.serve = func(w http.ResponseWriter, r *Request) error {
		content, err := call(r, resolve, fn)
		if err != nil {
			return err
		}
		return content.serve(w, r.http)
	}
	t.add(route)
}

func newRoute[In any](op Operation, shape Shape) *Route {
	if op.Status == 0 {
		op.Status = http.StatusOK
	}
	plan, err := bind.Compile(reflect.TypeFor[In]())
	if err != nil {
		panic("transport: operation " + strconv.Quote(op.ID) + ": " + err.Error())
	}
	if (len(op.Expand) > 0) != slices.Contains(plan.QueryNames(), "expand") {
		panic("transport: operation " + strconv.Quote(op.ID) + ": Expand and the input's query parameter expand belong together")
	}
	return &Route{Operation: op, Shape: shape, In: reflect.TypeFor[In](), plan: plan}
}

// call does what all operations have in common: resolve the handle, read the input, check If-Match, run.
func call[H, In, Out any](r *Request, resolve Resolver[H], fn func(context.Context, H, In) (Out, error)) (out Out, err error) {
	r.bound()
	defer func() {
		r.stopClock()
		err = r.late(err)
	}()
	h, err := resolve(r.Context(), r)
	if err != nil {
		return out, err
	}
	before := r.http
	if err := r.begin(); err != nil {
		return out, err
	}
	if r.http != before { // its context may be another one
		r.bound()
	}
	var in In
	if err := r.bind(&in); err != nil {
		return out, rehearsed(r, h, in, fn, err)
	}
	if err := r.ifMatch(r.Context()); err != nil {
		return out, err
	}
	ctx := r.Context()
	if r.locking {
		ctx = storage.Locking(ctx)
	}
	out, err = fn(ctx, h, in)
	for until := time.Now().Add(roomWait); r.metered && errors.Is(err, errFull) && r.share.wait(ctx, until); {
		out, err = fn(ctx, h, in)
	}
	if err != nil {
		err = r.blame(err)
	}
	return out, err
}

// rehearser is a handle that can try an operation without doing it.
type rehearser[H any] interface{ Rehearsal() H }

// rehearsed handles an input that could not be read completely: it runs the operation in rehearsal and adds the problems
// that it finds in the rest of the input, so that one answer reports all of them.
func rehearsed[H, In, Out any](r *Request, h H, in In, fn func(context.Context, H, In) (Out, error), unread error) error {
	known, ok := errors.AsType[*fault.Error](unread)
	stage, can := any(h).(rehearser[H])
	if !ok || known.Kind != fault.Invalid || !can || !hasBody(r.http.Method) {
		return unread
	}
	_, err := fn(r.Context(), stage.Rehearsal(), in)
	if fault.Is(err, fault.Forbidden) {
		return err
	}
	more, ok := errors.AsType[*fault.Error](err)
	if !ok || more.Kind != fault.Invalid {
		return unread
	}
	all := fault.Fields{}
	for field, problems := range more.Fields {
		about := func(other string) bool { // the service misses the values that could not be read
			return other == field || strings.HasPrefix(other, field+"[") || strings.HasPrefix(field, other+"[")
		}
		if !slices.ContainsFunc(slices.Collect(maps.Keys(known.Fields)), about) {
			all[field] = problems
		}
	}
	maps.Copy(all, known.Fields)
	out := *known
	out.Fields = all
	return &out
}

// bind fills the input. All its problems are reported in one answer.
func (r *Request) bind(in any) error {
	query, err := r.queryTree()
	if err != nil {
		return err
	}
	body, err := r.readBody()
	if err != nil {
		return err
	}
	r.body, r.bodyRead = body, true
	err = r.route.plan.Decode(in, bind.Source{
		Path: r.params(), Query: query, Body: body,
		BodyQuery: r.route.BodyQuery, Items: r.table.config.Limits.Items,
	})
	if list, ok := in.(paged); ok {
		r.tag = r.listTag(in)
		list.acceptCursor(r.tag)
	}
	unknown := unknownExpand(query.Get("expand"), r.route.Expand)
	if unknown == nil {
		return err
	}
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind == fault.Invalid {
		maps.Copy(unknown.Fields, f.Fields)
	} else if err != nil {
		return err
	}
	return unknown
}

func encode(out any, bare bool) ([]byte, error) {
	if !bare {
		out = struct {
			Data any `json:"data"`
		}{out}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(out); err != nil {
		return nil, fault.Wrap(fault.Internal, "transport.encode", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func writeObject(w http.ResponseWriter, r *Request, out any) error {
	shown, err := represent(out, r.route.Bare)
	if err != nil {
		return err
	}
	body, h := shown.body, w.Header()
	if tag := r.etag(shown); tag != "" {
		h.Set("ETag", tag)
		if r.http.Method == http.MethodGet || r.http.Method == http.MethodHead {
			if noneMatch(r.http.Header.Values("If-None-Match"), tag) {
				cacheable(h)
				w.WriteHeader(http.StatusNotModified)
				return nil
			}
		}
	}
	if r.route.Status == http.StatusCreated {
		h.Set("Location", r.address()+r.table.config.Base+location(r, out))
	}
	if s, ok := out.(HeaderSetter); ok {
		s.SetHeaders(h)
	}
	writeJSON(w, r.route.Status, body)
	return nil
}

// encodeList is encode for a list, object by object, so that a long list is not in memory twice.
func encodeList[T any](items []T, size int) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(size)
	b.WriteString(`{"data":[`)
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for n := range items {
		if n > 0 {
			b.WriteByte(',')
		}
		if err := e.Encode(&items[n]); err != nil {
			return nil, fault.Wrap(fault.Internal, "transport.encode", err)
		}
		b.Truncate(b.Len() - 1) // the newline
	}
	b.WriteString("]}")
	if b.Available() > b.Len()/2 && b.Len() > unbounded { // it may stay in memory for long
		return bytes.Clone(b.Bytes()), nil
	}
	return b.Bytes(), nil
}

func writeList[T any](w http.ResponseWriter, r *Request, items []T, next, prev string) error {
	body, err := encodeList(items, int(r.share.read.Load()/rowCost))
	if err != nil {
		return err
	}
	var links []string
	for _, l := range [][2]string{{"next", next}, {"prev", prev}} {
		if l[1] == "" {
			continue
		}
		query := r.http.URL.Query()
		query.Set("cursor", l[1]+r.tag)
		links = append(links, "<"+r.address()+r.http.URL.EscapedPath()+"?"+query.Encode()+`>; rel="`+l[0]+`"`)
	}
	if len(links) > 0 {
		w.Header().Set("Link", strings.Join(links, ", "))
	}
	h := w.Header()
	cacheable(h)
	h.Set("Vary", h.Get("Vary")+", Accept-Encoding")
	if zipped := r.zipped(body); zipped != nil {
		h.Set("Content-Encoding", "gzip")
		body = zipped
	}
	writeBody(w, r.route.Status, body)
	return nil
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	cacheable(w.Header())
	writeBody(w, status, body)
}

func writeBody(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have gone
}

// cacheable lets a client keep the answer but not use it without revalidation.
func cacheable(h http.Header) {
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Vary", "Authorization, Cookie, Accept-Language")
}

// location fills the template of a Location with path parameters and fields of the output.
func location(r *Request, out any) string {
	params := r.params()
	return expandTemplate(r.route.location(), func(name string) (string, bool) {
		if field, ok := jsonField(reflect.ValueOf(out), name); ok {
			return url.PathEscape(field), true
		}
		value, ok := params[name]
		return url.PathEscape(value), ok
	})
}
