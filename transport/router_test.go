package transport_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/uptrace/bunrouter"

	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/transport"
)

func TestPaths(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for target, status := range map[string]int{
		"/api/v1/accounts/1/tickets/1":                    200,
		"/api/v1/accounts/1/tickets/1/":                   200,
		"/api/v1//accounts/1//tickets/1":                  200,
		"/api/v1/accounts/%31/tickets/1":                  200,
		"/api/v1/accounts/1/tickets/x":                    404,
		"/api/v1/accounts/1/tickets/01":                   404,
		"/api/v1/accounts/1/tickets/+1":                   404,
		"/api/v1/accounts/1/tickets/-1":                   404,
		"/api/v1/accounts/1/tickets/0":                    404,
		"/api/v1/accounts/1/tickets/1%00":                 404,
		"/api/v1/accounts/1/tickets/%ff":                  404,
		"/api/v1/accounts/1/tickets/1%2f":                 404,
		"/api/v1/accounts/1/tickets/99999999999999999999": 404,
		"/api/v1/accounts/1/./tickets/1":                  404,
		"/api/v1/accounts/1/x/../tickets/1":               404,
		"/api/v1/accounts/1/x/%2e%2e/tickets/1":           404,
		"/api/v1/accounts/2/tickets/1":                    404,
		"/api/v1/accounts":                                404,
		"/api/v1/accounts/1":                              404,
		"/api/v1":                                         404,
		"/api/v1/":                                        404,
		"/api/v10/accounts/1/tickets/1":                   404,
		"/":                                               404,
		"/api/v1/:p0":                                     404,
		"/api/v1/accounts/1/files":                        405,
		"/api/v1/accounts/1/files/":                       405,
	} {
		w := a.do(t, "GET", target, "")
		if w.Code != status || w.Header().Get("X-Request-Id") == "" {
			t.Errorf("%s: %d, want %d", target, w.Code, status)
		}
		if status == 404 && w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %s", target, w.Header().Get("Content-Type"))
		}
	}
}

func TestWildcard(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for path, want := range map[string]string{
		"templates/a.html": "templates/a.html",
		"a%2fb":            "a/b",
		"a%252fb":          "a%2fb",
		"a//b/":            "a/b",
		"caf%C3%A9":        "café",
		"a%20b+c":          "a b+c",
		"..%2f..%2fx":      "",
		"../../x":          "",
		"%2e%2e/x":         "",
		"a/./b":            "",
		`a%5c..%5cb`:       "",
		"%2fetc":           "",
		"a%00b":            "",
	} {
		w := a.do(t, "GET", "/api/v1/accounts/1/files/"+path, "")
		if want == "" && w.Code != 404 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
		if want != "" && w.Body.String() != "path "+want {
			t.Errorf("%s: %d %q, want %q", path, w.Code, w.Body, want)
		}
	}
}

// Behaviour of bunrouter itself; if one of these fails, a new version behaves differently and the layer around it can become
// smaller.
func TestBunrouterAlone(t *testing.T) {
	t.Parallel()
	router := bunrouter.New()
	router.GET("/c/:id/d", func(http.ResponseWriter, bunrouter.Request) error { return errors.New("lost") })
	router.POST("/c/:id", func(http.ResponseWriter, bunrouter.Request) error { panic("through") })
	ask := func(method, target string) (code int, panics any) {
		defer func() { panics = recover() }()
		w := httptest.NewRecorder()
		router.ServeHTTP(w, httptest.NewRequest(method, target, nil))
		return w.Code, nil
	}
	for _, tt := range []struct {
		method, target string
		code           int
	}{
		{"GET", "/c/1/d", 200}, // the error became an empty 200
		{"POST", "/c/1/d", 404},
		{"HEAD", "/c/1/d", 404},
		{"POST", "/c/1/", 301},
		{"GET", "/c/1//d", 301},
	} {
		if code, _ := ask(tt.method, tt.target); code != tt.code {
			t.Errorf("%s %s: %d, was %d", tt.method, tt.target, code, tt.code)
		}
	}
	if _, panics := ask("POST", "/c/1"); panics != "through" {
		t.Errorf("panic: %v", panics)
	}
	if _, panics := ask("POST", "/c//1"); panics != "through" { // the parameter is "/1"
		t.Errorf("slash in a parameter: %v", panics)
	}
	if _, panics := ask("GET", "/c/%00"); panics == nil { // index out of range in the router
		t.Error("NUL in the path: no panic")
	}
}

