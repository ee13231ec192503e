// Package openapitest checks live answers against an OpenAPI document. It is for tests only.
package openapitest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// Validator holds a document.
type Validator struct {
	doc  *openapi3.T
	base string
	main map[string]string // paths by other paths that match them, too
}

// New is Load for one test, which fails if the document is not valid.
func New(t testing.TB, document []byte, base string) *Validator {
	t.Helper()
	v, err := Load(document, base)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Load reads and validates a document. base is the path of the operations, such as "/api/v1". A large document takes most of
// a second, so tests share one.
func Load(document []byte, base string) (*Validator, error) {
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		return nil, fmt.Errorf("load the document: %w", err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		return nil, fmt.Errorf("the document is not valid: %w", err)
	}
	v := &Validator{doc: doc, base: base, main: map[string]string{}}
	for path, item := range doc.Paths.Map() {
		v.main[path] = path
		for _, operation := range item.Operations() {
			others, _ := operation.Extensions["x-also-at"].([]any)
			for _, other := range others {
				v.main[strings.ReplaceAll(other.(string), "...}", "}")] = path //nolint:forcetypeassert // the generator wrote it
			}
		}
	}
	return v, nil
}

// Check fails the test if an answer does not match the document: its status, headers, media type and body. Answers to paths
// or methods that are not in the document must be 404 or 405.
func (v *Validator) Check(t testing.TB, req *http.Request, status int, header http.Header, body []byte) {
	t.Helper()
	path, ok := strings.CutPrefix(req.URL.EscapedPath(), v.base)
	pattern := ""
	if ok {
		pattern = v.find(path)
	}
	var operation *openapi3.Operation
	if pattern = v.main[pattern]; pattern != "" {
		operation = v.doc.Paths.Value(pattern).GetOperation(req.Method)
	}
	if operation == nil {
		if status != http.StatusNotFound && status != http.StatusMethodNotAllowed && req.Method != http.MethodHead && req.Method != http.MethodOptions {
			t.Errorf("%s %s: status %d of an operation that is not in the document", req.Method, req.URL.Path, status)
		}
		return
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: req,
			Route: &routers.Route{
				Spec: v.doc, Path: pattern, PathItem: v.doc.Paths.Value(pattern), Method: req.Method, Operation: operation,
			},
		},
		Status: status, Header: header, Body: io.NopCloser(bytes.NewReader(body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	}
	if err := openapi3filter.ValidateResponse(context.Background(), input); err != nil {
		t.Errorf("%s %s: the answer %d is not as the document says: %v\n%s", req.Method, req.URL.Path, status, err, body)
	}
}

// find returns the pattern of a path; literal segments take precedence over parameters.
func (v *Validator) find(path string) string {
	segments := []string{""}
	for s := range strings.SplitSeq(path, "/") {
		if s != "" {
			segments = append(segments, s)
		}
	}
	best, score := "", -1
	for pattern := range v.main {
		if s := match(strings.Split(pattern, "/"), segments); s > score {
			best, score = pattern, s
		}
	}
	return best
}

// match counts the literal segments, -1 if the path does not match. A parameter named ..._path takes the rest.
func match(pattern, path []string) int {
	score := 0
	for i, p := range pattern {
		if strings.HasSuffix(p, "_path}") && len(path) > i {
			return score
		}
		if i >= len(path) || (!strings.HasPrefix(p, "{") && p != path[i]) {
			return -1
		}
		if !strings.HasPrefix(p, "{") {
			score++
		}
	}
	if len(pattern) != len(path) {
		return -1
	}
	return score
}
