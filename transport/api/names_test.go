package api_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/transport"
)

// invisible are names that nobody can see.
var invisible = map[string]string{
	"zero-width space": "\u200b", "word joiners": "\u2060\u2060", "soft hyphen": "\u00ad", "byte order mark": "\ufeff", "variation selector": "\ufe0f",
	"Hangul filler": "\u3164", "Braille blank": "\u2800", "combining marks": "\u0301\u0302", "joiner between blanks": " \u200d ", "grapheme joiner": "\u034f",
	"no-break space and a mark": "\u00a0\u200e", "tag character": "\U000e0041", "Mongolian selector": "\u180b", "ideographic space and filler": "\u3000\u115f",
}

// alike are names that look the same as "Café Straße 1".
var alike = map[string]string{
	"decomposed": "Cafe\u0301 Straße 1", "other case": "CAFÉ STRASSE 1", "decomposed in other case": "CAFE\u0301 straße 1", "zero-width": "Ca\u200bfé Straße 1",
	"soft hyphen": "Café Stra\u00adße 1", "blanks around": "  Café Straße 1 ", "selector": "Café Straße 1\ufe0f", "joined": "Caf\u2060é Straße 1",
}

// nameFields finds the fields of an operation's body that take a name, in bracket notation. Languages are en, which is the
// source, and de.
func nameFields(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	type schema struct {
		Ref        string `json:"$ref"`
		Properties map[string]json.RawMessage
		AllOf      []json.RawMessage
		Additional json.RawMessage `json:"additionalProperties"`
	}
	var doc struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct{ Schemas map[string]json.RawMessage }
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	var fields func(raw json.RawMessage, depth int) []string
	fields = func(raw json.RawMessage, depth int) (found []string) {
		var s schema
		if depth > 6 || json.Unmarshal(raw, &s) != nil {
			return nil
		}
		if s.Ref != "" {
			return fields(doc.Components.Schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]], depth+1)
		}
		for _, one := range s.AllOf {
			found = append(found, fields(one, depth+1)...)
		}
		for name, one := range s.Properties {
			if slices.Contains([]string{"name", "title", "tag", "label", "slug", "first_name"}, name) {
				found = append(found, name)
			}
			for _, inner := range fields(one, depth+1) {
				if name == "translations" || name == "texts" {
					found = append(found, name+"[en]["+inner+"]", name+"[de]["+inner+"]")
				}
			}
		}
		if inner := fields(s.Additional, depth+1); len(inner) > 0 {
			return append(found, inner...)
		}
		return found
	}
	all := map[string][]string{}
	for _, methods := range doc.Paths {
		for method, raw := range methods {
			var op struct {
				OperationID string
				RequestBody struct {
					Content map[string]struct{ Schema json.RawMessage }
				}
			}
			if method == "parameters" || json.Unmarshal(raw, &op) != nil {
				continue
			}
			for _, content := range op.RequestBody.Content {
				found := fields(content.Schema, 0)
				slices.Sort(found)
				all[op.OperationID] = slices.Compact(append(all[op.OperationID], found...))
				slices.Sort(all[op.OperationID])
				all[op.OperationID] = slices.Compact(all[op.OperationID])
			}
		}
	}
	return all
}

// elsewhere are operations whose names are tested elsewhere: they need what this world has not, such as a passkey.
var elsewhere = []string{"acceptInvitation", "updatePasskey", "uploadTheme"}

