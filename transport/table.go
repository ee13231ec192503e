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

// Config configures a [Table]. The zero value works.
type Config struct {
	Base    string // path of all operations; default "/api/v1"
	BaseURL string // public address, for Location and Link, without trailing slash; default: the request's own path
	// BaseURLIsDefault means that BaseURL was not set explicitly. Location and Link then begin with the host requested from one
	// of TrustedProxies, see [ForwardedOrigin], and with BaseURL only if there is none.
	BaseURLIsDefault bool

	Body      int64            // bytes of a form or JSON body; default 2 MiB
	Multipart int64            // bytes of a multipart body unless the operation sets its own; default 26 MiB
	Limits    form.Limits      // of fields, depth and lists
	Logger    *slog.Logger     // access and error log; default: discarded
	Now       func() time.Time // for the access log and members' last activity; default time.Now
	Rand      io.Reader        // for request ids; default crypto/rand

	// Memory is the maximum number of bytes that all requests together use for rows read and for answers that clients have not
	// taken yet; default 256 MiB. One client may use half of it, and requests below 256 KiB are not counted. Reads that do not
	// fit wait up to twenty seconds and are then answered with 503; meanwhile, clients that read nothing are cut off. Pages
	// beside the API are counted by [Table.Bound].
	Memory int64

	Limiter        Limiter        // for requests by token, or by address without one; nil: no limit
	PublicLimiter  Limiter        // for unauthenticated writes, by address; nil: no limit
	TrustedProxies []netip.Prefix // peers whose X-Forwarded-For is trusted for the client's address; default none

	// Origins are the origins of web pages that may call the API from browsers, such as https://app.example.com, or "*" for
	// all: with access tokens or portal tokens, and never with the cookie of a session. See [ValidOrigin]. By default only
	// pages of the API's own origin may.
	Origins []string

	// Patience is the longest time that the work on a request may take; default 30 seconds, and five minutes for uploads and
	// requests to other servers. A request that takes longer is answered with 503.
	Patience time.Duration

	// Idempotency records POST requests with an Idempotency-Key and their answers, in the transactions of the requests; it is
	// the store of the services. If nil, the header is ignored.
	Idempotency storage.Idempotency
	// Units compares If-Match in the transaction that makes the change; it is the store of the services. Default: Idempotency.
	// Without both, a change made by others between the comparison and the change is overwritten.
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

	Status    int      // status of success; default 200, 204 for HandleEmpty
	Bare      bool     // the object is the body, rather than its `data`
	Public    bool     // works without a token
	Customers bool     // works with a portal token
	Within    string   // resource whose id is in the query or the body rather than the path: if it is not found, the answer is 404
	Expand    []string // names that `expand` accepts
	BodyQuery bool     // fields of the body are also read from the query string
	MaxBody   int64    // bytes of a multipart body; default Config.Multipart
	Apart     bool     // it has a lock of its own, and with If-Match is not one transaction with the check
	Slow      bool     // it calls other servers or changes very many rows, and may take minutes
	Lean      bool     // the answer has less than the GET of the object: the ETag is taken from there, or left out
	Location  string   // Location of a 201, from path parameters and fields of the output; default Path + "/{id}"
}

// Shape is the kind of an operation's answer.
type Shape uint8

// The shapes of answers.
const (
	Object Shape = iota // one object, with an ETag
	List                // a page of objects, with Link
	Empty               // 204
	File                // content of any media type
	Events              // server-sent events, until the client disconnects
)

// Route is an operation in a table, with the properties that the table derives.
type Route struct {
	Operation
	Shape Shape
	In    reflect.Type // struct of path, query and body
	Out   reflect.Type // the object, or the element of a list; nil for Empty and File

	params []string // names of the path parameters
	entry  *entry   // of Path
	plan   *bind.Plan
	serve  func(w http.ResponseWriter, r *Request) error
	// represent returns the body with which a GET of this route answers; nil unless the shape is Object and the method GET.
	represent func(r *Request) (representation, error)
}

// Table is the route table. Operations are added before it serves. A mistake in an operation (a duplicate path, an input
// that cannot be bound) is a bug in the program, so it panics at that time.
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

// Config returns the configuration of the table, with its defaults.
func (t *Table) Config() Config { return t.config }

// Base returns the path below which the operations are served.
func (t *Table) Base() string { return t.config.Base }

// Routes returns the operations in the order in which they were added.
func (t *Table) Routes() []Route {
	routes := make([]Route, len(t.routes))
	for i, r := range t.routes {
		routes[i] = *r
	}
	return routes
}

// Params returns the names of the path parameters in order.
func (r Route) Params() []string { return slices.Clone(r.params) }

// QueryNames returns the names of the query parameters in the input.
func (r Route) QueryNames() []string {
	if r.plan == nil {
		return nil
	}
	return r.plan.QueryNames()
}

// HasBody reports whether the input has fields of a body.
func (r Route) HasBody() bool { return r.plan != nil && r.plan.HasBody() && hasBody(r.Method) }

func hasBody(method string) bool { return method != http.MethodGet && method != http.MethodHead }

// add checks a route and adds it to the table.
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
