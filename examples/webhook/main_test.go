package main

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// sender is an in-memory help desk that delivers due events on request.
type sender struct {
	*testing.T
	store *memstore.Store
	svc   *helpdesk.Service
	desk  *helpdesk.Desk
	hooks *webhook.Sender
	now   time.Time
}

func newSender(t *testing.T) *sender {
	t.Helper()
	s := &sender{T: t, store: memstore.New(), now: time.Now()}
	key := storage.NewSecretKey()
	sealer := must(storage.NewSealer(key))(t)
	s.svc = must(helpdesk.New(helpdesk.Config{
		Store: s.store, Blobs: memblob.New(), Sealer: sealer, SigningKey: key, Now: func() time.Time { return s.now },
	}))(t)
	owner := must(s.svc.Operator().CreateUser(t.Context(), identity.UserInput{Email: "olga@example.org"}))(t)
	account := must(s.svc.Operator().CreateAccount(t.Context(), identity.AccountInput{Name: "Acme"}, owner.ID))(t)
	s.desk = must(s.svc.Desk(t.Context(), s.svc.As(owner.ID), account.ID))(t)
	s.hooks = must(webhook.New(webhook.Config{Dispatch: s.svc.Dispatch(), Dial: netguard.Dialer(true, time.Minute)}))(t)
	return s
}

func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (s *sender) deliver() {
	s.Helper()
	must(s.svc.Dispatch().Distribute(s.Context(), s.desk.AccountID()))(s.T)
	for _, job := range must(s.store.Claim(s.Context(), map[string]int{helpdesk.JobWebhook: 10}, s.now, s.now.Add(time.Minute)))(s.T) {
		if err := s.hooks.Handle(s.Context(), job); err != nil {
			s.Fatal(err)
		}
	}
}

// A failed event is delivered again, and a repeated event is not processed again.
func TestEachEventIsDoneOnce(t *testing.T) {
	t.Parallel()
	s := newSender(t)
	var rc *receiver
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { rc.ServeHTTP(w, r) }))
	defer server.Close()
	hook, secret, err := s.desk.Webhooks().Create(t.Context(), subscription.WebhookInput{URL: storage.Some(server.URL), Events: storage.Some([]string{"tag.created"})})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	asleep := errors.New("the printer is asleep")
	rc = newReceiver(secret, func(e event) error {
		if err := asleep; err != nil {
			asleep = nil
			return err
		}
		return reportTo(&out)(e)
	})
	must(s.desk.Tags().Create(t.Context(), helpdesk.TagInput{Name: "Urgent"}))(t)
	s.deliver()
	if out.Len() > 0 {
		t.Error("it was done at once")
	}
	s.now = s.now.Add(6 * time.Second)
	s.deliver()
	list := must(s.desk.Webhooks().Deliveries(t.Context(), subscription.WebhookDeliveryFilter{WebhookID: hook.ID}, storage.PageRequest{}))(t).Items
	must(s.desk.Webhooks().Redeliver(t.Context(), hook.ID, list[0].ID))(t)
	s.deliver()
	if diff := cmp.Diff("tag.created: tag/1 {\"actor_id\":1,\"id\":1}\n", out.String()); diff != "" {
		t.Error(diff)
	}
}

// Requests without the secret are refused.
func TestStrangersAreRefused(t *testing.T) {
	t.Parallel()
	rc := newReceiver("whsec_AAAA", func(event) error {
		t.Error("a stranger's event was done")
		return nil
	})
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"type": "tag.created"}`))
	r.Header.Set(signature.HeaderID, "msg_1")
	rec := httptest.NewRecorder()
	rc.ServeHTTP(rec, r)
	if rec.Code != http.StatusUnauthorized {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}