// eachName calls fn with every operation that takes a name, its field, and how to send a name in it.
func (w *world) eachName(t *testing.T, ids map[string]string, fn func(r transport.Route, field string, send func(name string) *transport.Problem)) {
	t.Helper()
	fields, seen := nameFields(t), 0
	for _, r := range w.table.Routes() {
		if slices.Contains(elsewhere, r.ID) {
			continue
		}
		for _, field := range fields[r.ID] {
			seen++
			fn(r, field, func(name string) *transport.Problem {
				path, body, kind := w.wants(t, r, ids)
				form, err := url.ParseQuery(body)
				if err != nil {
					t.Fatal(r.ID, err)
				}
				form.Set(field, name)
				rec := w.do(t, "owner", r.Method, path, form.Encode(), "Content-Type", kind)
				p := &transport.Problem{Status: rec.Code}
				if rec.Code >= 300 {
					*p = problem(t, rec)
				}
				return p
			})
		}
	}
	if seen < 40 {
		t.Errorf("only %d names were found in the document", seen)
	}
}

// Names that nobody can see are refused, whatever is named.
func TestInvisibleNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	ids := settled(t, w)
	w.eachName(t, ids, func(r transport.Route, field string, send func(string) *transport.Problem) {
		for what, name := range invisible {
			p := send(name)
			if p.Status != http.StatusUnprocessableEntity || len(p.Errors[field]) == 0 {
				t.Errorf("%s of %s takes %s: %d %s %v", field, r.ID, what, p.Status, p.Detail, p.Errors)
			}
		}
		if p := send("\u200bSeen 👍🏽\u200d " + r.ID); len(p.Errors[field]) != 0 {
			t.Errorf("%s of %s refuses what can be seen: %v", field, r.ID, p.Errors)
		}
	})
}

// Names that look the same are the same: where one is taken, all are.
func TestNamesAlike(t *testing.T) {
	t.Parallel()
	unique := 0
	w := newWorld(t, memstore.New())
	ids := settled(t, w)
	w.eachName(t, ids, func(r transport.Route, field string, send func(string) *transport.Problem) {
		if r.Method != http.MethodPost {
			return
		}
		const name = "Café Straße 1"
		send(name)
		again := send(name)
		if taken := len(again.Errors[field]) > 0; !taken {
			return // several may have it
		}
		unique++
		for what, other := range alike {
			if p := send(other); len(p.Errors[field]) == 0 {
				t.Errorf("%s of %s takes the name twice, %s: %d %v", field, r.ID, what, p.Status, p.Errors)
			}
		}
		for _, other := range []string{"Cafe Straße 1", "Café Straße 2", "Café Strase 1"} {
			if p := send(other); len(p.Errors[field]) != 0 {
				t.Errorf("%s of %s takes %s for another: %v", field, r.ID, other, p.Errors)
			}
		}
	})
	if unique < 4 {
		t.Errorf("only %d names are unique", unique)
	}
}

// Nor is a name taken by renaming something else.
func TestRenamedAlike(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ path, field, more string }{
		{"conversation-tags", "tag", ""}, {"teams", "name", ""}, {"roles", "name", ""}, {"saved-replies", "name", "&body=x"}, {"saved-replies", "name", "&body=x&is_shared=1"},
	} {
		w := newWorld(t, memstore.New())
		path := place("/accounts/{account_id}/", settled(t, w)) + tt.path
		send := func(method, path, name string) (int64, int) {
			rec := w.do(t, "owner", method, path, tt.field+"="+url.QueryEscape(name)+tt.more, "Content-Type", "application/x-www-form-urlencoded")
			var made struct {
				ID   int64
				Data struct{ ID int64 }
			}
			_ = json.Unmarshal(rec.Body.Bytes(), &made) // a problem has no id
			return max(made.ID, made.Data.ID), rec.Code
		}
		first, _ := send("POST", path, "Café Straße 1")
		second, _ := send("POST", path, "Other")
		at := func(id int64) string { return path + "/" + strconv.FormatInt(id, 10) }
		for what, name := range alike {
			if _, code := send("PUT", at(second), name); code != http.StatusUnprocessableEntity {
				t.Errorf("another of %s is renamed, %s: %d", tt.path, what, code)
			}
			if _, code := send("PUT", at(first), name); code != http.StatusOK {
				t.Errorf("%s cannot change how it is written, %s: %d", tt.path, what, code)
			}
		}
	}
}
