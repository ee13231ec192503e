package webhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	reference "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/netguard"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/helpdesk/webhook"
	"github.com/helpwright/helpwright/helpdesk/webhook/signature"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/both"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/storage/testenv"
)

// verify calls the reference implementation.
func verify(t *testing.T, secret string, r received) error {
	t.Helper()
	return must(reference.NewWebhook(secret))(t).Verify(r.body, r.header)
}

// The complete request to a receiver.
func TestDelivery(t *testing.T) {
	t.Parallel()
	w, in := newWorld(t, nil), newReceiver(t, nil)
	hook, secret := w.hook(in.URL + "/hooks?x=1")
	w.tags("urgent")
	w.work(0)
	got := in.got()
	if len(got) != 1 {
		t.Fatalf("%d requests", len(got))
	}
	if err := verify(t, secret, got[0]); err != nil {
		t.Error(err)
	}
	if err := signature.Verify(secret, got[0].header, got[0].body, w.clock.Now()); err != nil {
		t.Error(err)
	}
	d := w.deliveries(hook)[0]
	want := map[string]string{
		"Content-Type": "application/cloudevents+json", "User-Agent": "helpwright-webhook", "Webhook-Id": d.MessageID(),
		"Webhook-Timestamp": strconv.FormatInt(w.clock.Now().Unix(), 10),
	}
	for name, value := range want {
		if got[0].header.Get(name) != value {
			t.Errorf("%s: %q, want %q", name, got[0].header.Get(name), value)
		}
	}
	var event map[string]any
	if err := json.Unmarshal(got[0].body, &event); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{
		"specversion": "1.0", "id": strconv.FormatInt(d.Seq, 10), "source": "https://desk.example/api/v1/accounts/1", "type": "tag.created",
		"subject": "tag/1", "time": w.clock.Now().UTC().Format("2006-01-02T15:04:05.000000Z"), "datacontenttype": "application/json",
		"data": map[string]any{"id": 1.0, "actor_id": 1.0},
	}, event); diff != "" {
		t.Error(diff)
	}
	if d.State != subscription.WebhookDelivered || d.Attempts != 1 || d.Status != 204 || !d.NextAttemptAt.IsZero() || d.HeldBy != 0 {
		t.Errorf("%+v", d)
	}
	if hook := w.webhook(hook.ID); !hook.LastSuccessAt.Equal(w.clock.Now()) || !hook.FailingSince.IsZero() {
		t.Errorf("%+v", hook)
	}
	if left := w.claim(); len(left) != 0 {
		t.Errorf("%d jobs are left", len(left))
	}
}

// The outcome of a delivery by its receiver's first answer.
func TestAnswers(t *testing.T) {
	t.Parallel()
	elsewhere := newReceiver(t, nil)
	for name, test := range map[string]struct {
		answer            func(n int, rw http.ResponseWriter, r *http.Request)
		state             subscription.WebhookState
		status            int
		problem, response string
		active            bool
	}{
		"200":     {statuses(200), subscription.WebhookDelivered, 200, "", "answer 0", true},
		"299":     {statuses(299), subscription.WebhookDelivered, 299, "", "answer 0", true},
		"300":     {statuses(300), subscription.WebhookPending, 300, "The receiver answered 300: redirects are not followed.", "answer 0", true},
		"404":     {statuses(404), subscription.WebhookPending, 404, "The receiver answered 404.", "answer 0", true},
		"410":     {statuses(410), subscription.WebhookFailed, 410, "The receiver answered 410.", "answer 0", false},
		"500":     {statuses(500), subscription.WebhookPending, 500, "The receiver answered 500.", "answer 0", true},
		"garbage": {func(_ int, rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("a\x00\xff\nb\u202e")) }, subscription.WebhookDelivered, 200, "", "a\ufffd b", true},
		"long": {func(_ int, rw http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(rw, strings.Repeat("é", 1000))
		},
			subscription.WebhookDelivered, 200, "", strings.Repeat("é", 512), true},
		"redirect": {func(_ int, rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, subscription.WebhookPending, 307, "The receiver answered 307: redirects are not followed.", "", true},
		"hangs up": {func(_ int, rw http.ResponseWriter, _ *http.Request) {
			conn, _, err := rw.(http.Hijacker).Hijack()
			if err == nil {
				_ = conn.Close()
			}
		}, subscription.WebhookPending, 0, "The receiver cannot be reached: EOF.", "", true},
		"endless": {func(_ int, rw http.ResponseWriter, _ *http.Request) {
			for _, err := io.WriteString(rw, strings.Repeat("x", 1000)); err == nil; _, err = io.WriteString(rw, strings.Repeat("x", 1000)) {
			}
		}, subscription.WebhookDelivered, 200, "", strings.Repeat("x", 1024), true},
		"a header without end": {func(_ int, rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("X-Long", strings.Repeat("x", 100<<10))
		}, subscription.WebhookPending, 0, "The receiver cannot be reached: net/http: HTTP/1.x transport connection broken: net/http: server response headers exceeded 65536 bytes; aborted.", "", true},
		"what unpacks to much": {func(_ int, rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Encoding", "gzip") // it is shown as it is
			_, _ = io.WriteString(rw, strings.Repeat("z", 2000))
		}, subscription.WebhookDelivered, 200, "", strings.Repeat("z", 1024), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			in := newReceiver(t, test.answer)
			hook, _ := w.hook(in.URL)
			w.tags("urgent")
			w.work(0)
			d := w.deliveries(hook)[0]
			if d.State != test.state || d.Status != test.status || d.Problem != test.problem || d.Response != test.response || d.Attempts != 1 {
				t.Errorf("%+v", d)
			}
			if got := w.webhook(hook.ID); got.IsActive != test.active {
				t.Errorf("active is %v", got.IsActive)
			}
			if got := elsewhere.got(); len(got) != 0 {
				t.Errorf("a redirect was followed: %v", got)
			}
		})
	}
}