func TestMethods(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, tt := range []struct {
		method, path string
		code         int
		allow        string
	}{
		{"PATCH", "/accounts/1/tickets/1", 405, "DELETE, GET, HEAD, OPTIONS, PUT"},
		{"POST", "/accounts/1/tickets/1/", 405, "DELETE, GET, HEAD, OPTIONS, PUT"},
		{"PUT", "/accounts/1/tickets", 405, "GET, HEAD, OPTIONS, POST"},
		{"GET", "/accounts/1/tickets/bulk", 405, "DELETE, OPTIONS"},
		{"GET", "/account/1/tickets", 405, "OPTIONS, POST"},
		{"TRACE", "/accounts/1/tickets", 405, "GET, HEAD, OPTIONS, POST"},
		{"WEIRD", "/accounts/1/tickets", 405, "GET, HEAD, OPTIONS, POST"},
		{"OPTIONS", "/accounts/1/tickets", 204, "GET, HEAD, OPTIONS, POST"},
		{"OPTIONS", "/nothing", 404, ""},
		{"HEAD", "/accounts/1/tickets", 200, ""},
		{"HEAD", "/accounts/1/tickets/1", 200, ""},
		{"HEAD", "/accounts/1/tickets/99", 404, ""},
	} {
		w := a.do(t, tt.method, "/api/v1"+tt.path, "")
		if w.Code != tt.code || w.Header().Get("Allow") != tt.allow {
			t.Errorf("%s %s: %d Allow %q", tt.method, tt.path, w.Code, w.Header().Get("Allow"))
		}
		if tt.method == "HEAD" && (w.Body.Len() > 0 || w.Header().Get("Content-Length") == "") {
			t.Errorf("%s %s: body %q, header %v", tt.method, tt.path, w.Body, w.Header())
		}
	}
	if w := a.do(t, "PATCH", "/api/v1/accounts/1/tickets/1", ""); !strings.Contains(w.Body.String(), `"code":"method_not_allowed"`) {
		t.Error(w.Body)
	}
}

// The path before a rest parameter is not an address of its own: bunrouter would redirect it to one with a slash, forever.
func TestPathBeforeRest(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]bool{"alone": false, "with another route": true} {
		s := newStore()
		table := transport.New(transport.Config{})
		read := transport.Operation{ID: "file", Method: "GET", Path: "/accounts/{account_id}/pages/{file_path...}", Tag: "Files", Summary: "file", Public: true}
		transport.HandleContent(table, s.resolve, read, fileOp)
		want := http.StatusNotFound
		if before {
			write := transport.Operation{ID: "upload", Method: "POST", Path: "/accounts/{account_id}/pages", Tag: "Files", Summary: "upload", Bare: true}
			transport.Handle(table, s.resolve, write, uploadOp)
			want = http.StatusMethodNotAllowed
		}
		for _, path := range []string{"/api/v1/accounts/1/pages", "/api/v1/accounts/1/pages/"} {
			w := httptest.NewRecorder()
			table.Handler().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			if w.Code != want || w.Header().Get("Location") != "" {
				t.Errorf("%s: %s: %d, Location %q", name, path, w.Code, w.Header().Get("Location"))
			}
		}
	}
}

func TestStripPrefix(t *testing.T) {
	t.Parallel()
	s := newStore()
	mux := http.NewServeMux()
	mux.Handle("/desk/", http.StripPrefix("/desk", newTable(s, transport.Config{}).Handler()))
	req := httptest.NewRequest("POST", "/desk/api/v1/account/1/tickets", strings.NewReader("subject=x"))
	req.Header.Set("Authorization", "bearer good")
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, req)
	if got := w.Header().Get("Location"); w.Code != 201 || got != "/desk/api/v1/accounts/1/tickets/8" {
		t.Errorf("%d %q %s", w.Code, got, w.Body)
	}
	table := newTable(s, transport.Config{BaseURL: "https://help.example.org/x/"})
	req = httptest.NewRequest("GET", "/api/v1/accounts/1/tickets?limit=2", nil)
	req.Header.Set("Authorization", "Bearer good")
	w = httptest.NewRecorder()
	table.Handler().ServeHTTP(w, req)
	if got := w.Header().Get("Link"); !strings.HasPrefix(got, "<https://help.example.org/x/api/v1/accounts/1/tickets?cursor=") {
		t.Error(got)
	}
}

type limited struct{ error }

func (limited) RetryAfter() time.Duration { return 1500 * time.Millisecond }

