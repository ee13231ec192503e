package api_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/transport/api"
)

// ExampleNew mounts the API beside an application's own pages.
func ExampleNew() {
	ctx := context.Background()
	sealer, err := storage.NewSealer(storage.NewSecretKey())
	if err != nil {
		log.Fatal(err)
	}
	svc, err := helpdesk.New(helpdesk.Config{
		Store: memstore.New(), Blobs: memblob.New(), Sealer: sealer, SigningKey: bytes.Repeat([]byte("k"), 32),
	})
	if err != nil {
		log.Fatal(err)
	}
	user, err := svc.Operator().CreateUser(ctx, identity.UserInput{Name: "Ada", Email: "ada@example.org"})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := svc.Operator().CreateAccount(ctx, identity.AccountInput{Name: "Acme"}, user.ID); err != nil {
		log.Fatal(err)
	}
	_, token, err := svc.Operator().CreateToken(ctx, user.ID, identity.TokenInput{Name: "example"})
	if err != nil {
		log.Fatal(err)
	}

	api, err := api.New(api.Config{Service: svc})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "Welcome") })
	mux.Handle("/desk/", http.StripPrefix("/desk", api.Handler()))
	server := httptest.NewServer(mux)
	defer server.Close()

	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/desk/api/v1/accounts/1/mailboxes", strings.NewReader("name=Support"))
	if err != nil {
		log.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.StatusCode, resp.Header.Get("Location"))
	fmt.Println(strings.Contains(string(body), `"name":"Support"`))
	// Output:
	// 201 /desk/api/v1/accounts/1/mailboxes/1
	// true
}
