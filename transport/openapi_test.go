package transport_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/transport"
	"github.com/helpwright/helpwright/transport/internal/openapigen"
)

// The document of the test's own table describes the inputs and outputs of its operations.
func TestGeneratedDocument(t *testing.T) {
	t.Parallel()
	generate := func() []byte {
		b, err := openapigen.Generate(newTable(newStore(), transport.Config{}), openapigen.Info{Title: "T", Version: "1"})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	document := generate()
	if !bytes.Equal(document, generate()) {
		t.Error("not the same twice")
	}
	var doc map[string]any
	if err := json.Unmarshal(document, &doc); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"components/schemas/TicketInput/properties/user_id/type":           `["integer","null"]`,
		"components/schemas/TicketInput/properties/emails/type":            `["array","null"]`,
		"components/schemas/TicketInput/properties/emails/items":           `{"$ref":"#/components/schemas/EmailInput"}`,
		"components/schemas/TicketInput/properties/day":                    `{"anyOf":[{"type":"null"},{"$ref":"#/components/schemas/Hours"}]}`,
		"components/schemas/TicketInput/properties/filter":                 `{"additionalProperties":{"items":{"type":"string"},"type":"array"},"type":"object"}`,
		"components/schemas/EmailInput/required":                           `["email"]`,
		"components/schemas/Ticket/properties/created_at":                  `{"format":"date-time","type":"string"}`,
		"components/schemas/Ticket/properties/closed_at":                   `{"format":"date-time","type":["null","string"]}`,
		"components/schemas/Ticket/properties/user":                        `{"$ref":"#/components/schemas/User"}`,
		"components/schemas/Ticket/properties/tags":                        `{"items":{"type":"string"},"type":"array"}`,
		"components/schemas/Ticket/required":                               `["id","account_id","subject","status","user_id","tags","closed_at","created_at"]`,
		"components/schemas/Upload/properties/file":                        `{"format":"binary","type":"string"}`,
		"paths//accounts/{account_id}/tickets/get/security":                `[{"bearer":[]},{"session":[]}]`,
		"paths//accounts/{account_id}/files/{file_path}/get/security":      `[{},{"bearer":[]},{"session":[]}]`,
		"paths//accounts/{account_id}/tickets/post/x-also-at":              `["/account/{account_id}/tickets"]`,
		"paths//accounts/{account_id}/tickets/{ticket_id}/put/requestBody": "",
	} {
		got, err := json.Marshal(dig(doc, path))
		if err != nil || (want != "" && string(got) != want) || string(got) == "null" {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	body, _ := dig(doc, "paths//accounts/{account_id}/tickets/{ticket_id}/put/requestBody/content").(map[string]any)
	files, _ := dig(doc, "paths//accounts/{account_id}/files/post/requestBody/content").(map[string]any)
	if len(body) != 3 || len(files) != 1 {
		t.Errorf("%d and %d encodings", len(body), len(files))
	}
	parameters, _ := json.Marshal(dig(doc, "paths//accounts/{account_id}/tickets/get/parameters"))
	for _, want := range []string{
		`{"in":"path","name":"account_id","required":true,"schema":{"format":"int64","minimum":1,"type":"integer"}}`,
		`"name":"limit","schema":{"default":50,"maximum":100,"minimum":1,"type":"integer"}`,
		`"name":"status[]","schema":{"items":{"enum":["posted","closed"],"type":"string"},"type":"array"}`,
	} {
		if !strings.Contains(string(parameters), want) {
			t.Errorf("no %s in %s", want, parameters)
		}
	}
}

// dig follows a path; a part that begins with "/" takes all until a method.
func dig(v any, path string) any {
	if before, after, ok := strings.Cut(path, "//"); ok {
		m, _ := dig(v, before).(map[string]any)
		for pattern, item := range m {
			if rest, ok := strings.CutPrefix("/"+after, pattern+"/"); ok {
				if method, _, _ := strings.Cut(rest, "/"); method == strings.ToLower(method) && isMethod(method) {
					return dig(item, rest)
				}
			}
		}
		return nil
	}
	for part := range strings.SplitSeq(path, "/") {
		m, _ := v.(map[string]any)
		v = m[part]
	}
	return v
}

func isMethod(s string) bool {
	switch strings.ToUpper(s) {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete:
		return true
	}
	return false
}

func do(a *harness, method, target string, header ...string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, target, nil)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	a.handler.ServeHTTP(w, req)
	return w
}