func TestProblems(t *testing.T) {
	t.Parallel()
	secret := errors.New("secret: table tickets at 10.0.0.1")
	for name, tt := range map[string]struct {
		err    error
		status int
		code   string
		detail string
		header [2]string
	}{
		"plain":       {secret, 500, "internal", "Something went wrong in the server. The log has it under this request_id.", [2]string{}},
		"internal":    {&fault.Error{Kind: fault.Internal, Message: "secret", Code: "secret", Err: secret}, 500, "internal", "Something went wrong in the server. The log has it under this request_id.", [2]string{}},
		"unavailable": {fault.Wrap(fault.Unavailable, "op", secret), 503, "unavailable", "The server cannot answer right now. Try again later.", [2]string{"Retry-After", "1"}},
		"deadline":    {context.DeadlineExceeded, 503, "unavailable", "The server cannot answer right now. Try again later.", [2]string{"Retry-After", "1"}},
		"canceled":    {context.Canceled, 500, "internal", "Something went wrong in the server. The log has it under this request_id.", [2]string{}},
		"limited":     {fault.Wrap(fault.RateLimited, "op", limited{secret}), 429, "rate_limited", "rate limited", [2]string{"Retry-After", "2"}},
		"forbidden":   {fault.New(fault.Forbidden, "No."), 403, "forbidden", "No.", [2]string{}},
		"auth":        {fault.New(fault.Unauthenticated, "Who?"), 401, "unauthenticated", "Who?", [2]string{"WWW-Authenticate", `Bearer error="invalid_token"`}},
		"conflict":    {&fault.Error{Kind: fault.Conflict, Code: "mailbox_in_use", Message: "In use.", Err: secret}, 409, "mailbox_in_use", "In use.", [2]string{}},
		"disabled":    {fault.New(fault.Disabled, "PGP is switched off."), 404, "feature_disabled", "PGP is switched off.", [2]string{}},
		"unknown":     {&fault.Error{Kind: 200, Message: "secret"}, 500, "internal", "Something went wrong in the server. The log has it under this request_id.", [2]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t)
			a.store.fail = tt.err
			w := a.do(t, "GET", "/api/v1/accounts/1/tickets/1", "", "X-Request-Id", "client-id-1")
			want := transport.Problem{Type: "about:blank", Title: http.StatusText(tt.status), Status: tt.status, Detail: tt.detail, Code: tt.code, RequestID: "client-id-1"}
			var got transport.Problem
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" || w.Code != tt.status {
				t.Errorf("%d %s", w.Code, diff)
			}
			if tt.header[0] != "" && w.Header().Get(tt.header[0]) != tt.header[1] {
				t.Errorf("%s: %q", tt.header[0], w.Header().Get(tt.header[0]))
			}
			logged := a.log.String()
			if tt.status >= 500 && (!strings.Contains(logged, "level=ERROR") || !strings.Contains(logged, "request_id=client-id-1")) {
				t.Errorf("log: %s", logged)
			}
			if tt.status < 500 && strings.Contains(logged, "level=ERROR") {
				t.Errorf("log: %s", logged)
			}
		})
	}
}

func TestUnauthenticated(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, authorization := range []string{"", "Basic Z29vZA==", "good", "Bearer"} {
		req := httptest.NewRequest("GET", "/api/v1/accounts/1/tickets", nil)
		want := "Bearer"
		if authorization != "" {
			req.Header.Set("Authorization", authorization)
			want = `Bearer error="invalid_token"`
		}
		if w := a.send(t, req); w.Code != 401 || w.Header().Get("WWW-Authenticate") != want {
			t.Errorf("%q: %d %v", authorization, w.Code, w.Header())
		}
	}
}

func TestPanicIsLogged(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	w := a.do(t, "GET", "/api/v1/accounts/1/tickets/1", "", "Authorization", "Bearer panic")
	if w.Code != 500 || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if log := a.log.String(); !strings.Contains(log, "panic: secret of the resolver") || !strings.Contains(log, "stack=") {
		t.Error(log)
	}
}

// A failure after the answer began cuts the connection: the client must not accept half a file as complete.
func TestPanicInTheMiddle(t *testing.T) {
	t.Parallel()
	log := &testenv.Output{}
	table := transport.New(transport.Config{Logger: slog.New(slog.NewTextHandler(log, nil))})
	s := newStore()
	transport.HandleContent(table, s.resolve, transport.Operation{ID: "x", Method: "GET", Path: "/accounts/{account_id}/x"},
		func(context.Context, desk, struct{}) (transport.Content, error) {
			return transport.Content{Body: &breaking{ReadSeeker: strings.NewReader(strings.Repeat("x", 1<<20))}}, nil
		})
	server := httptest.NewServer(table.Handler())
	defer server.Close()
	req, _ := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/api/v1/accounts/1/x", nil)
	req.Header.Set("Authorization", "Bearer good")
	resp, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("read %d bytes without an error", len(b))
	}
	server.Close() // waits for the handler, and so for its log
	if text := log.String(); !strings.Contains(text, "panic: broken") || !strings.Contains(text, "msg=request ") {
		t.Error(text)
	}
}

type breaking struct {
	io.ReadSeeker
	reads int
}

