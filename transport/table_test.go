package transport_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/transport"
	"github.com/helpwright/helpwright/transport/internal/openapigen"
	"github.com/helpwright/helpwright/transport/internal/openapitest"
)

// A small domain to serve: tickets of an account, with tags.

type ticket struct {
	ID        int64           `json:"id"`
	AccountID int64           `json:"account_id"`
	Subject   string          `json:"subject"`
	Status    string          `json:"status" enum:"posted,closed"`
	UserID    *int64          `json:"user_id"`
	User      *user           `json:"user,omitempty"`
	Tags      []string        `json:"tags"`
	ClosedAt  *transport.Time `json:"closed_at"`
	CreatedAt transport.Time  `json:"created_at"`
}

type user struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

type emailInput struct {
	ID    storage.Opt[int64] `json:"id"`
	Email string             `json:"email" required:"true"`
}

type ticketInput struct {
	TicketID int64                     `path:"ticket_id"`
	Subject  storage.Opt[string]       `json:"subject" maxLength:"200"`
	UserID   storage.Opt[int64]        `json:"user_id"`
	Emails   storage.Opt[[]emailInput] `json:"emails"`
	Tags     []string                  `json:"tags"`
	Day      storage.Opt[hours]        `json:"day"`
	Filter   map[string][]string       `json:"filter" alias:"filters"`
	Expand   transport.Expand          `query:"expand"`
}

type hours struct {
	From string `json:"from" required:"true"`
}

type newTicket struct {
	Subject string `json:"subject" required:"true"`
}

type getTicket struct {
	TicketID int64            `path:"ticket_id"`
	Expand   transport.Expand `query:"expand"`
}

type listTickets struct {
	transport.Paging
	Status []string `query:"status" enum:"posted,closed"`
}

type ticketID struct {
	TicketID int64 `path:"ticket_id"`
}

type bulk struct {
	Tickets []int64 `json:"tickets"`
}

type upload struct {
	File   *transport.Upload `json:"file" required:"true"`
	Inline bool              `json:"is_inline"`
}

type filePath struct {
	Path string `path:"file_path"`
}

type fileInfo struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
	Size int64  `json:"size"`
	Text string `json:"text"`
}

// desk is the handle.
type desk struct {
	account int64
	store   *store
}

type store struct {
	mu      sync.Mutex
	tickets map[int64]ticket
	deleted []int64
	fail    error // of every read
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.FixedZone("", 3600))

func newStore() *store {
	s := &store{tickets: map[int64]ticket{}}
	for i := int64(1); i <= 7; i++ {
		s.tickets[i] = ticket{ID: i, AccountID: 1, Subject: "Ticket " + strconv.FormatInt(i, 10), Status: "posted", Tags: []string{}, CreatedAt: transport.Time(noon)}
	}
	return s
}

func getOp(_ context.Context, d desk, in getTicket) (ticket, error) {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	if d.store.fail != nil {
		return ticket{}, d.store.fail
	}
	t, ok := d.store.tickets[in.TicketID]
	if !ok {
		return t, fault.Missing("ticket", in.TicketID)
	}
	if in.Expand.Has("user") {
		t.User = &user{ID: 9, Name: "Ada"}
	}
	return t, nil
}

func updateOp(_ context.Context, d desk, in ticketInput) (ticket, error) {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	t, ok := d.store.tickets[in.TicketID]
	if !ok {
		return t, fault.Missing("ticket", in.TicketID)
	}
	t.Subject = in.Subject.Or(t.Subject)
	if in.UserID.IsSet() {
		t.UserID = nil
		if id, ok := in.UserID.Get(); ok {
			t.UserID = &id
		}
	}
	d.store.tickets[in.TicketID] = t
	return t, nil
}

func createOp(_ context.Context, d desk, in newTicket) (ticket, error) {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	if in.Subject == "" {
		return ticket{}, fault.Field("subject", "is required")
	}
	id := int64(len(d.store.tickets) + 1)
	t := ticket{ID: id, AccountID: d.account, Subject: in.Subject, Status: "posted", Tags: []string{}, CreatedAt: transport.Time(noon)}
	d.store.tickets[id] = t
	return t, nil
}

func listOp(_ context.Context, d desk, in listTickets) (storage.Page[ticket], error) {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	position := func(t ticket) storage.Position { return storage.Position{Key: t.ID, ID: t.ID} }
	return storage.List(in.Request(), false, position, func(s storage.Seek) ([]ticket, error) {
		var found []ticket
		for i := range int64(len(d.store.tickets) + 1) {
			id := i
			if s.Desc {
				id = int64(len(d.store.tickets)) - i
			}
			t, ok := d.store.tickets[id]
			if ok && (s.From == nil || (!s.Desc && id > s.From.ID) || (s.Desc && id < s.From.ID)) && len(found) < s.Limit {
				found = append(found, t)
			}
		}
		return found, nil
	})
}

func removeOp(_ context.Context, d desk, in ticketID) error {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	if _, ok := d.store.tickets[in.TicketID]; !ok {
		return fault.Missing("ticket", in.TicketID)
	}
	delete(d.store.tickets, in.TicketID)
	return nil
}

func bulkRemoveOp(_ context.Context, d desk, in bulk) error {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	d.store.deleted = in.Tickets
	return nil
}

