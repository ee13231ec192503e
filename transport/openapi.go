package transport

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"net/http"
	"time"
)

//go:generate go test . -run TestOpenAPI -update

//go:embed openapi.json
var openAPI []byte

// OpenAPI returns the OpenAPI 3.1 document of the API, made from the table.
func OpenAPI() []byte { return bytes.Clone(openAPI) }

// AddDocument adds the operations that answer with an OpenAPI document, without a
// token: GET /openapi.json, and GET /docs for people.
func (t *Table) AddDocument(document []byte) {
	t.addDocs(document)
	sum := sha256.Sum256(document)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
	t.add(&Route{
		Operation: Operation{
			ID: "openapi", Method: http.MethodGet, Path: "/openapi.json", Tag: "Service", Status: http.StatusOK,
			Public: true, Summary: "This document",
		},
		Shape: File,
		serve: func(w http.ResponseWriter, r *Request) error {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("ETag", tag)
			w.Header().Set("Cache-Control", "public, no-cache")
			http.ServeContent(w, r.http, "", time.Time{}, bytes.NewReader(document))
			return nil
		},
	})
}
