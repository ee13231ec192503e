package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/transport"
)

// Every list pages: it takes a limit of 1 to 100 and its own cursors, and its pages together are the list.
func TestEveryListPages(t *testing.T) {
	t.Parallel()
	whole := []string{"listLanguages", "listIdentityProviders", "listIdentities", "listPasskeys"} // short ones, told whole in one page
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, b.open(t))
			ids := settled(t, w)
			for _, name := range []string{"one.txt", "two.txt"} { // so that there is a second page
				body := strings.ReplaceAll(strings.ReplaceAll(valid["createAttachment"], "x.txt", name), "\n", "\r\n")
				w.must(t, "POST", "/accounts/"+ids["account_id"]+"/conversations/"+ids["conversation_id"]+"/interactions/"+ids["interaction_id"]+"/attachments",
					body, "Content-Type", "multipart/form-data; boundary=cut")
			}
			for _, r := range w.table.Routes() {
				if r.Shape != transport.List || r.Method != http.MethodGet || slices.Contains(whole, r.ID) {
					continue
				}
				path, _, _ := w.wants(t, r, ids)
				first := "?"
				if strings.Contains(path, "?") {
					first = "&"
				}
				list := func(query string) (items []json.RawMessage, next string, status int) {
					rec := w.do(t, "owner", "GET", path+first+query, "")
					var page struct{ Data []json.RawMessage }
					if err := json.Unmarshal(rec.Body.Bytes(), &page); err != nil {
						t.Fatalf("%s: %d %s", r.ID, rec.Code, rec.Body)
					}
					for link := range strings.SplitSeq(rec.Header().Get("Link"), ", ") {
						if target, ok := strings.CutSuffix(link, `>; rel="next"`); ok {
							_, next, _ = strings.Cut(target, "cursor=")
							next, _, _ = strings.Cut(next, "&")
						}
					}
					return page.Data, next, rec.Code
				}
				for _, query := range []string{"limit=0", "limit=101", "limit=x", "cursor=x"} {
					if _, _, status := list(query); status != http.StatusUnprocessableEntity {
						t.Errorf("%s?%s: %d", r.ID, query, status)
					}
				}
				all, _, _ := list("limit=100")
				var read []json.RawMessage
				for next := ""; len(read) <= len(all); {
					items, following, _ := list("limit=1&cursor=" + next)
					if len(items) > 1 {
						t.Errorf("%s: %d objects on a page of one", r.ID, len(items))
					}
					read = append(read, items...)
					if next = following; next == "" {
						break
					}
				}
				if len(read) != len(all) {
					t.Errorf("%s: %d objects on pages of one, %d on one page", r.ID, len(read), len(all))
				}
			}
		})
	}
}