// A receiver that does not answer in time has not taken the event.
func TestTimeout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(cfg *webhook.Config) { cfg.Timeout = time.Second })
	release := make(chan struct{})
	in := newReceiver(t, func(n int, _ http.ResponseWriter, _ *http.Request) {
		if n == 0 {
			<-release
		}
	})
	defer close(release)
	hook, _ := w.hook(in.URL)
	w.tags("urgent")
	w.work(0)
	if d := w.deliveries(hook)[0]; d.State != subscription.WebhookPending || d.Problem != "The receiver did not answer within 1s." {
		t.Errorf("%+v", d)
	}
	w.work(6 * time.Second)
	if d := w.deliveries(hook)[0]; d.State != subscription.WebhookDelivered || d.Attempts != 2 {
		t.Errorf("%+v", d)
	}
}

// Servers in one's own network are not reached, by address, by name or by redirect.
func TestPrivateAddresses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(cfg *webhook.Config) { cfg.Dial = netguard.Dialer(false, time.Minute) })
	in := newReceiver(t, nil)
	_, port, err := net.SplitHostPort(in.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "10.0.0.1", "169.254.169.254", "[::ffff:127.0.0.1]", "0.0.0.0"} {
		hook, _ := w.hook("http://" + host + ":" + port)
		w.tags("tag for " + host)
		w.work(0)
		if d := w.deliveries(hook)[0]; d.State != subscription.WebhookPending || d.Status != 0 || !strings.Contains(d.Problem, netguard.ErrPrivateHost.Error()) {
			t.Errorf("%s: %+v", host, d)
		}
		if err := w.desk.Webhooks().Delete(t.Context(), hook.ID); err != nil {
			t.Fatal(err)
		}
	}
	if got := in.got(); len(got) != 0 {
		t.Errorf("%d requests came", len(got))
	}
}

