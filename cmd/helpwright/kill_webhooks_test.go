package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk/webhook/signature"
	"github.com/helpwright/helpwright/storage/testenv"
)

// hookReceiver records events, and fails now and then.
type hookReceiver struct {
	*httptest.Server
	mu      sync.Mutex
	secret  string
	came    map[string]int    // subjects of events, answered with 204
	ids     map[string]string // subjects by webhook-id
	invalid int
}

func newHookReceiver(t *testing.T) *hookReceiver {
	t.Helper()
	in := &hookReceiver{came: map[string]int{}, ids: map[string]string{}}
	in.Server = httptest.NewServer(http.HandlerFunc(in.serve))
	t.Cleanup(in.Close)
	return in
}

func (in *hookReceiver) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // its sender was killed
	}
	time.Sleep(time.Duration(rand.IntN(50)) * time.Millisecond)
	var event struct{ Subject string }
	in.mu.Lock()
	defer in.mu.Unlock()
	id := r.Header.Get(signature.HeaderID)
	if signature.Verify(in.secret, r.Header, body, time.Now()) != nil || json.Unmarshal(body, &event) != nil ||
		in.ids[id] != "" && in.ids[id] != event.Subject {
		in.invalid++
	}
	in.ids[id] = event.Subject
	if rand.IntN(50) == 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	in.came[event.Subject]++
	w.WriteHeader(http.StatusNoContent)
}

// counts returns how many events came, and how often one came again.
func (in *hookReceiver) counts() (events, again int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, n := range in.came {
		again += n - 1
	}
	return len(in.came), again
}

// TestKillDuringWebhooks kills the server while events are delivered: in the end the receiver has received each at least
// once, and the server has recorded that.
func TestKillDuringWebhooks(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		const tags = 500
		in := newHookReceiver(t)
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL, "HELPWRIGHT_ALLOW_PRIVATE_HOSTS=true")
		var hook object[struct {
			ID     int64
			Secret string
		}]
		s.ok("POST", "/accounts/1/webhooks", url.Values{"url": {in.URL}, "events[]": {"tag.created"}}, &hook)
		in.mu.Lock()
		in.secret = hook.Data.Secret
		in.mu.Unlock()
		var want []string
		makeTags := func(n int) {
			for range n {
				var tag struct{ ID int64 }
				s.ok("POST", "/accounts/1/conversation-tags", url.Values{"tag": {fmt.Sprint("Tag ", len(want))}}, &tag)
				want = append(want, fmt.Sprint("tag/", tag.ID))
			}
		}
		makeTags(tags / 2)
		for range kills {
			makeTags(tags / 2 / kills)
			time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
			s.kill()
			s.start()
		}
		path := fmt.Sprintf("/accounts/1/webhooks/%d/deliveries", hook.Data.ID)
		type delivery struct {
			State   string
			EventID string `json:"event_id"`
		}
		testenv.Moving(t, "every event is delivered", func() (string, bool) {
			n := len(all[delivery](s, path+"?state=delivered"))
			return fmt.Sprint(n), n >= len(want)
		})
		made := all[delivery](s, path)
		ids := map[string]bool{}
		for _, d := range made {
			ids[d.EventID] = true
		}
		if len(made) != len(want) || len(ids) != len(want) {
			t.Errorf("%d deliveries of %d events, want %d of each", len(made), len(ids), len(want))
		}
		events, again := in.counts()
		lost := slices.DeleteFunc(slices.Clone(want), func(subject string) bool { return in.came[subject] > 0 })
		if len(lost) > 0 || events != len(want) || in.invalid > 0 {
			t.Errorf("%d events came, want %d; lost are %v; %d requests were not right", events, len(want), lost, in.invalid)
		}
		if limit := kills * 4; again > limit {
			t.Errorf("%d events came again, more than were on their way at %d kills", again, kills)
		}
		t.Logf("%d kills; %d events came; %d came again with the same webhook-id", kills, events, again)
	})
}