func (b *breaking) Read(p []byte) (int, error) {
	if b.reads++; b.reads > 3 {
		panic("broken")
	}
	return b.ReadSeeker.Read(p)
}

func (*breaking) Close() error { return nil }

func TestDisconnectIsNoError(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.store.fail = context.Canceled
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	req := httptest.NewRequestWithContext(ctx, "GET", "/api/v1/accounts/1/tickets/1", nil)
	req.Header.Set("Authorization", "Bearer good")
	a.handler.ServeHTTP(httptest.NewRecorder(), req)
	if log := a.log.String(); strings.Contains(log, "ERROR") || !strings.Contains(log, "status=499") {
		t.Error(log)
	}
}

func TestAccessLog(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.do(t, "GET", "/api/v1/accounts/1/tickets/1?secret=1", "", "X-Request-Id", "bad id\n")
	a.do(t, "GET", "/nowhere/secret", "")
	log := a.log.String()
	for _, want := range []string{"method=GET route=/api/v1/accounts/{account_id}/tickets/{ticket_id} status=200 duration=", "route=(none) status=404"} {
		if !strings.Contains(log, want) {
			t.Errorf("no %q in %s", want, log)
		}
	}
	if strings.Contains(log, "secret") || strings.Contains(log, "bad id") {
		t.Error(log)
	}
}

func TestMistakesInTheTable(t *testing.T) {
	t.Parallel()
	s := newStore()
	type noTag struct{ Subject string }
	type badType struct {
		C chan int `json:"c"`
	}
	empty := func(context.Context, desk, struct{}) error { return nil }
	op := transport.Operation{ID: "x", Method: "GET", Path: "/x"}
	with := func(change func(*transport.Operation)) transport.Operation {
		o := op
		change(&o)
		return o
	}
	for name, add := range map[string]func(t *transport.Table){
		"no tag": func(t *transport.Table) {
			transport.HandleEmpty(t, s.resolve, op, func(context.Context, desk, noTag) error { return nil })
		},
		"bad type": func(t *transport.Table) {
			transport.HandleEmpty(t, s.resolve, op, func(context.Context, desk, badType) error { return nil })
		},
		"no param": func(t *transport.Table) { transport.HandleEmpty(t, s.resolve, op, removeOp) },
		"twice": func(t *transport.Table) {
			transport.HandleEmpty(t, s.resolve, op, empty)
			transport.HandleEmpty(t, s.resolve, with(func(o *transport.Operation) { o.ID = "y" }), empty)
		},
		"id twice": func(t *transport.Table) {
			transport.HandleEmpty(t, s.resolve, op, empty)
			transport.HandleEmpty(t, s.resolve, with(func(o *transport.Operation) { o.Path = "/y" }), empty)
		},
		"method": func(t *transport.Table) {
			transport.HandleEmpty(t, s.resolve, with(func(o *transport.Operation) { o.Method = "get" }), empty)
		},
		"pattern": func(t *transport.Table) {
			transport.HandleEmpty(t, s.resolve, with(func(o *transport.Operation) { o.Path = "/{a" }), empty)
		},
		"rest": func(t *transport.Table) {
			transport.HandleEmpty(t, s.resolve, with(func(o *transport.Operation) { o.Path = "/{a...}/b" }), empty)
		},
		"expand": func(t *transport.Table) {
			transport.HandleEmpty(t, s.resolve, with(func(o *transport.Operation) { o.Expand = []string{"a"} }), empty)
		},
		"location": func(t *transport.Table) {
			transport.Handle(t, s.resolve, with(func(o *transport.Operation) { o.Status = 201 }), func(context.Context, desk, struct{}) (struct{}, error) { return struct{}{}, nil })
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			add(transport.New(transport.Config{}))
		}()
	}
}

func FuzzPath(f *testing.F) {
	for _, seed := range []string{"/accounts/1/tickets/1", "//accounts/%31/files/a%2f..%2fb", "/%00", "/accounts/1/files/:p0/*p1", "/../x"} {
		f.Add(seed)
	}
	handler := newTable(newStore(), transport.Config{Logger: discard}).Handler()
	f.Fuzz(func(t *testing.T, path string) {
		u, err := url.ParseRequestURI("/api/v1" + path)
		if err != nil {
			return
		}
		req := httptest.NewRequest("GET", "/", nil)
		req.URL, req.RequestURI = u, u.RequestURI()
		req.Header.Set("Authorization", "Bearer good")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		if w.Code >= 300 && w.Code < 400 || w.Code >= 500 {
			t.Errorf("%q: %d", path, w.Code)
		}
		if rest, ok := strings.CutPrefix(w.Body.String(), "path "); ok && !fs.ValidPath(rest) {
			t.Errorf("%q: %s", path, w.Body)
		}
	})
}
