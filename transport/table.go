package transport

import (
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport/form"
	"github.com/helpwright/helpwright/transport/internal/bind"
)

// Config of a table. The zero value works.
type Config struct {
	Base    string // path of all operations; default "/api/v1"
	BaseURL string // address that users see, for Location and Link, without trailing slash; default: the request's own path
	// BaseURLIsDefault says that nobody has chosen BaseURL. Location and Link then begin with the host that one of TrustedProxies
	// was asked for, see [ForwardedOrigin], and only without one with BaseURL.
	BaseURLIsDefault bool

	Body      int64            // bytes of a form or JSON body; default 2 MiB
	Multipart int64            // bytes of a multipart body unless the operation sets its own; default 26 MiB
	Limits    form.Limits      // of fields, depth and lists
	Logger    *slog.Logger     // access and error log; nil: discards
	Now       func() time.Time // for the access log, and for when members were last seen; default time.Now
	Rand      io.Reader        // for request ids; default crypto/rand

	// Memory bounds in bytes what all requests together hold of rows that were read and of
	// answers that clients have not taken yet, default 256 MiB: one client at most half, and
	// what is below 256 KiB is not counted. Reads for which there is no room wait up to
	// twenty seconds, then they are 503; clients that take nothing meanwhile are cut off. Pages
	// beside the API are counted by [Table.Bound].
	Memory int64

	Limiter        Limiter        // of requests by token, or by address without one; nil: no limit
	PublicLimiter  Limiter        // of requests by address that write without a token; nil: no limit
	TrustedProxies []netip.Prefix // peers whose X-Forwarded-For names the client's address; none: no peer's does

	// Origins are those of web pages that may call the API from browsers, such as https://app.example.com, or "*" for all:
	// with access tokens or portal tokens, and never with the cookie of a session. See [ValidOrigin]. None: pages of the API's
	// own origin may.
	Origins []string

	// Patience is how long the work on a request may take, default 30 seconds; five minutes where files are uploaded or
	// other servers asked. A request that takes longer is 503.
	Patience time.Duration

	// Idempotency notes POST requests with an Idempotency-Key and their answers, in
	// the transactions that do them; it is the store of the services. Nil: the header
	// means nothing.
	Idempotency storage.Idempotency
	// Units compares If-Match in the transaction that makes the change; it is the store
	// of the services. Default: Idempotency; without both, what others change between
	// the comparison and the change is overwritten.
	Units storage.Units
}

func (c Config) withDefaults() Config {
	if c.Base == "" {
		c.Base = "/api/v1"
	}
	c.Base = strings.TrimRight(c.Base, "/")
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	if c.Body == 0 {
		c.Body = 2 << 20
	}
	if c.Multipart == 0 {
		c.Multipart = 26 << 20
	}
	c.Limits = c.Limits.WithDefaults()
	if c.Patience == 0 {
		c.Patience = patience
	}
	if c.Memory == 0 {
		c.Memory = 256 << 20
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Rand == nil {
		c.Rand = rand.Reader
	}
	if c.Units == nil && c.Idempotency != nil {
		c.Units = c.Idempotency
	}
	return c
}

// Operation describes one operation of the API.
type Operation struct {
	ID      string   // operationId, such as "createCustomer"; unique
	Method  string   // GET, POST, PUT, PATCH or DELETE
	Path    string   // below the base: "/accounts/{account_id}/customers"; "{file_path...}" takes the rest
	Aliases []string // other paths with the same parameters

	Tag         string
	Summary     string
	Description string

	Status    int      // of success; default 200, 204 for HandleEmpty
	Bare      bool     // the object is the body, instead of its `data`
	Public    bool     // works without a token
	Customers bool     // works with a portal token
	Within    string   // resource whose id the query or the body has, and not the path: when it is missing, the answer is 404
	Expand    []string // names that `expand` takes
	BodyQuery bool     // fields of the body are taken from the query string too
	MaxBody   int64    // bytes of a multipart body; default Config.Multipart
	Slow      bool     // it asks other servers, and may take minutes
	Lean      bool     // answers with less than the GET of the object: the ETag is taken from there, or left out
	Location  string   // of what a 201 created, from path parameters and fields of the output; default Path + "/{id}"
}

// Shape is what an operation answers with.
type Shape uint8

// The shapes.
const (
	Object Shape = iota // one object, with an ETag
	List                // a page of objects, with Link
	Empty               // 204
	File                // content of any media type
	Events              // server-sent events, without an end
)

// Route is an operation of a table with what the table knows about it.
type Route struct {
	Operation
	Shape Shape
	In    reflect.Type // struct of path, query and body
	Out   reflect.Type // the object, or the element of a list; nil for Empty and File

	params []string // names of the path parameters
	entry  *entry   // of Path
	plan   *bind.Plan
	serve  func(w http.ResponseWriter, r *Request) error
	// represent is the body that a GET of this route answers with; nil unless the
	// shape is Object and the method GET.
	represent func(r *Request) (representation, error)
}

// Table is the route table. Operations are added before it serves; a mistake in
// an operation (a path twice, an input that cannot be bound) panics then, as it
// is one of the program.
type Table struct {
	config Config
	routes []*Route
	router *router

	room     *room
	sweeper  sweeper
	inFlight inFlight
}

// New makes an empty table.
func New(config Config) *Table {
	config = config.withDefaults()
	t := &Table{config: config, room: newRoom(config.Memory)}
	t.router = newRouter(t.arrived)
	return t
}

// Config returns what the table was made from, with its defaults.
func (t *Table) Config() Config { return t.config }

// Base returns the path under which the operations are.
func (t *Table) Base() string { return t.config.Base }

// Routes returns the operations in the order they were added.
func (t *Table) Routes() []Route {
	routes := make([]Route, len(t.routes))
	for i, r := range t.routes {
		routes[i] = *r
	}
	return routes
}

// Params returns the names of the path parameters in their order.
func (r Route) Params() []string { return slices.Clone(r.params) }

// QueryNames returns the names of the query parameters that the input has.
func (r Route) QueryNames() []string {
	if r.plan == nil {
		return nil
	}
	return r.plan.QueryNames()
}

// HasBody reports whether the input has fields of a body.
func (r Route) HasBody() bool { return r.plan != nil && r.plan.HasBody() && hasBody(r.Method) }

func hasBody(method string) bool { return method != http.MethodGet && method != http.MethodHead }

// add checks a route and puts it into the table.
func (t *Table) add(r *Route) {
	if err := t.check(r); err != nil {
		panic(fmt.Sprintf("transport: operation %q: %v", r.ID, err))
	}
	t.routes = append(t.routes, r)
}

func (t *Table) check(r *Route) error {
	if r.ID == "" || slices.ContainsFunc(t.routes, func(o *Route) bool { return o.ID == r.ID }) {
		return fmt.Errorf("the id is missing or taken")
	}
	switch r.Method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		return fmt.Errorf("method %q", r.Method)
	}
	var err error
	if r.params, err = t.router.add(r, r.Path); err != nil {
		return err
	}
	for _, alias := range r.Aliases {
		params, err := t.router.add(r, alias)
		if err != nil {
			return err
		}
		if !slices.Equal(params, r.params) {
			return fmt.Errorf("alias %s has other parameters", alias)
		}
	}
	if r.plan == nil {
		return nil
	}
	for _, name := range r.plan.PathNames() {
		if !slices.Contains(r.params, name) {
			return fmt.Errorf("the path has no parameter %s", name)
		}
	}
	return checkLocation(r)
}
