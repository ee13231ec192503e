package api_test

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
)

// deliver turns events into deliveries and has all that are due answered with a status.
func (w *world) deliver(t testing.TB, status int) {
	t.Helper()
	dispatch := w.svc.Dispatch()
	for more := true; more; {
		var err error
		if more, err = dispatch.Distribute(t.Context(), w.account.ID); err != nil {
			t.Fatal(err)
		}
	}
	jobs, err := w.store.(storage.Jobs).Claim(t.Context(), map[string]int{helpdesk.JobWebhook: 100}, w.clock.now(), w.clock.now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	for _, job := range jobs {
		calls, err := dispatch.Begin(t.Context(), job, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range calls {
			out := subscription.WebhookOutcome{Status: status, Response: "\nas you\x00 see"}
			if status >= 300 {
				out.Problem = "The receiver answered " + strconv.Itoa(status) + "."
			}
			if _, err := dispatch.Report(t.Context(), call, out, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (w *world) firstDelivery(t testing.TB, path string) string {
	t.Helper()
	var out struct{ Data []struct{ ID int64 } }
	if err := json.Unmarshal(w.must(t, "GET", path, "").Body.Bytes(), &out); err != nil || len(out.Data) == 0 {
		t.Fatal(out, err)
	}
	return strconv.FormatInt(out.Data[0].ID, 10)
}
