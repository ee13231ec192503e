package server_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/sqlite"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/transport/server"
)

// A server's work can be measured: requests by the pattern of their route, attempts at jobs, mails and more.
func ExampleConfig_observe() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "help")
	check(err)
	defer os.RemoveAll(dir)
	db, err := sqlite.Open(ctx, dir+"/help.db", bunstore.Config{})
	check(err)
	defer db.Close()
	check(db.Migrate(ctx))
	srv, err := server.New(server.Config{
		Store: db, Blobs: memblob.New(), Keys: [][]byte{storage.NewSecretKey()},
		Observe: func(r server.Request) { fmt.Println(r.Method, r.Route, r.Status) },
	})
	check(err)
	for _, path := range []string{"/healthz", "/api/v1/accounts/7/customers", "/desk/a/1/c/2", "/desk/sign-in", "/help/en/articles/1-a", "/api/v1/nothing"} {
		srv.Handler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
	}
	// Output:
	// GET /healthz 200
	// GET /api/v1/accounts/{account_id}/customers 401
	// GET /desk/a/{account}/c/{id} 303
	// GET /desk/sign-in 200
	// GET / 404
	// GET /api/v1/ 404
}
