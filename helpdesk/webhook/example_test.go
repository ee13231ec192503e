package webhook_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/netguard"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/helpdesk/webhook"
	"github.com/helpwright/helpwright/helpdesk/webhook/signature"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

// A sender turns events into deliveries while Run runs; a runner of jobs has them sent. Here both are done by hand, once.
func ExampleSender() {
	ctx := context.Background()
	store, key := memstore.New(), storage.NewSecretKey()
	sealer, _ := storage.NewSealer(key)
	svc, err := helpdesk.New(helpdesk.Config{Store: store, Blobs: memblob.New(), Sealer: sealer, SigningKey: key})
	if err != nil {
		panic(err)
	}
	owner, _ := svc.Operator().CreateUser(ctx, identity.UserInput{Email: "olga@example.org"})
	account, _ := svc.Operator().CreateAccount(ctx, identity.AccountInput{Name: "Acme"}, owner.ID)
	desk, _ := svc.Desk(ctx, svc.As(owner.ID), account.ID)

	var secret string
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Println(r.Header.Get("Content-Type"), signature.Verify(secret, r.Header, body, time.Now()))
	}))
	defer receiver.Close()
	var hook subscription.Webhook
	hook, secret, _ = desk.Webhooks().Create(ctx, subscription.WebhookInput{
		URL: storage.Some(receiver.URL), Events: storage.Some([]string{"tag.created"}),
	})
	_, _ = desk.Tags().Create(ctx, helpdesk.TagInput{Name: "Urgent"})

	sender, err := webhook.New(webhook.Config{Dispatch: svc.Dispatch(), Dial: netguard.Dialer(true, time.Minute), Notifier: store})
	if err != nil {
		panic(err)
	}
	_, _ = svc.Dispatch().Distribute(ctx, account.ID)
	due, _ := store.Claim(ctx, map[string]int{helpdesk.JobWebhook: 1}, time.Now(), time.Now().Add(time.Minute))
	err = sender.Handle(ctx, due[0])
	deliveries, _ := desk.Webhooks().Deliveries(ctx, subscription.WebhookDeliveryFilter{WebhookID: hook.ID}, storage.PageRequest{})
	fmt.Println(deliveries.Items[0].State, deliveries.Items[0].Status, err)
	// Output:
	// application/cloudevents+json <nil>
	// delivered 200 <nil>
}
