package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"
)

// Every store finds the same, in many languages.
func TestSearchLanguages(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, b.open(t))
			account := fmt.Sprintf("/accounts/%d", w.account.ID)
			w.must(t, "POST", account+"/mailboxes", "name=Support&email=support@acme.example")
			texts := []struct {
				body      string
				hit, miss []string
			}{
				{"Die Straße in Müllheim ist gesperrt", []string{"STRASSE mullheim", "gesp"}, []string{"perrt"}},
				{"L’été, déjà cliché", []string{"ete deja", "l'été"}, []string{"tete"}},
				{"ガスが出ません", []string{"ガス", "出ません"}, []string{"カス"}},
				{"我的订单没有收到", []string{"订单", "单", "没有收到"}, []string{"收订"}},
				{"ฉันไม่ได้รับสินค้า", []string{"สินค้า"}, []string{"ขอบคุณ"}},
				{"لم أستلم الطَّلَب", []string{"الطلب"}, []string{"طلبية"}},
				{"Мой заказ ещё не пришёл", []string{"ЗАКАЗ", "еще при"}, []string{"приказ"}},
				{"It broke 😀👩‍👩‍👧 today", []string{"😀", "👧 tod"}, []string{"😢"}},
			}
			for i, text := range texts {
				body, _ := json.Marshal(map[string]any{
					"channel": "email", "to": "ada@example.org", "interactions": []map[string]string{{"type": "note", "body": text.body}},
				})
				w.must(t, "POST", account+"/conversations", string(body), "Content-Type", "application/json")
				for _, q := range text.hit {
					if got := w.search(t, account, q); fmt.Sprint(got) != fmt.Sprint([]int{i + 1}) {
						t.Errorf("%q finds %v, not %d", q, got, i+1)
					}
				}
				for _, q := range text.miss {
					if got := w.search(t, account, q); len(got) > 0 {
						t.Errorf("%q finds %v", q, got)
					}
				}
			}
			for _, q := range []string{
				`"`, `'`, `a" OR "b`, `NEAR(a b)`, `*`, `a*b`, `{own}:a`, `\`, `'':*`, `a & b | !c`, `_1`, `%`, `?0`, `-- x`,
			} {
				w.search(t, account, q) // fails when it is not answered with 200
				if rec := w.do(t, "owner", "GET", account+"/customers?query="+url.QueryEscape(q), ""); rec.Code != http.StatusOK {
					t.Errorf("customers, %q: %d %s", q, rec.Code, rec.Body)
				}
			}
			w.limit(t, 1<<40)
			if got := w.search(t, account, "strasse"); len(got) > 0 {
				t.Errorf("a member without the mailbox finds %v", got)
			}
		})
	}
}

// search returns the ids of the conversations found.
func (w *world) search(t *testing.T, account, query string) []int {
	t.Helper()
	rec := w.do(t, "owner", "GET", account+"/conversations?query="+url.QueryEscape(query), "")
	var page struct{ Data []struct{ ID int } }
	if err := json.Unmarshal(rec.Body.Bytes(), &page); err != nil || rec.Code != http.StatusOK {
		t.Errorf("%q: %d %s", query, rec.Code, rec.Body)
	}
	var ids []int
	for _, c := range page.Data {
		ids = append(ids, c.ID)
	}
	return ids
}

// A merge cannot name a customer of another account.
func TestMergeIntoAnotherAccount(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, b.open(t))
			account := fmt.Sprintf("/accounts/%d", w.account.ID)
			var made struct{ Data struct{ ID int64 } }
			body := w.must(t, "POST", "/accounts", "name=Beta").Body.Bytes()
			if err := json.Unmarshal(body, &made); err != nil {
				t.Fatal(err)
			}
			w.must(t, "POST", account+"/customers", "first_name=Ada")
			w.must(t, "POST", fmt.Sprintf("/accounts/%d/customers", made.Data.ID), "first_name=Grace")
			for _, ids := range [][2]int{{1, 2}, {2, 1}} {
				rec := w.do(t, "owner", "POST", fmt.Sprintf("%s/customers/%d/merge", account, ids[0]), fmt.Sprintf("into=%d", ids[1]),
					"Content-Type", "application/x-www-form-urlencoded")
				want := map[int]int{1: http.StatusUnprocessableEntity, 2: http.StatusNotFound}[ids[0]] // in the body, in the path
				if rec.Code != want {
					t.Errorf("%v: %d %s", ids, rec.Code, rec.Body)
				}
			}
		})
	}
}
