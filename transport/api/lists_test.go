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
			cursors, at := map[string]string{}, map[string]string{}
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
				_, tagged, _ := list("limit=1")
				if tagged != "" {
					cursors[r.ID], at[r.ID] = tagged, path+first
				}
				if len(read) != len(all) {
					t.Errorf("%s: %d objects on pages of one, %d on one page", r.ID, len(read), len(all))
				}
			}
			if len(cursors) < 10 {
				t.Errorf("only %d lists have a second page", len(cursors))
			}
			for of, cursor := range cursors {
				for list, path := range at {
					rec := w.do(t, "owner", "GET", path+"cursor="+cursor, "")
					if own := list == of; own != (rec.Code == http.StatusOK) || !own && (rec.Code != http.StatusUnprocessableEntity || !strings.Contains(rec.Body.String(), `"cursor"`)) {
						t.Errorf("%s with a cursor of %s: %d %s", list, of, rec.Code, rec.Body)
					}
				}
			}
			cursor, conversations := cursors["listConversations"], at["listConversations"]
			for query, want := range map[string]int{
				"": 200, "&status=posted": 200, "&sort_by=created_at&sort_type=desc": 200, "&sort_by=number": 422, "&sort_by=updated_at": 422, "&sort_type=asc": 422, "&limit=7": 200,
			} {
				if rec := w.do(t, "owner", "GET", conversations+"cursor="+cursor+query, ""); rec.Code != want {
					t.Errorf("conversations%s: %d, want %d: %s", query, rec.Code, want, rec.Body)
				}
			}
		})
	}
}
