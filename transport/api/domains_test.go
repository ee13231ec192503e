package api_test

import (
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/transport/api"
	"github.com/helpwright/helpwright/transport/desk"
)

// A knowledge base whose permissions no role can grant would refuse everybody, so it is an error at start.
func TestDomainIsMissing(t *testing.T) {
	t.Parallel()
	key := make([]byte, 32)
	sealer, err := storage.NewSealer(key)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		domains []storage.Domain
		kb      *kb.Service
		says    string
	}{
		{"no knowledge base", nil, nil, ""},
		{"announced", []storage.Domain{kb.Domain()}, &kb.Service{}, ""},
		{"not announced", nil, &kb.Service{}, "kb.Domain()"},
		{"another domain only", []storage.Domain{{Permissions: []string{"orders.view"}}}, &kb.Service{}, "kb.Domain()"},
	} {
		store := memstore.New()
		svc, err := helpdesk.New(helpdesk.Config{Store: store, Blobs: memblob.New(), Sealer: sealer, SigningKey: key, Domains: tt.domains})
		if err != nil {
			t.Fatal(err)
		}
		_, apiErr := api.New(api.Config{Service: svc, KB: tt.kb})
		_, deskErr := desk.New(desk.Config{Service: svc, KB: tt.kb, Once: store})
		for part, err := range map[string]error{"api": apiErr, "desk": deskErr} {
			if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
				t.Errorf("%s, %s: %v", tt.name, part, err)
			}
		}
	}
}