// A failing delivery is retried for about a day, always with the same request, and then given up; ten of them switch the
// webhook off, with a notice.
func TestSchedule(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	in := newReceiver(t, statuses(503))
	hook, secret := w.hook(in.URL)
	w.tags("a")
	begin := w.clock.Now()
	var waits []time.Duration
	for n := 1; ; n++ {
		w.work(0)
		d := w.deliveries(hook)[0]
		if d.Attempts != n {
			t.Fatalf("%d attempts, want %d", d.Attempts, n)
		}
		if d.State != subscription.WebhookPending {
			break
		}
		waits = append(waits, d.NextAttemptAt.Sub(w.clock.Now()))
		w.work(waits[n-1] - time.Microsecond)
		if again := w.deliveries(hook)[0]; again.Attempts != n {
			t.Fatalf("attempt %d came early", again.Attempts)
		}
		w.clock.Add(time.Microsecond)
	}
	steps := []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 6 * time.Hour, 8 * time.Hour}
	for n, wait := range waits {
		if n >= len(steps) || wait < steps[n] || wait > steps[n]+steps[n]/20 {
			t.Errorf("wait %d is %v", n, wait)
		}
	}
	got := in.got()
	if len(got) != len(steps)+1 {
		t.Fatalf("%d requests", len(got))
	}
	for _, r := range got {
		if r.header.Get("webhook-id") != got[0].header.Get("webhook-id") || string(r.body) != string(got[0].body) {
			t.Errorf("another request: %+v", r)
		}
		if err := must(reference.NewWebhook(secret))(t).VerifyIgnoringTimestamp(r.body, r.header); err != nil {
			t.Error(err)
		}
	}
	if hook := w.webhook(hook.ID); !hook.FailingSince.Equal(begin) || hook.Failures != 1 || !hook.IsActive {
		t.Errorf("%+v", hook)
	}
	w.tags("b", "c", "d", "e", "f", "g", "h", "i", "j")
	for range 11 {
		w.work(9 * time.Hour)
	}
	off := w.webhook(hook.ID)
	if off.IsActive || off.Reason != subscription.WebhookFailing || off.Failures != 10 {
		t.Errorf("%+v", off)
	}
	events := must(w.desk.Events().List(t.Context(), subscription.EventQuery{Types: []string{"webhook.disabled"}}, storage.PageRequest{}))(t).Items
	if len(events) != 1 || events[0].Subject != hook.ID || !strings.Contains(string(events[0].Data), `"reason":"failing"`) {
		t.Errorf("events %+v", events)
	}
}

// A receiver that requests a delay gets it, but not forever.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	soon := 6 * time.Second // the first step, with its random part
	for name, test := range map[string]struct {
		status      int
		field       func(now time.Time) string
		least, most time.Duration
	}{
		"seconds":             {429, func(time.Time) string { return "120" }, 2 * time.Minute, 2 * time.Minute},
		"a date":              {503, func(now time.Time) string { return now.Add(10 * time.Minute).UTC().Format(http.TimeFormat) }, 10 * time.Minute, 10 * time.Minute},
		"less than our own":   {503, func(time.Time) string { return "1" }, 5 * time.Second, soon},
		"a date that is over": {503, func(now time.Time) string { return now.Add(-time.Hour).UTC().Format(http.TimeFormat) }, 5 * time.Second, soon},
		"for ever":            {429, func(time.Time) string { return "2000000000" }, time.Hour, time.Hour},
		"more than a number":  {429, func(time.Time) string { return "99999999999999999999" }, 5 * time.Second, soon},
		"below zero":          {429, func(time.Time) string { return "-5" }, 5 * time.Second, soon},
		"nonsense":            {429, func(time.Time) string { return "soon" }, 5 * time.Second, soon},
		"not asked by a 500":  {500, func(time.Time) string { return "120" }, 5 * time.Second, soon},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			field := test.field(w.clock.Now())
			in := newReceiver(t, func(_ int, rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Retry-After", field)
				rw.WriteHeader(test.status)
			})
			hook, _ := w.hook(in.URL)
			w.tags("urgent")
			w.work(0)
			d := w.deliveries(hook)[0]
			if wait := d.NextAttemptAt.Sub(w.clock.Now()); d.State != subscription.WebhookPending || wait < test.least || wait > test.most {
				t.Errorf("%s, again after %v", d.State, wait)
			}
		})
	}
}

// One success ends a row of failures.
func TestSuccessAfterFailures(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	in := newReceiver(t, statuses(500, 500, 200))
	hook, _ := w.hook(in.URL)
	w.tags("a")
	w.work(0)
	w.work(time.Minute)
	w.work(time.Minute)
	d, hook := w.deliveries(hook)[0], w.webhook(hook.ID)
	if d.State != subscription.WebhookDelivered || d.Attempts != 3 || d.Problem != "" || !hook.FailingSince.IsZero() {
		t.Errorf("%+v of %+v", d, hook)
	}
}

