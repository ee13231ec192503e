package api_test

import (
	"bytes"
	"flag"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/transport"
	"github.com/helpwright/helpwright/transport/api"
	"github.com/helpwright/helpwright/transport/internal/openapigen"
	"github.com/helpwright/helpwright/transport/internal/openapitest"
)

var update = flag.Bool("update", false, "write openapi.json")

// documented is the table that openapi.json is made from.
func documented(t *testing.T) *transport.Table {
	t.Helper()
	key := storage.NewSecretKey()
	svc := must(helpdesk.New(helpdesk.Config{
		Store: memstore.New(), Blobs: memblob.New(), Sealer: must(storage.NewSealer(key))(t), SigningKey: key,
	}))(t)
	return must(api.New(api.Config{Service: svc}))(t)
}

func TestOpenAPI(t *testing.T) {
	t.Parallel()
	document, err := openapigen.Generate(documented(t), openapigen.Info{
		Title: "Helpwright", Version: "1",
		Description: "Help desk and knowledge base.",
		Words:       words,
		Examples:    examples(t, documented(t)),
		Codes:       codes(t),
		Webhook:     "Event",
	})
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("openapi.json", document, 0o644); err != nil { // a source file
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(document, api.OpenAPI()) {
		t.Error("openapi.json is not that of the table: run go generate ./transport/api")
	}
	openapitest.New(t, document, "/api/v1")
	w := httptest.NewRecorder()
	documented(t).Handler().ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/openapi.json", nil))
	if w.Code != 200 || !bytes.Equal(w.Body.Bytes(), api.OpenAPI()) || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}
