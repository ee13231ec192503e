package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/transport"
	"github.com/helpwright/helpwright/transport/form"
)

var pathParam = regexp.MustCompile(`\{[a-z_]+(\.\.\.)?\}`)

// place fills the parameters of a path.
func place(pattern string, ids map[string]string) string {
	return pathParam.ReplaceAllStringFunc(pattern, func(p string) string { return ids[strings.Trim(p, "{.}")] })
}

// Every path answers OPTIONS, refuses the methods that it has not with the same Allow, and has a HEAD for its GET.
func TestConventionsOfMethods(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	ids := settled(t, w)
	methods := map[string][]string{} // by shape of the path
	at := map[string]string{}        // a path of that shape
	for _, r := range w.table.Routes() {
		for _, path := range append([]string{r.Path}, r.Aliases...) {
			shape := pathParam.ReplaceAllString(path, "{}")
			methods[shape], at[shape] = append(methods[shape], r.Method), place(path, ids)
			if r.Method == http.MethodGet {
				methods[shape] = append(methods[shape], http.MethodHead)
			}
		}
	}
	for shape, has := range methods {
		path := at[shape]
		slices.Sort(has)
		allow := strings.Join(slices.Sorted(slices.Values(append([]string{http.MethodOptions}, has...))), ", ")
		rec := w.do(t, "", http.MethodOptions, path, "")
		if rec.Code != http.StatusNoContent || rec.Header().Get("Allow") != allow || rec.Body.Len() > 0 {
			t.Errorf("OPTIONS %s: %d, Allow %s, want %s", shape, rec.Code, rec.Header().Get("Allow"), allow)
		}
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "QUERY"} {
			if slices.Contains(has, method) {
				continue
			}
			rec := w.do(t, "owner", method, path, "")
			if rec.Code != http.StatusMethodNotAllowed || rec.Header().Get("Allow") != allow {
				t.Errorf("%s %s: %d, Allow %s, want %s", method, shape, rec.Code, rec.Header().Get("Allow"), allow)
			} else if method != http.MethodHead && problem(t, rec).Code != "method_not_allowed" {
				t.Errorf("%s %s: %s", method, shape, rec.Body)
			}
		}
		// A stream of events never ends, so it cannot be compared; TestRealtime requests its HEAD.
		if slices.Contains(has, http.MethodHead) && path != "/realtime" {
			w.sameHead(t, path, map[string]string{"/sites": "?account_id=" + ids["account_id"]}[path])
		}
	}
}

// sameHead checks that HEAD has the same header as GET, and no body.
func (w *world) sameHead(t *testing.T, path, query string) {
	t.Helper()
	get, head := w.do(t, "owner", "GET", path+query, ""), w.do(t, "owner", "HEAD", path+query, "")
	if get.Code != http.StatusOK || head.Code != get.Code || head.Body.Len() > 0 {
		t.Errorf("%s: GET %d, HEAD %d with %d bytes", path, get.Code, head.Code, head.Body.Len())
	}
	for _, h := range []http.Header{get.Header(), head.Header()} {
		h.Del("X-Request-Id")
	}
	if diff := cmp.Diff(get.Header(), head.Header()); diff != "" {
		t.Errorf("%s: %s", path, diff)
	}
	if slashed := w.do(t, "owner", "GET", path+"/"+query, ""); slashed.Code != get.Code || slashed.Body.String() != get.Body.String() {
		t.Errorf("%s/: %d", path, slashed.Code)
	}
}

// An invalid id is 404, for every parameter of every operation, before anything else is checked.
func TestConventionsOfIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	ids := settled(t, w)
	for _, r := range w.table.Routes() {
		for _, param := range r.Params() {
			if !strings.HasSuffix(param, "_id") {
				continue
			}
			for _, id := range []string{"x", "0", "-1", "+1", "01", "1.0", "1e3", "%20", "1%00", "9223372036854775808", "null", "undefined"} {
				bad := maps.Clone(ids)
				bad[param] = id
				path := place(r.Path, bad)
				if literal(w.table, path) {
					continue
				}
				rec := w.do(t, "owner", r.Method, path, "")
				if rec.Code != http.StatusNotFound || problem(t, rec).Code != "not_found" {
					t.Errorf("%s with %s %q: %d %s", r.ID, param, id, rec.Code, rec.Body)
				}
			}
		}
	}
}

