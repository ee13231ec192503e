package mcp_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/transport/mcp"
)

// An application gives an assistant a token that drafts answers and cannot send them.
func Example() {
	ctx := context.Background()
	sealer, err := storage.NewSealer(storage.NewSecretKey())
	check(err)
	svc, err := helpdesk.New(helpdesk.Config{Store: memstore.New(), Blobs: memblob.New(), Sealer: sealer, SigningKey: storage.NewSecretKey()})
	check(err)
	owner, err := svc.Operator().CreateUser(ctx, identity.UserInput{Email: "olga@example.org"})
	check(err)
	account, err := svc.Operator().CreateAccount(ctx, identity.AccountInput{Name: "Acme"}, owner.ID)
	check(err)
	_, token, err := svc.Operator().CreateToken(ctx, owner.ID, identity.TokenInput{Name: "assistant", Scopes: []identity.Permission{
		identity.ConversationsView, identity.InteractionsView, identity.InteractionsCreate,
	}})
	check(err)

	assistants, err := mcp.New(mcp.Config{Service: svc})
	check(err)
	mux := http.NewServeMux()
	mux.Handle("/assistants/{account_id}", assistants)
	web := httptest.NewServer(mux)
	defer web.Close()

	client := sdk.NewClient(&sdk.Implementation{Name: "example", Version: "1"}, nil)
	session, err := client.Connect(ctx, &sdk.StreamableClientTransport{
		Endpoint: fmt.Sprintf("%s/assistants/%d", web.URL, account.ID), HTTPClient: &http.Client{Transport: bearer(token)}, DisableStandaloneSSE: true,
	}, nil)
	check(err)
	defer session.Close()
	tools, err := session.ListTools(ctx, nil)
	check(err)
	for _, tool := range tools.Tools {
		fmt.Println(tool.Name)
	}
	// Output:
	// add_note
	// draft_answer
	// list_saved_replies
	// read_conversation
	// search_conversations
}

// check ends the program on an error.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