func uploadOp(_ context.Context, d desk, in upload) (fileInfo, error) {
	if in.File == nil {
		return fileInfo{}, fault.Field("file", "is required")
	}
	r, err := in.File.Open()
	if err != nil {
		return fileInfo{}, err
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	return fileInfo{ID: 1, Name: in.File.Filename, Size: in.File.Size, Text: string(text)}, err
}

type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }

func fileOp(_ context.Context, d desk, in filePath) (transport.Content, error) {
	kind := "text/html"
	if strings.HasSuffix(in.Path, ".png") {
		kind = "image/png"
	}
	return transport.Content{Name: "ü/" + in.Path, Type: kind, ETag: "v1", Body: memory{bytes.NewReader([]byte("path " + in.Path))}}, nil
}

// resolve opens the desk of account 1 for the token "good".
func (s *store) resolve(_ context.Context, r *transport.Request) (desk, error) {
	switch {
	case r.Token() == "panic":
		panic("secret of the resolver")
	case r.Token() != "good" && !r.Operation().Public:
		return desk{}, fault.New(fault.Unauthenticated, "A valid token is needed.")
	case r.ParamID("account_id") != 1:
		return desk{}, fault.Missing("account", r.ParamID("account_id"))
	}
	return desk{account: 1, store: s}, nil
}

// clock is fixed until it is moved, or advances by step with each reading.
type clock struct {
	mu   sync.Mutex
	at   time.Time
	step time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(c.step)
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// newTable is an API of tickets.
func newTable(s *store, config transport.Config) *transport.Table {
	t := transport.New(config)
	const tickets, one = "/accounts/{account_id}/tickets", "/accounts/{account_id}/tickets/{ticket_id}"
	op := func(id, method, path string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Tickets", Summary: id}
	}
	create := op("createTicket", "POST", tickets)
	create.Status, create.Aliases = 201, []string{"/account/{account_id}/tickets"}
	transport.Handle(t, s.resolve, create, createOp)
	transport.HandlePage(t, s.resolve, op("listTickets", "GET", tickets), listOp)
	get := op("getTicket", "GET", one)
	get.Expand = []string{"mailbox", "user"}
	transport.Handle(t, s.resolve, get, getOp)
	update := op("updateTicket", "PUT", one)
	update.Expand = get.Expand
	transport.Handle(t, s.resolve, update, updateOp)
	transport.HandleEmpty(t, s.resolve, op("deleteTicket", "DELETE", one), removeOp)
	many := op("deleteTickets", "DELETE", tickets+"/bulk")
	many.BodyQuery = true
	transport.HandleEmpty(t, s.resolve, many, bulkRemoveOp)
	attach := op("upload", "POST", "/accounts/{account_id}/files")
	attach.Status, attach.Bare, attach.MaxBody = 201, true, 4<<20
	attach.Location = "/accounts/{account_id}/files/{name}"
	transport.Handle(t, s.resolve, attach, uploadOp)
	read := op("file", "GET", "/accounts/{account_id}/files/{file_path...}")
	read.Public = true
	transport.HandleContent(t, s.resolve, read, fileOp)
	return t
}

// harness is a table under test. Every answer is checked against its OpenAPI document.
type harness struct {
	store   *store
	handler http.Handler
	check   *openapitest.Validator
	log     *testenv.Output
}

func newAPI(t testing.TB) *harness {
	t.Helper()
	a := &harness{store: newStore(), log: &testenv.Output{}}
	table := newTable(a.store, transport.Config{Logger: slog.New(slog.NewTextHandler(a.log, nil))})
	document, err := openapigen.Generate(table, openapigen.Info{Title: "Tickets", Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	a.handler, a.check = table.Handler(), openapitest.New(t, document, table.Base())
	return a
}

// do sends a request with the good token; header is alternately name and value.
func (a *harness) do(t testing.TB, method, target, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequest(method, target, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer good")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return a.send(t, req)
}

func (a *harness) send(t testing.TB, req *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	a.handler.ServeHTTP(w, req)
	a.check.Check(t, req, w.Code, w.Header(), w.Body.Bytes())
	return w
}

// Example serves one operation.
func Example() {
	type greeting struct {
		Text string `json:"text"`
	}
	type input struct {
		Name string `query:"name"`
	}
	table := transport.New(transport.Config{Logger: slog.New(slog.DiscardHandler)})
	resolve := func(_ context.Context, r *transport.Request) (desk, error) {
		if r.Token() != "good" {
			return desk{}, fault.New(fault.Unauthenticated, "A valid token is needed.")
		}
		return desk{account: r.ParamID("account_id")}, nil
	}
	transport.Handle(table, resolve, transport.Operation{
		ID: "greet", Method: http.MethodGet, Path: "/accounts/{account_id}/greeting", Summary: "Greet",
	}, func(_ context.Context, d desk, in input) (greeting, error) {
		return greeting{Text: fmt.Sprintf("Hello %s, here is account %d.", in.Name, d.account)}, nil
	})

	req := httptest.NewRequest(http.MethodGet, "/api/v1/accounts/7/greeting?name=Ada", nil)
	req.Header.Set("Authorization", "Bearer good")
	w := httptest.NewRecorder()
	table.Handler().ServeHTTP(w, req)
	fmt.Println(w.Code, w.Body)
	// Output: 200 {"data":{"text":"Hello Ada, here is account 7."}}
}
