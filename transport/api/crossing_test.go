package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
)

// If two agents answer the same message at once, one is told about the other's answer.
func TestCrossingAtOnce(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, b.open(t))
			box, err := w.desk(t).Mailboxes().Create(t.Context(), helpdesk.MailboxInput{})
			if err != nil {
				t.Fatal(err)
			}
			for round := range 5 {
				mail := ledger.Incoming{Message: message.Message{From: []mailaddr.Address{{Email: fmt.Sprintf("ada%d@example.com", round)}}, Text: "Help"}}
				path, question, _ := cutLast(w.file(t, box.ID, mail), "/")
				w.clock.advance(time.Second)
				requests := map[string][2]string{}
				for _, who := range []string{"owner", "agent"} {
					draft := w.do(t, who, "POST", path, `{"type": "user", "status": "draft", "body": "Soon."}`, "Content-Type", "application/json")
					requests[who] = [2]string{
						strings.TrimPrefix(draft.Header().Get("Location"), "/api/v1"),
						fmt.Sprintf(`{"status": "posted", "last_seen_interaction_id": %s}`, question),
					}
				}
				var codes []int
				var refused *httptest.ResponseRecorder
				var mu sync.Mutex
				var both sync.WaitGroup
				for who, r := range requests {
					both.Go(func() {
						rec := w.do(t, who, "PUT", r[0], r[1], "Content-Type", "application/json")
						mu.Lock()
						defer mu.Unlock()
						if codes = append(codes, rec.Code); rec.Code == http.StatusConflict {
							refused = rec
						}
					})
				}
				both.Wait()
				slices.Sort(codes)
				if !slices.Equal(codes, []int{http.StatusOK, http.StatusConflict}) || problem(t, refused).Code != "crossed" {
					t.Errorf("round %d: %v", round, codes)
				}
			}
		})
	}
}