// For a day after a rotation both secrets are good, by our count and by the reference's.
func TestRotation(t *testing.T) {
	t.Parallel()
	w, in := newWorld(t, nil), newReceiver(t, nil)
	hook, first := w.hook(in.URL)
	_, second, err := w.desk.Webhooks().RotateSecret(t.Context(), hook.ID)
	if err != nil || first == second {
		t.Fatal(first, second, err)
	}
	for _, wait := range []time.Duration{0, subscription.FormerSecretLife - time.Minute, time.Minute} {
		w.clock.Add(wait)
		w.tags("after " + wait.String())
		w.work(0)
	}
	valid := func(secret string, r received) bool {
		at, err := strconv.ParseInt(r.header.Get("webhook-timestamp"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ours := signature.Verify(secret, r.header, r.body, time.Unix(at, 0))
		theirs := must(reference.NewWebhook(secret))(t).VerifyIgnoringTimestamp(r.body, r.header)
		if (ours == nil) != (theirs == nil) {
			t.Errorf("ours says %v, the reference %v", ours, theirs)
		}
		return ours == nil
	}
	var got [][]bool
	for _, r := range in.got() {
		got = append(got, []bool{valid(first, r), valid(second, r)})
	}
	if diff := cmp.Diff([][]bool{{true, true}, {true, true}, {false, true}}, got); diff != "" {
		t.Error(diff)
	}
}

// However many jobs there are, a webhook has so many tries in flight, and one that is slow delays no other.
func TestParallel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	var now, most atomic.Int64
	release := make(chan struct{})
	slow := newReceiver(t, func(int, http.ResponseWriter, *http.Request) {
		n := now.Add(1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		<-release
		now.Add(-1)
	})
	quick := newReceiver(t, nil)
	slowHook, _ := w.hook(slow.URL)
	quickHook, _ := w.hook(quick.URL)
	var names []string
	for n := range 30 {
		names = append(names, strconv.Itoa(n))
		w.tags(names[n]) // each a job of its own
	}
	stop := w.run(t)
	defer stop()
	delivered := func(hook subscription.Webhook) int {
		n := 0
		for _, d := range w.deliveries(hook) {
			if d.State == subscription.WebhookDelivered {
				n++
			}
		}
		return n
	}
	testenv.Eventually(t, "the quick one has all, the slow one its four", func() bool { return delivered(quickHook) == 30 && now.Load() == 4 })
	if delivered(slowHook) != 0 {
		t.Error("the slow one has answered")
	}
	close(release)
	testenv.Eventually(t, "the slow one has all", func() bool { return delivered(slowHook) == 30 })
	if most.Load() != 4 {
		t.Errorf("%d were in flight at a time", most.Load())
	}
	if ids := slow.subjects(); len(ids) != 30 || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != 30 {
		t.Errorf("subjects %v", ids)
	}
}

// A server that stops has not failed the receiver, and the same job goes on.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	in := newReceiver(t, func(n int, _ http.ResponseWriter, r *http.Request) {
		if n == 1 { // both are on their way
			cancel()
		}
		if n < 2 {
			<-r.Context().Done()
		}
	})
	hook, _ := w.hook(in.URL)
	w.tags("a", "b")
	w.do(ctx, w.claim()[0])
	if w.errs != 1 {
		t.Error("the job was done")
	}
	for _, d := range w.deliveries(hook) {
		if d.State != subscription.WebhookPending || d.Attempts != 0 || d.HeldBy == 0 {
			t.Errorf("%+v", d)
		}
	}
	w.work(0)
	for _, d := range w.deliveries(hook) {
		if d.State != subscription.WebhookDelivered || d.Attempts != 1 {
			t.Errorf("%+v", d)
		}
	}
}

// stores are shared by several processes.
func stores() map[string]func(t *testing.T) store {
	open := func(t *testing.T, url string) store {
		t.Helper()
		db := must(both.Open(t.Context(), url, bunstore.Config{SyncNormal: true}))(t)
		t.Cleanup(func() { _ = db.Close() })
		if err := db.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		return db
	}
	return map[string]func(t *testing.T) store{
		"Memory":     func(*testing.T) store { return memstore.New() },
		"SQLite":     func(t *testing.T) store { return open(t, "sqlite:"+filepath.Join(t.TempDir(), "test.db")) },
		"PostgreSQL": func(t *testing.T) store { return open(t, testenv.Postgres(t)) },
	}
}

