package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/memstore"
)

// What is due today depends on where somebody is: at noon in Berlin something is due half an hour before midnight in London.
func TestDueInTimezones(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	fill(t, w, 0)
	due := time.Date(2026, 1, 2, 23, 30, 0, 0, time.UTC).Sub(noon)
	w.must(t, "POST", "/accounts/1/slas", fmt.Sprintf(`{"name": "Gold", "first_reply": %d}`, due/time.Minute))
	w.must(t, "POST", "/accounts/1/conversations", `{"channel": "email", "to": "ada@example.com", "interactions": [{"type": "customer", "body": "Is it open?"}]}`)
	for query, want := range map[string]int{
		"": 1, "&timezone=UTC": 1, "&timezone=America/New_York": 1, "&timezone=Europe/Berlin": 0, "&timezone=Asia/Tokyo": 0,
	} {
		rec := w.do(t, "owner", "GET", "/accounts/1/conversations?due=today"+query, "")
		if n := strings.Count(rec.Body.String(), `"number"`); rec.Code != http.StatusOK || n != want {
			t.Errorf("%s: %d, %d conversations, not %d", query, rec.Code, n, want)
		}
	}
}