// literal reports that a path has an operation of its own.
func literal(table *transport.Table, path string) bool {
	return slices.ContainsFunc(table.Routes(), func(r transport.Route) bool { return r.Path == path })
}

// full has richer bodies than valid, as JSON, for operations whose bodies have lists, groups and values that are no text.
var full = map[string]string{
	"createAccount": `{"name": "Beta", "next_conversation_number": 1000, "default_locale": "de", "languages": ["de", "pt-BR"]}`,
	"updateAccount": `{"name": "Ünï & <b>", "languages": ["en", "de"]}`,
	"createMailbox": `{"name": "Sales", "email": "sales@acme.example", "connection": {"inbound": {"type": "IMAP", "host": "imap.acme.example",
		"port": 993, "username": "sales", "password": "se=cr&et", "encryption": "SSL", "validate_certificate": false, "folders": ["INBOX", "Archive"]}}}`,
	"updateMailbox": `{"name": "Support", "from": "{{agent.name}} + 1%"}`,
	"createCustomer": `{"first_name": "Ada", "company": "A & B", "emails": [{"email": "a1@example.org"}, {"email": "a2@example.org"}],
		"phones": [{"phone": "+49 30 1234"}], "websites": [{"website": "https://example.org/?a=b&c=d"}]}`,
	"updateCustomer":     `{"first_name": "Ada", "last_name": "", "emails": [{"email": "ada@example.com"}], "phones": []}`,
	"createConversation": `{"channel": "email", "to": "grace@example.com", "subject": "1 + 1 = 2?", "user_id": null, "interactions": [{"type": "note", "body": "line\nline"}]}`,
	"updateConversation": `{"subject": "2", "status": "pending", "user_id": null}`,
	"mergeCompany":       `{"into": "{other_company_id}"}`,
	"mergeCustomer":      `{"into": "{second_id}"}`,
	"createInteraction":  `{"type": "user", "body": "<p>Hello</p>", "to": ["ada@example.com"], "cc": ["b@example.com", "c@example.com"], "bcc": [], "is_forward": false}`,
}

// before has requests to send first: for bodies that refer to other objects, and if the default mailbox is of the wrong
// kind.
var before = map[string]struct{ method, path, body string }{
	"createPGPKey": {"DELETE", "/accounts/{account_id}/customers/{customer_id}/pgp-public-keys/{key_id}", ""},
	"backfillMailbox": {"PUT", "/accounts/{account_id}/mailboxes/{mailbox_id}", "connection[inbound][type]=IMAP&connection[inbound][host]=imap.example.org" +
		"&connection[inbound][port]=993&connection[inbound][username]=a&connection[inbound][password]=b" +
		"&connection[inbound][encryption]=SSL&connection[inbound][validate_certificate]=1"},
}

// encodings send a body in one of the three ways.
var encodings = []struct {
	name   string
	encode func(t *testing.T, body any) (text, contentType string)
}{
	{"JSON", func(t *testing.T, body any) (string, string) {
		t.Helper()
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text), "application/json"
	}},
	{"form", func(_ *testing.T, body any) (string, string) {
		var pairs []string
		for _, p := range flat("", body) {
			pairs = append(pairs, url.QueryEscape(p[0])+"="+url.QueryEscape(p[1]))
		}
		return strings.Join(pairs, "&"), "application/x-www-form-urlencoded"
	}},
	{"multipart", func(t *testing.T, body any) (string, string) {
		t.Helper()
		var b bytes.Buffer
		parts := multipart.NewWriter(&b)
		for _, p := range flat("", body) {
			if err := parts.WriteField(p[0], p[1]); err != nil {
				t.Fatal(err)
			}
		}
		if err := parts.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String(), parts.FormDataContentType()
	}},
}

