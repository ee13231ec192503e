package transport

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"time"
)

// AddDocument adds the operations that answer with an OpenAPI document, without a token: GET /openapi.json, and GET /docs
// for people. The page /docs includes the guides: "" for none, or HTML that defines the templates guide-list (items of a
// list of links) and guides.
func (t *Table) AddDocument(document []byte, guides string) {
	t.addDocs(document, guides)
	t.addFile(Operation{ID: "openapi", Path: "/openapi.json", Summary: "This document"}, document)
}

// AddEvents adds the operation that answers with an AsyncAPI document, without a token: GET /asyncapi.json.
func (t *Table) AddEvents(document []byte) {
	t.addFile(Operation{ID: "asyncapi", Path: "/asyncapi.json", Summary: "The events as an AsyncAPI document"}, document)
}

// addFile adds a public operation that answers with a JSON document.
func (t *Table) addFile(o Operation, document []byte) {
	sum := sha256.Sum256(document)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
	o.Method, o.Tag, o.Status, o.Public = http.MethodGet, "Service", http.StatusOK, true
	t.add(&Route{
		Operation: o,
		Shape:     File,
		serve: func(w http.ResponseWriter, r *Request) error {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("ETag", tag)
			w.Header().Set("Cache-Control", "public, no-cache")
			http.ServeContent(w, r.http, "", time.Time{}, bytes.NewReader(document))
			return nil
		},
	})
}