// Two processes that send at a time deliver each event once to each webhook, while members write events and switch another
// webhook on and off.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const writers, each = 4, 25
			store := open(t)
			w := newWorldOver(t, store, func(cfg *webhook.Config) { cfg.Notifier, cfg.Poll = store, 10*time.Millisecond })
			first, second := newReceiver(t, nil), newReceiver(t, nil)
			hooks := []subscription.Webhook{}
			for _, in := range []*receiver{first, second} {
				hook, _ := w.hook(in.URL)
				hooks = append(hooks, hook)
			}
			toggled, _ := w.hook(second.URL)
			defer w.run(t)()
			w.sender = must(webhook.New(webhook.Config{Dispatch: w.svc.Dispatch(), Dial: netguard.Dialer(true, time.Minute), Now: w.clock.Now, Poll: 5 * time.Millisecond}))(t)
			defer w.run(t)()
			var wait sync.WaitGroup
			for n := range writers {
				wait.Go(func() {
					for i := range each {
						if _, err := w.desk.Tags().Create(t.Context(), helpdesk.TagInput{Name: fmt.Sprint(n, "-", i)}); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wait.Go(func() {
				for i := range each {
					in := subscription.WebhookInput{IsActive: storage.Some(i%2 == 1)}
					if _, err := w.desk.Webhooks().Update(t.Context(), toggled.ID, in); err != nil {
						t.Error(err)
					}
				}
			})
			wait.Wait()
			for _, hook := range hooks {
				testenv.Eventually(t, "all are delivered", func() bool {
					all := w.deliveries(hook)
					return len(all) == writers*each &&
						!slices.ContainsFunc(all, func(d subscription.WebhookDelivery) bool { return d.State != subscription.WebhookDelivered })
				})
			}
			got := first.subjects()
			slices.Sort(got)
			if len(got) != writers*each || len(slices.Compact(got)) != writers*each {
				t.Errorf("subjects %v", got)
			}
			testenv.Eventually(t, "nothing waits for what was switched off", func() bool {
				return !slices.ContainsFunc(w.deliveries(toggled), func(d subscription.WebhookDelivery) bool { return d.State == subscription.WebhookPending })
			})
		})
	}
}

// counted is a store that counts a sender's calls.
type counted struct {
	helpdesk.Store
	calls atomic.Int64
}

func (c *counted) InTx(ctx context.Context, s helpdesk.Scope, fn func(ctx context.Context, tx helpdesk.Tx) error) error {
	c.calls.Add(1)
	return c.Store.InTx(ctx, s, fn)
}

func (c *counted) WebhookBacklog(ctx context.Context, seek storage.Seek) ([]identity.Account, error) {
	c.calls.Add(1)
	return c.Store.WebhookBacklog(ctx, seek)
}

// Events of an account without a webhook cost nothing; those of one that has it wake the sender at once.
func TestCost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		store := &counted{Store: w.store}
		sealer := must(storage.NewSealer(make([]byte, 32)))(t)
		svc := must(helpdesk.New(helpdesk.Config{Store: store, Blobs: noBlobs{}, Sealer: sealer, SigningKey: make([]byte, 32)}))(t)
		sender := must(webhook.New(webhook.Config{Dispatch: svc.Dispatch(), Dial: netguard.Dialer(false, 0), Notifier: w.store, Poll: time.Hour}))(t)
		ctx, cancel := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		wait.Go(func() {
			if err := sender.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		tag := func(name string) (calls int64) {
			synctest.Wait()
			before := store.calls.Load()
			must(w.desk.Tags().Create(ctx, helpdesk.TagInput{Name: name}))(t)
			synctest.Wait()
			return store.calls.Load() - before
		}
		if n := tag("a"); n != 0 {
			t.Errorf("an event without a webhook costs %d calls", n)
		}
		hook, _ := w.hook("https://example.org")
		time.Sleep(2 * time.Hour) // it is found, and that there is nothing for it yet
		tag("b")
		time.Sleep(2 * time.Hour)
		if n := tag("c"); n != 1 || len(w.deliveries(hook)) != 2 {
			t.Errorf("an event costs %d calls; %d deliveries", n, len(w.deliveries(hook)))
		}
		must(w.desk.Webhooks().Update(ctx, hook.ID, subscription.WebhookInput{IsActive: storage.Some(false)}))(t)
		tag("d")
		if n := tag("e"); n != 0 || len(w.deliveries(hook)) != 2 {
			t.Errorf("an event after the webhook was switched off costs %d calls; %d deliveries", n, len(w.deliveries(hook)))
		}
		cancel()
		wait.Wait()
	})
}

type noBlobs struct{ storage.Blobs }

func TestNew(t *testing.T) {
	t.Parallel()
	_, err := webhook.New(webhook.Config{})
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || len(f.Fields) != 1 {
		t.Errorf("got %v", err)
	}
}
