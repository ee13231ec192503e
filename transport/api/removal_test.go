package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/transport/api"
)

// Deleting an object while others write to it succeeds, or is a conflict if dependents must be removed first, but it is
// never reported as missing.
func TestRemovalWhileOthersWrite(t *testing.T) {
	t.Parallel()
	const rounds = 6
	type step struct{ path, body string }
	const account, site = "/accounts/{account}", "/sites/{site}"
	text := "source_locale=en&translations[en][name]=X"
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, b.open(t))
			ids := settled(t, w)
			w.serve(t, api.Config{})
			fixed := strings.NewReplacer("{account}", ids["account_id"], "{site}", ids["site_id"], "{mailbox}", ids["mailbox_id"],
				"{collection}", ids["collection_id"], "{conversation}", ids["conversation_id"], "{interaction}", ids["interaction_id"])
			send := func(method, path, body string) *httptest.ResponseRecorder {
				kind := "application/x-www-form-urlencoded"
				if strings.HasPrefix(body, "--cut") {
					kind = "multipart/form-data; boundary=cut"
				}
				req := httptest.NewRequest(method, "/api/v1"+path, strings.NewReader(body))
				req.Header.Set("Content-Type", kind)
				req.Header.Set("Authorization", "Bearer "+w.tokens["owner"])
				rec := httptest.NewRecorder()
				w.handler.ServeHTTP(rec, req)
				return rec
			}
			file := strings.ReplaceAll("--cut\nContent-Disposition: form-data; name=\"file\"; filename=\"x.txt\"\n\nX\n--cut--\n", "\n", "\r\n")
			for _, tt := range []struct {
				name   string
				parent step // its id is {id} in the steps below
				at     string
				inUse  bool   // may be refused
				writes []step // PUT where the path begins with "="
			}{
				{"account", step{"/accounts", "name=X"}, "/accounts/{id}", false, []step{
					{"/accounts/{id}/mailboxes", "name=X{n}"}, {"/accounts/{id}/customers", "first_name=X{n}"}, {"/accounts/{id}/conversation-tags", "tag=X{n}"},
					{"/accounts/{id}/roles", "name=X{n}"}, {"=/accounts/{id}", "name=X{n}"}, {"/sites", "account_id={id}&name=X{n}"},
				}},
				{"mailbox", step{account + "/mailboxes", "name=X"}, account + "/mailboxes/{id}", false, []step{
					{account + "/conversations", "channel=email&mailbox_id={id}&to=x{n}@example.com"},
					{account + "/conversations", "channel=email&mailbox_id={id}&to=ada@example.com"},
					{"=" + account + "/mailboxes/{id}", "name=X{n}"}, {"=" + account + "/conversations/{conversation}", "mailbox_id={id}"},
				}},
				{"customer", step{account + "/customers", "first_name=X&emails[][email]=x{n}@example.com"}, account + "/customers/{id}", false, []step{
					{account + "/conversations", "channel=email&customer_id={id}&to=x{n}@example.com"},
					{account + "/conversations", "channel=email&to=x0@example.com"},
					{"=" + account + "/customers/{id}", "first_name=X{n}"},
				}},
				{"conversation", step{account + "/conversations", "channel=email&to=ada@example.com"}, account + "/conversations/{id}", false, []step{
					{account + "/conversations/{id}/interactions", "type=customer&body=X{n}"}, {account + "/conversations/{id}/interactions", "type=note&body=X{n}"},
					{"=" + account + "/conversations/{id}", "subject=X{n}"},
				}},
				{"tag", step{account + "/conversation-tags", "tag=Gone{n}"}, account + "/conversation-tags/{id}", false, []step{
					{account + "/conversations/{conversation}/tags", "tags[]={id}"}, {"=" + account + "/conversation-tags/{id}", "tag=New{n}"},
				}},
				{"role", step{account + "/roles", "name=Role {n}"}, account + "/roles/{id}", true, []step{
					{account + "/invitations", "email=x{n}@example.org&roles[]={id}"}, {"=" + account + "/roles/{id}", "name=X{n}"},
				}},
				{"view", step{account + "/conversation-views", "name=X&filter[agent]=me"}, account + "/conversation-views/{id}", false, []step{
					{"=" + account + "/conversation-views/{id}", "name=X{n}&filter[agent]=me"},
				}},
				{"site", step{"/sites", "account_id={account}&name=X"}, "/sites/{id}", false, []step{
					{"/sites/{id}/collections", text}, {"/sites/{id}/themes", "name=X{n}"}, {"/sites/{id}/files", file}, {"=/sites/{id}", "account_id={account}&name=X{n}"},
				}},
				{"collection", step{site + "/collections", text}, site + "/collections/{id}", true, []step{
					{site + "/categories", text + "&collection_id={id}"},
					{site + "/articles", "source_locale=en&collection_id={id}&translations[en][title]=X&translations[en][content]=X"},
				}},
				{"category", step{site + "/categories", text + "&collection_id={collection}"}, site + "/categories/{id}", true, []step{
					{site + "/articles", "source_locale=en&collection_id={collection}&categories[]={id}&translations[en][title]=X&translations[en][content]=X"},
				}},
				{"theme", step{site + "/themes", "name=X"}, site + "/themes/{id}", true, []step{
					{"=" + site + "/themes/{id}/files/assets/x{n}.css", "content=eA=="}, {site + "/themes/{id}/activate", ""},
				}},
			} {
				outcomes := map[int]int{}
				for round := range rounds {
					number := func(n int) string { return fmt.Sprint(round*100000 + n) }
					created := send("POST", fixed.Replace(tt.parent.path), strings.ReplaceAll(fixed.Replace(tt.parent.body), "{n}", number(0)))
					var out struct {
						ID   int64
						Data struct{ ID int64 }
					}
					if err := json.Unmarshal(created.Body.Bytes(), &out); err != nil || created.Code != 201 {
						t.Fatalf("%s: %d %s", tt.name, created.Code, created.Body)
					}
					id := fmt.Sprint(max(out.ID, out.Data.ID))
					var group sync.WaitGroup
					var gone atomic.Bool
					var written atomic.Int32
					for i, write := range tt.writes {
						group.Go(func() {
							for n := 1; !gone.Load() && n < 200; n++ {
								filled := strings.NewReplacer("{id}", id, "{n}", number(n*10+i))
								method, path := "POST", filled.Replace(fixed.Replace(write.path))
								if rest, ok := strings.CutPrefix(path, "="); ok {
									method, path = "PUT", rest
								}
								rec := send(method, path, filled.Replace(fixed.Replace(write.body)))
								if rec.Code >= 500 {
									t.Errorf("%s: %s %s: %d %s", tt.name, method, path, rec.Code, rec.Body)
								}
								if rec.Code < 300 {
									written.Add(1)
								}
							}
						})
					}
					inUse := tt.name == "role" || tt.name == "theme" || tt.name == "category" || tt.name == "collection" // from the first write on
					if len(tt.writes) > 0 && !inUse {
						testenv.Eventually(t, tt.name+": three writes succeed", func() bool { return written.Load() >= 3 })
					}
					path := strings.ReplaceAll(fixed.Replace(tt.at), "{id}", id)
					rec := send("DELETE", path+"?force=1", "")
					gone.Store(true)
					group.Wait()
					outcomes[rec.Code]++
					want := http.StatusNotFound
					switch {
					case rec.Code == http.StatusNoContent:
					case rec.Code == http.StatusConflict && tt.inUse:
						want = http.StatusOK
					default:
						t.Errorf("%s: %d %s", tt.name, rec.Code, rec.Body)
						continue
					}
					if after := send("GET", path, ""); after.Code != want {
						t.Errorf("%s: after %d: %d %s", tt.name, rec.Code, after.Code, after.Body)
					}
				}
				t.Logf("%s: %v", tt.name, outcomes)
			}
		})
	}
}