// flat writes a value in bracket notation.
func flat(name string, v any) (pairs [][2]string) {
	switch v := v.(type) {
	case nil:
		return [][2]string{{name, ""}}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			inner := key
			if name != "" {
				inner = name + "[" + key + "]"
			}
			pairs = append(pairs, flat(inner, v[key])...)
		}
		return pairs
	case []any:
		if len(v) == 0 {
			return [][2]string{{name, ""}}
		}
		for i, item := range v {
			pairs = append(pairs, flat(name+"["+strconv.Itoa(i)+"]", item)...)
		}
		return pairs
	default:
		return [][2]string{{name, fmt.Sprint(v)}}
	}
}

// plain is the JSON value of a form.
func plain(n *form.Node) any {
	if n.Kind() != form.Group {
		return n.Text()
	}
	if items, _, text := n.Items(100); text == "" && len(n.Names()) > 0 {
		list := []any{}
		for _, item := range items {
			list = append(list, plain(item.Node))
		}
		return list
	}
	group := map[string]any{}
	for _, name := range n.Names() {
		group[name] = plain(n.Get(name))
	}
	return group
}

// bodyOf returns the body for an operation.
func bodyOf(t *testing.T, r transport.Route, ids map[string]string) any {
	t.Helper()
	var body any
	if text, ok := full[r.ID]; ok {
		d := json.NewDecoder(strings.NewReader(place(text, ids)))
		d.UseNumber()
		if err := d.Decode(&body); err != nil {
			t.Fatalf("%s: %v", r.ID, err)
		}
		return body
	}
	tree, err := form.Parse(place(valid[r.ID], ids), form.Limits{}.WithDefaults())
	if err != nil {
		t.Fatalf("%s: %v", r.ID, err)
	}
	return plain(tree)
}

var secrets = regexp.MustCompile(`"(token|secret)":"[^"]+"`)

// An operation with a body has the same effect and answer with every encoding of the body: each is sent to a separate,
// identical world.
func TestConventionsOfEncodings(t *testing.T) {
	t.Parallel()
	for _, r := range documented(t).Routes() {
		if !r.HasBody() || (valid[r.ID] == "" && full[r.ID] == "") || strings.HasPrefix(valid[r.ID], "--cut") {
			continue // no body, one that may be left out, or a file, which comes in one encoding only
		}
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			var first []string
			for i, e := range encodings {
				w := &run{world: newWorld(t, memstore.New()), items: map[string]int{}, seen: map[string]int{}}
				ids := settled(t, w.world)
				if first, ok := before[r.ID]; ok {
					w.must(t, first.method, place(first.path, ids), first.body, "Content-Type", "application/x-www-form-urlencoded")
				}
				text, kind := e.encode(t, bodyOf(t, r, ids))
				rec := w.do(t, "owner", r.Method, place(r.Path, ids), text, "Content-Type", kind)
				got := []string{w.told(rec)}
				if rec.Code >= 300 && !r.Public {
					t.Errorf("as %s: %s\n%s", e.name, got, text)
				}
				for _, read := range w.table.Routes() { // the stored data is the same, too
					if read.Method == http.MethodGet && !read.Public {
						got = append(got, read.ID+" "+w.told(w.do(t, "owner", "GET", place(read.Path, ids), "")))
					}
				}
				if i == 0 {
					first = got
				} else if diff := cmp.Diff(first, got); diff != "" {
					t.Errorf("%s and %s differ: %s", encodings[0].name, e.name, diff)
				}
			}
		})
	}
}

// told is an answer without random values.
func (r *run) told(rec *httptest.ResponseRecorder) string {
	body := secrets.ReplaceAllString(r.normal(rec.Body.String()), `"$1":"x"`)
	return fmt.Sprintf("%d %s %s\n%s", rec.Code, rec.Header().Get("Location"), rec.Header().Get("Content-Type"), body)
}
