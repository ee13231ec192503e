package webhook_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/netguard"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/helpdesk/webhook"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/jobs"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

// clock is a time that moves when told to.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// world is a help desk in memory whose events are sent by hand.
type world struct {
	t      testing.TB
	store  store
	clock  *clock
	svc    *helpdesk.Service
	desk   *helpdesk.Desk
	sender *webhook.Sender
	errs   int // of jobs that failed, and come again
}

// store is all that a sender needs of one.
type store interface {
	helpdesk.Store
	storage.Jobs
	storage.EventNotifier
}

func newWorld(t testing.TB, change func(cfg *webhook.Config)) *world {
	t.Helper()
	return newWorldOver(t, memstore.New(), change)
}

func newWorldOver(t testing.TB, store store, change func(cfg *webhook.Config)) *world {
	t.Helper()
	w := &world{t: t, store: store, clock: &clock{now: time.Now().Truncate(time.Second)}}
	sealer := must(storage.NewSealer(make([]byte, 32)))(t)
	w.svc = must(helpdesk.New(helpdesk.Config{
		Store: w.store, Blobs: memblob.New(), Sealer: sealer, SigningKey: make([]byte, 32), Now: w.clock.Now,
		EventSource: "https://desk.example/api/v1",
	}))(t)
	owner := must(w.svc.Operator().CreateUser(t.Context(), identity.UserInput{Email: "owner@example.org"}))(t)
	account := must(w.svc.Operator().CreateAccount(t.Context(), identity.AccountInput{Name: "Acme"}, owner.ID))(t)
	w.desk = must(w.svc.Desk(t.Context(), w.svc.As(owner.ID), account.ID))(t)
	cfg := webhook.Config{Dispatch: w.svc.Dispatch(), Dial: netguard.Dialer(true, time.Minute), Now: w.clock.Now}
	if change != nil {
		change(&cfg)
	}
	w.sender = must(webhook.New(cfg))(t)
	return w
}

func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// hook makes a webhook of tags.
func (w *world) hook(url string) (subscription.Webhook, string) {
	w.t.Helper()
	hook, secret, err := w.desk.Webhooks().Create(w.t.Context(), subscription.WebhookInput{URL: storage.Some(url), Events: storage.Some([]string{"tag.created"})})
	if err != nil {
		w.t.Fatal(err)
	}
	return hook, secret
}

// tags creates tags, each of which causes an event.
func (w *world) tags(names ...string) {
	w.t.Helper()
	for _, name := range names {
		must(w.desk.Tags().Create(w.t.Context(), helpdesk.TagInput{Name: name}))(w.t)
	}
	must(w.svc.Dispatch().Distribute(w.t.Context(), w.desk.AccountID()))(w.t)
}

// claim takes the jobs that are due.
func (w *world) claim() []storage.ClaimedJob {
	w.t.Helper()
	now := w.clock.Now()
	return must(w.store.Claim(w.t.Context(), map[string]int{helpdesk.JobWebhook: 1000}, now, now.Add(time.Minute)))(w.t)
}

// work runs jobs until none is due, moving the clock to the given time.
func (w *world) work(d time.Duration) {
	w.t.Helper()
	w.clock.Add(d)
	for claimed := w.claim(); len(claimed) > 0; claimed = w.claim() {
		for _, job := range claimed {
			w.do(w.t.Context(), job)
		}
	}
}

func (w *world) do(ctx context.Context, job storage.ClaimedJob) {
	w.t.Helper()
	if err := w.sender.Handle(ctx, job); err != nil {
		w.errs++
		if err := w.store.Retry(w.t.Context(), job, w.clock.Now(), err.Error()); err != nil {
			w.t.Fatal(err)
		}
		return
	}
	if err := w.store.Finish(w.t.Context(), job); err != nil {
		w.t.Fatal(err)
	}
}

// deliveries of a webhook, oldest first.
func (w *world) deliveries(hook subscription.Webhook) []subscription.WebhookDelivery {
	w.t.Helper()
	all := must(w.store.Within(helpdesk.Scope{AccountID: w.desk.AccountID()}).
		WebhookDeliveries().List(w.t.Context(), subscription.WebhookDeliveryFilter{WebhookID: hook.ID}, storage.Seek{Limit: 10000}))(w.t)
	return all
}

func (w *world) webhook(id int64) subscription.Webhook {
	w.t.Helper()
	return must(w.desk.Webhooks().Get(w.t.Context(), id))(w.t)
}

// received is a request that a receiver got.
type received struct {
	header http.Header
	body   []byte
}

// receiver is an HTTP server that records its requests.
type receiver struct {
	*httptest.Server
	mu  sync.Mutex
	all []received
}

// newReceiver answers the n-th request, counted from 0, as answer does; nil: with 204.
func newReceiver(t testing.TB, answer func(n int, rw http.ResponseWriter, r *http.Request)) *receiver {
	t.Helper()
	in := &receiver{}
	in.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		in.mu.Lock()
		n := len(in.all)
		in.all = append(in.all, received{r.Header.Clone(), body})
		in.mu.Unlock()
		if answer == nil {
			rw.WriteHeader(http.StatusNoContent)
			return
		}
		answer(n, rw, r)
	}))
	t.Cleanup(in.Close)
	return in
}

// statuses answers with one after the other, the last again and again.
func statuses(all ...int) func(n int, rw http.ResponseWriter, r *http.Request) {
	return func(n int, rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(all[min(n, len(all)-1)])
		_, _ = fmt.Fprint(rw, "answer ", n)
	}
}

func (r *receiver) got() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]received(nil), r.all...)
}

// subjects are those of the events that came.
func (r *receiver) subjects() []string {
	var all []string
	for _, one := range r.got() {
		_, rest, _ := bytes.Cut(one.body, []byte(`"subject":"`))
		subject, _, _ := strings.Cut(string(rest), `"`)
		all = append(all, subject)
	}
	return all
}

// run runs sender and jobs as a server does, until the function that it returns is called.
func (w *world) run(t testing.TB) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	runner := must(jobs.New(jobs.Config{Jobs: w.store, Now: w.clock.Now, Handlers: map[string]jobs.Handler{
		helpdesk.JobWebhook: {Func: w.sender.Handle, Workers: 8},
	}}))(t)
	var wait sync.WaitGroup
	for _, run := range []func(context.Context) error{w.sender.Run, runner.Run} {
		wait.Go(func() {
			if err := run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	return func() {
		cancel()
		wait.Wait()
	}
}
