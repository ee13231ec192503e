package transport_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"mime/multipart"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/transport"
)

var discard = slog.New(slog.DiscardHandler)

const one = "/api/v1/accounts/1/tickets/1"

func TestObject(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	w := a.do(t, "GET", one, "")
	want := `{"data":{"id":1,"account_id":1,"subject":"Ticket 1","status":"posted","user_id":null,"tags":[],"closed_at":null,"created_at":"2026-01-02T11:00:00+00:00"}}`
	if diff := cmp.Diff(want, w.Body.String()); diff != "" {
		t.Error(diff)
	}
	h := w.Header()
	if h.Get("Content-Type") != "application/json" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "private, no-cache" {
		t.Error(h)
	}
	if w := a.do(t, "DELETE", one, ""); w.Code != 204 || w.Body.Len() != 0 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	w = a.do(t, "POST", "/api/v1/account/1/tickets", `{"subject":"a <b>"}`, "Content-Type", "application/json")
	if w.Code != 201 || w.Header().Get("Location") != "/api/v1/accounts/1/tickets/7" || !strings.Contains(w.Body.String(), `"a <b>"`) {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}

func TestETag(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	tag := a.do(t, "GET", one, "").Header().Get("ETag")
	expanded := a.do(t, "GET", one+"?expand=user&unknown=1", "").Header().Get("ETag")
	if !strings.HasPrefix(tag, `"`) || tag == expanded || expanded == "" {
		t.Fatalf("%s and %s", tag, expanded)
	}
	for _, header := range []string{tag, "*", `"x", ` + tag, "W/" + tag} {
		for _, method := range []string{"GET", "HEAD"} {
			w := a.do(t, method, one, "", "If-None-Match", header)
			if w.Code != 304 || w.Body.Len() != 0 || w.Header().Get("ETag") != tag {
				t.Errorf("%s %s: %d", method, header, w.Code)
			}
		}
	}
	if w := a.do(t, "GET", one, "", "If-None-Match", expanded); w.Code != 200 {
		t.Errorf("another representation: %d", w.Code)
	}
	for _, stale := range []string{`"stale"`, "W/" + tag, `"x.%%%"`, `"x.` + strings.Repeat("A", 2000) + `"`} {
		w := a.do(t, "PUT", one, "subject=lost", "If-Match", stale, "Content-Type", "application/x-www-form-urlencoded")
		if w.Code != 412 || !strings.Contains(w.Body.String(), `"code":"precondition_failed"`) {
			t.Errorf("If-Match %s: %d %s", stale, w.Code, w.Body)
		}
	}
	// The tag of an expanded representation protects a plain update too.
	w := a.do(t, "PUT", one, "subject=first", "If-Match", expanded)
	if w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	next := w.Header().Get("ETag")
	for _, old := range []string{tag, expanded} {
		if w := a.do(t, "PUT", one, "subject=lost", "If-Match", old); w.Code != 412 {
			t.Errorf("stale %s: %d", old, w.Code)
		}
		if w := a.do(t, "DELETE", one, "", "If-Match", old); w.Code != 412 {
			t.Errorf("stale delete %s: %d", old, w.Code)
		}
	}
	if w := a.do(t, "PUT", one, "subject=second", "If-Match", `"other", `+next); w.Code != 200 {
		t.Errorf("tag of the update: %d", w.Code)
	}
	if w := a.do(t, "DELETE", "/api/v1/accounts/1/tickets/bulk", "", "If-Match", next); w.Code != 412 {
		t.Errorf("without a representation: %d", w.Code)
	}
	if w := a.do(t, "PUT", "/api/v1/accounts/1/tickets/99", "", "If-Match", "*"); w.Code != 404 {
		t.Errorf("absent: %d", w.Code)
	}
	if w := a.do(t, "DELETE", one, "", "If-Match", "*"); w.Code != 204 {
		t.Errorf("any: %d", w.Code)
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for query, want := range map[string]string{
		"expand=user":                     `"user":{"id":9`,
		"expand=mailbox,user":             `"user":{"id":9`,
		"expand[]=user&expand[]=mailbox":  `"user":{"id":9`,
		"expand%5B%5D=user":               `"user":{"id":9`,
		"expand=":                         `"user_id":null`,
		"expand=usr":                      `{"expand":["must be among mailbox, user"]}`,
		"expand[]=user&expand[]=password": `{"expand":["must be among mailbox, user"]}`,
		"expand[a][b]=user":               ``,
	} {
		if w := a.do(t, "GET", one+"?"+query, ""); !strings.Contains(w.Body.String(), want) || w.Code >= 500 {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
	if w := a.do(t, "GET", "/api/v1/accounts/1/tickets?expand=user&limit=0", ""); w.Code != 422 || !strings.Contains(w.Body.String(), `"limit":[`) || !strings.Contains(w.Body.String(), `"expand":["must be empty`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	type page struct {
		Data []struct {
			ID int64 `json:"id"`
		} `json:"data"`
	}
	read := func(target string) (ids []int64, links map[string]string) {
		w := a.do(t, "GET", target, "")
		var p page
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != 200 {
			t.Fatalf("%s: %d %s", target, w.Code, w.Body)
		}
		for _, d := range p.Data {
			ids = append(ids, d.ID)
		}
		links = map[string]string{}
		for link := range strings.SplitSeq(w.Header().Get("Link"), ", ") {
			if target, rel, ok := strings.Cut(link, ">; rel="); ok {
				links[strings.Trim(rel, `"`)] = strings.TrimPrefix(target, "<")
			}
		}
		return ids, links
	}
	var forth, back [][]int64
	target := "/api/v1/accounts/1/tickets?limit=3&status[]=posted"
	var last string
	for target != "" {
		ids, links := read(target)
		forth, last, target = append(forth, ids), target, links["next"]
	}
	for target = last; target != ""; {
		ids, links := read(target)
		back, target = append(back, ids), links["prev"]
	}
	want := [][]int64{{1, 2, 3}, {4, 5, 6}, {7}}
	if diff := cmp.Diff(want, forth); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]int64{{7}, {4, 5, 6}, {1, 2, 3}}, back); diff != "" {
		t.Error(diff)
	}
	u, _ := url.Parse(last)
	if got := u.Query()["status[]"]; len(got) != 1 || got[0] != "posted" {
		t.Errorf("the link lost the filter: %s", last)
	}
	for query, status := range map[string]int{"": 200, "limit=": 200, "limit=1": 200, "limit=100": 200, "limit=0": 422, "limit=101": 422, "limit=x": 422, "limit=-1": 422, "cursor=x": 422, "limit=%zz": 400} {
		if w := a.do(t, "GET", "/api/v1/accounts/1/tickets?"+query, ""); w.Code != status {
			t.Errorf("%s: %d", query, w.Code)
		}
	}
}

func TestEmptyListIsAnArray(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.store.tickets = map[int64]ticket{}
	if w := a.do(t, "GET", "/api/v1/accounts/1/tickets", ""); w.Body.String() != `{"data":[]}` || w.Header().Get("Link") != "" {
		t.Error(w.Body, w.Header())
	}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	const js, urlencoded = "application/json", "application/x-www-form-urlencoded"
	for _, tt := range []struct {
		name, media, encoding, body string
		code                        int
		want                        string
	}{
		{"form", urlencoded, "", "subject=x", 200, `"subject":"x"`},
		{"json", js, "", `{"subject":"x"}`, 200, `"subject":"x"`},
		{"json charset", js + "; charset=UTF-8", "", `{"subject":"x"}`, 200, `"subject":"x"`},
		{"json suffix", "application/merge-patch+json", "", `{"subject":"x"}`, 200, `"subject":"x"`},
		{"form labelled json", js, "", "subject=x&user_id=", 200, `"subject":"x"`},
		{"json labelled form", urlencoded, "", `{"subject":"x"}`, 200, `"subject":"x"`},
		{"unlabelled form", "", "", "subject=x", 200, `"subject":"x"`},
		{"unlabelled json", "", "", ` {"subject":"x"}`, 200, `"subject":"x"`},
		{"empty", js, "", "", 200, `"subject":"Ticket 1"`},
		{"blank", js, "", " \n", 200, `"subject":"Ticket 1"`},
		{"empty of unknown type", "text/csv", "", "", 200, `"subject":"Ticket 1"`},
		{"unknown type", "text/csv", "", "a,b", 415, `"code":"unsupported"`},
		{"bad type", "a/b/c;;=", "", "a", 415, `"code":"unsupported"`},
		{"latin1", js + "; charset=latin1", "", "{}", 415, "UTF-8"},
		{"gzip", js, "gzip", "{}", 415, "compressed"},
		{"broken json", js, "", `{"subject":`, 400, `"code":"malformed"`},
		{"array", js, "", `[1]`, 400, "object"},
		{"scalar", js, "", `"a=b"`, 400, "object"},
		{"broken form", urlencoded, "", `a=%zz`, 400, `"code":"malformed"`},
		{"brackets", urlencoded, "", `subject[=1`, 422, `"subject["`},
		{"no boundary", "multipart/form-data", "", "x", 400, "boundary"},
		{"cut multipart", "multipart/form-data; boundary=b", "", "--b\r\n", 400, "malformed"},
		{"huge", js, "", `{"subject":"` + strings.Repeat("x", 2<<20) + `"}`, 413, `"code":"too_large"`},
		{"null clears", js, "", `{"user_id":null}`, 200, `"user_id":null`},
		{"empty clears", urlencoded, "", `user_id=`, 200, `"user_id":null`},
		{"absent stays", urlencoded, "", `x=y`, 200, `"user_id":5`},
		{"all problems", js, "", `{"subject":1,"emails":[{},{"email":["x"],"id":"y"}],"tags":["\u0000"],"filters":{"a":"b"}}`, 422,
			`"errors":{"emails[1][email]":["must be a string"],"emails[1][id]":["must be an integer"],"filters[a]":["must be a list"],"subject":["must be a string"],"tags[0]":["must be valid UTF-8 without NUL"]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t)
			five := int64(5)
			ticket := a.store.tickets[1]
			ticket.UserID = &five
			a.store.tickets[1] = ticket
			w := a.do(t, "PUT", one, tt.body, "Content-Type", tt.media, "Content-Encoding", tt.encoding)
			if w.Code != tt.code || !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("%d, want %d with %s: %s", w.Code, tt.code, tt.want, w.Body)
			}
		})
	}
}

func TestBodyOfDelete(t *testing.T) {
	t.Parallel()
	const path = "/api/v1/accounts/1/tickets/bulk"
	for _, tt := range []struct{ query, body string }{
		{"", `{"tickets":[1,"2"]}`},
		{"", "tickets[]=1&tickets[]=2"},
		{"", "tickets[0]=1&tickets[1]=2"},
		{"?tickets[]=1&tickets[]=2", ""},
		{"?tickets[]=9", "tickets[]=1&tickets[]=2"},
	} {
		a := newAPI(t)
		w := a.do(t, "DELETE", path+tt.query, tt.body)
		if diff := cmp.Diff([]int64{1, 2}, a.store.deleted); diff != "" || w.Code != 204 {
			t.Errorf("%s %s: %d %s", tt.query, tt.body, w.Code, diff)
		}
	}
}

func TestUpload(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	a := newAPI(t)
	send := func(size int) (int, string) {
		var b bytes.Buffer
		m := multipart.NewWriter(&b)
		file, _ := m.CreateFormFile("file", "../ü.txt")
		_, _ = io.WriteString(file, strings.Repeat("x", size))
		_ = m.WriteField("is_inline", "on")
		_ = m.Close()
		w := a.do(t, "POST", "/api/v1/accounts/1/files", b.String(), "Content-Type", m.FormDataContentType())
		if w.Code == 201 && w.Header().Get("Location") != "/api/v1/accounts/1/files/%C3%BC.txt" {
			t.Error(w.Header())
		}
		return w.Code, w.Body.String()
	}
	if code, body := send(5); code != 201 || body != `{"id":1,"name":"ü.txt","size":5,"text":"xxxxx"}` {
		t.Errorf("%d %s", code, body)
	}
	if code, _ := send(3 << 20); code != 201 {
		t.Errorf("3 MiB: %d", code)
	}
	if code, _ := send(5 << 20); code != 413 {
		t.Errorf("5 MiB: %d", code)
	}
	if left, _ := filepath.Glob(dir + "/*"); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Fatal(err)
	}
	if w := a.do(t, "POST", "/api/v1/accounts/1/files", `{"file":"x"}`); w.Code != 422 || !strings.Contains(w.Body.String(), "multipart") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestContent(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	w := a.do(t, "GET", "/api/v1/accounts/1/files/x.html", "")
	for name, want := range map[string]string{
		"Content-Type": "text/html", "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox",
		"Content-Disposition": "attachment; filename*=utf-8''%C3%BC_x.html", "ETag": `"v1"`, "Content-Length": "11",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if w := a.do(t, "GET", "/api/v1/accounts/1/files/x.png", ""); !strings.HasPrefix(w.Header().Get("Content-Disposition"), "inline;") {
		t.Error(w.Header())
	}
	for _, tt := range []struct {
		header, value string
		code          int
		body          string
	}{
		{"Range", "bytes=5-6", 206, "x."},
		{"If-None-Match", `"v1"`, 304, ""},
		{"If-Match", `"v2"`, 412, ""},
	} {
		req := []string{tt.header, tt.value}
		w := do(a, "GET", "/api/v1/accounts/1/files/x.html", req...)
		if w.Code != tt.code || w.Body.String() != tt.body {
			t.Errorf("%s: %d %q", tt.header, w.Code, w.Body)
		}
	}
	w = do(a, "GET", "/api/v1/accounts/1/files/x.html", "Range", "bytes=50-")
	if w.Code != 416 || w.Header().Get("Content-Type") != "application/problem+json" || w.Header().Get("Content-Range") != "bytes */11" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if w := do(a, "HEAD", "/api/v1/accounts/1/files/x.html"); w.Code != 200 || w.Body.Len() != 0 || w.Header().Get("Content-Length") != "11" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

func TestTime(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal([]any{transport.Time(noon), transport.TimePtr(nil), transport.TimePtr(&noon)})
	if want := `["2026-01-02T11:00:00+00:00",null,"2026-01-02T11:00:00+00:00"]`; err != nil || string(b) != want {
		t.Errorf("%s %v", b, err)
	}
	for _, at := range []time.Time{
		{}, time.UnixMicro(0), time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC), time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 1, 0, 30, 0, 0, time.FixedZone("", 3600)),
	} {
		if got, want := transport.Time(at).String(), at.UTC().Format("2006-01-02T15:04:05-07:00"); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
	var back transport.Time
	if err := json.Unmarshal([]byte(`"2026-01-02T12:00:00+01:00"`), &back); err != nil || back.String() != transport.Time(noon).String() {
		t.Error(back, err)
	}
}

// A body that is nested too deeply is refused as such, however deep it is, JSON or form.
func TestDeepBodies(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for name, tt := range map[string]struct {
		body string
		json bool
		want int
	}{
		"17 objects":          {strings.Repeat(`{"a":`, 17) + "1" + strings.Repeat("}", 17), true, 422},
		"999 lists":           {`{"a":` + strings.Repeat("[", 999) + strings.Repeat("]", 999) + "}", true, 422},
		"10,001 lists":        {`{"a":` + strings.Repeat("[", 10001) + strings.Repeat("]", 10001) + "}", true, 422},
		"100,000 open lists":  {`{"a":` + strings.Repeat("[", 100000), true, 422},
		"100,000 objects":     {strings.Repeat(`{"a":`, 100000) + "1" + strings.Repeat("}", 100000), true, 422},
		"brackets in a text":  {`{"subject":"` + strings.Repeat("[", 2000) + `"}`, true, 201},
		"a quote in a text":   {`{"subject":"\\\"[[["}`, true, 201},
		"no JSON":             {`{"a":]`, true, 400},
		"a form of 17 names":  {"a" + strings.Repeat("[b]", 17) + "=1", false, 422},
		"a form of 20k names": {"a" + strings.Repeat("[b]", 20000) + "=1", false, 422},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind := "application/x-www-form-urlencoded"
			if tt.json {
				kind = "application/json"
			}
			if rec := a.do(t, "POST", "/api/v1/accounts/1/tickets", tt.body, "Content-Type", kind); rec.Code != tt.want {
				t.Errorf("%d %.300s", rec.Code, rec.Body)
			}
		})
	}
}
