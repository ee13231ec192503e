package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/transport"
	"github.com/helpwright/helpwright/transport/api"
)

var secretText = regexp.MustCompile(`"token": ?"(hw[pi]_[A-Z2-7]+)"`)

// longPermissions matches lists of more than 40 permissions: those of owners, which are not interesting.
var longPermissions = regexp.MustCompile(`"permissions": ?\[("[a-z_.]+",?\s*){40,}\]`)

// secrets keeps tokens from answers, which differ from run to run: that of an invitation for the next path with {token}, an
// access token as that of "joined".
func (r *run) secrets(body string) string {
	body = r.portalSecrets(body)
	body = longPermissions.ReplaceAllString(body, `"permissions":["and so on"]`)
	return secretText.ReplaceAllStringFunc(body, func(found string) string {
		token := secretText.FindStringSubmatch(found)[1]
		name := "joined"
		if strings.HasPrefix(token, "hwi_") {
			name = "invitation"
		}
		r.tokens[name] = token
		return `"token":"` + token[:4] + `x"`
	})
}

func (r *run) fillSecret(path string) string {
	return strings.ReplaceAll(path, "{token}", r.tokens["invitation"])
}

// settlePeople adds a role, an invitation and the ids of existing objects.
func (w *world) settlePeople(t testing.TB, ids map[string]string) {
	t.Helper()
	account := "/accounts/" + ids["account_id"]
	created := func(path, body string) string {
		var out struct{ Data struct{ ID int64 } }
		rec := w.must(t, "POST", path, body, "Content-Type", "application/x-www-form-urlencoded")
		if err := json.Unmarshal(rec.Body.Bytes(), &out); err != nil {
			t.Fatal(err)
		}
		return strconv.FormatInt(out.Data.ID, 10)
	}
	var members struct{ Data []struct{ ID int64 } }
	if err := json.Unmarshal(w.must(t, "GET", account+"/memberships", "").Body.Bytes(), &members); err != nil {
		t.Fatal(err)
	}
	ids["membership_id"] = strconv.FormatInt(members.Data[1].ID, 10) // not the caller's own
	ids["role_id"] = created(account+"/roles", "name=Readers&permissions[]=conversations.view")
	ids["invitation_id"] = created(account+"/invitations", "email=lise@example.org&roles[]="+ids["role_id"])
	ids["join_rule_id"] = created(account+"/join-rules", "domain=acme.example&roles[]="+ids["role_id"])
	identity, passkey := w.signsIn(t, w.desk(t).UserID())
	ids["identity_id"], ids["passkey_id"] = strconv.FormatInt(identity, 10), strconv.FormatInt(passkey, 10)
	ids["token_id"] = created("/user/tokens", "name=Another")
	ids["user_id"] = strconv.FormatInt(w.desk(t).UserID(), 10)
	w.must(t, "PUT", "/user/picture", strings.ReplaceAll(valid["setPicture"], "\n", "\r\n"), "Content-Type", "multipart/form-data; boundary=cut")
	ids["token"] = "hwi_UNKNOWN"
}

// A session's cookie opens the API, and permits changes only if the browser shows that the request comes from this site.
func TestSessionCookie(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	u, err := w.svc.Operator().CreateUser(t.Context(), identity.UserInput{Email: "lise@example.org", Password: "correct horse"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.svc.Operator().AddMember(t.Context(), w.account.ID, u.ID, identity.RoleAdmin); err != nil {
		t.Fatal(err)
	}
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	login := "email=lise@example.org&password=correct+horse"
	rec := w.do(t, "", "POST", "/auth/login", login, form...)
	cookies := rec.Result().Cookies()
	if rec.Code != http.StatusOK || len(cookies) != 1 {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	c := cookies[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Secure || c.Path != "/" || c.MaxAge != 14*24*3600 || strings.Contains(rec.Body.String(), c.Value) {
		t.Errorf("cookie %v, body %s", c, rec.Body)
	}
	cookie := []string{"Cookie", c.Name + "=" + c.Value}
	for _, tt := range []struct {
		name, method, path string
		header             []string
		want               int
	}{
		{"reading", "GET", "/user", nil, 200},
		{"reading from another site", "GET", "/user", []string{"Sec-Fetch-Site", "cross-site"}, 200},
		{"changing without a word", "PUT", "/user", nil, 403},
		{"changing from another site", "PUT", "/user", []string{"Sec-Fetch-Site", "cross-site", "Origin", "http://example.com"}, 403},
		{"changing from a sibling", "PUT", "/user", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"changing from this site", "PUT", "/user", []string{"Sec-Fetch-Site", "same-origin"}, 200},
		{"an old browser on this site", "PUT", "/user", []string{"Origin", "http://example.com"}, 200},
		{"an old browser on another", "PUT", "/user", []string{"Origin", "http://evil.example"}, 403},
		{"an origin that is hidden", "PUT", "/user", []string{"Origin", "null"}, 403},
		{"a wrong token beside the cookie", "GET", "/user", []string{"Authorization", "Bearer hwp_x"}, 401},
		{"another scheme beside the cookie", "GET", "/user", []string{"Authorization", "Basic eDp5"}, 401},
		{"logging out from another site", "POST", "/auth/logout", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"logging in from another site", "POST", "/auth/login", []string{"Sec-Fetch-Site", "cross-site"}, 403},
	} {
		body := "name=Lise"
		if tt.path == "/auth/login" {
			body = login
		}
		if rec := w.do(t, "", tt.method, tt.path, body, slices.Concat(form, cookie, tt.header)...); rec.Code != tt.want {
			t.Errorf("%s: %d %s", tt.name, rec.Code, rec.Body)
		}
	}
	rec = w.do(t, "", "POST", "/auth/logout", "", slices.Concat(cookie, []string{"Sec-Fetch-Site", "same-origin"})...)
	if gone := rec.Result().Cookies(); rec.Code != http.StatusNoContent || len(gone) != 1 || gone[0].MaxAge >= 0 || gone[0].Value != "" {
		t.Errorf("logout: %d %v", rec.Code, gone)
	}
	if rec := w.do(t, "", "GET", "/user", "", cookie...); rec.Code != http.StatusUnauthorized {
		t.Errorf("after the logout: %d", rec.Code)
	}
	w.serve(t, api.Config{Config: transport.Config{BaseURL: "https://desk.example"}})
	rec = w.do(t, "", "POST", "/auth/login", login, append(form, "Origin", "https://desk.example")...)
	if c = rec.Result().Cookies()[0]; !c.Secure || c.Name != "__Host-helpwright_session" || c.Path != "/" || c.Domain != "" {
		t.Errorf("the cookie of an https site: %v", c)
	}
	if rec := w.do(t, "", "GET", "/user", "", "Cookie", c.Name+"="+c.Value); rec.Code != http.StatusOK {
		t.Errorf("with the cookie of an https site: %d", rec.Code)
	}
	// One without the prefix may be of a neighbour below the same domain.
	if rec := w.do(t, "", "GET", "/user", "", "Cookie", "helpwright_session="+c.Value); rec.Code != http.StatusUnauthorized {
		t.Errorf("with a cookie of another name: %d", rec.Code)
	}
}

// A user with a second factor sends its code with the password; an account can require one of all members.
func TestLoginWithCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	u, err := w.svc.Operator().CreateUser(t.Context(), identity.UserInput{Email: "lise@example.org", Password: "correct horse"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.svc.Operator().AddMember(t.Context(), w.account.ID, u.ID, identity.RoleAgent); err != nil {
		t.Fatal(err)
	}
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	login := func(code string, want int, contains string) *http.Cookie {
		t.Helper()
		rec := w.do(t, "", "POST", "/auth/login", "email=lise@example.org&password=correct+horse&code="+code, form...)
		if rec.Code != want || !strings.Contains(rec.Body.String(), contains) {
			t.Fatalf("code %q: %d %s", code, rec.Code, rec.Body)
		}
		for _, c := range rec.Result().Cookies() {
			return c
		}
		return nil
	}
	account := fmt.Sprintf("/accounts/%d", w.account.ID)
	w.must(t, "PUT", account, "name=Acme&require_second_factor=1", form...)
	c := login("", http.StatusOK, "lise@example.org")
	if rec := w.do(t, "", "GET", account, "", "Cookie", c.Name+"="+c.Value); rec.Code != http.StatusForbidden || !strings.Contains(rec.Body.String(), `"second_factor_required"`) {
		t.Errorf("without a second factor: %d %s", rec.Code, rec.Body)
	}
	admin, err := w.svc.Admin(t.Context(), w.svc.As(u.ID))
	if err != nil {
		t.Fatal(err)
	}
	begun, err := admin.BeginSecondFactor(t.Context(), "correct horse", "Acme")
	if err != nil {
		t.Fatal(err)
	}
	codes, err := admin.ConfirmSecondFactor(t.Context(), testenv.AppCode(begun.Secret, w.clock.now()))
	if err != nil {
		t.Fatal(err)
	}
	login("", http.StatusUnauthorized, `"second_factor_required"`)
	login("000000", http.StatusUnauthorized, `"wrong_code"`)
	c = login(codes[0], http.StatusOK, "lise@example.org")
	if rec := w.do(t, "", "GET", account, "", "Cookie", c.Name+"="+c.Value); rec.Code != http.StatusOK {
		t.Errorf("with a second factor: %d %s", rec.Code, rec.Body)
	}
}

// peopleStore counts reads.
type peopleStore struct {
	*memstore.Store
	reads map[string]int
}

func (s peopleStore) Within(scope helpdesk.Scope) helpdesk.Reader {
	return peopleReader{s.Store.Within(scope), s.reads}
}

type peopleReader struct {
	helpdesk.Reader
	reads map[string]int
}

func (r peopleReader) Account(ctx context.Context) (identity.Account, error) {
	r.reads["Account"]++
	return r.Reader.Account(ctx)
}

func (r peopleReader) count(call string) { r.reads[call]++ }

func (r peopleReader) ReadRecords(t *storage.Table) storage.RowReader[storage.Record, []storage.Condition] {
	rows := r.Reader.ReadRecords(t)
	if name := map[string]string{"hw_roles": "Roles", "hw_invitations": "Invitations"}[t.Name]; name != "" {
		return countingRows[storage.Record, []storage.Condition]{rows, r.count, name}
	}
	return rows
}

func (r peopleReader) UsersByID(ctx context.Context, ids []int64) ([]identity.User, error) {
	r.reads["UsersByID"]++
	return r.Reader.UsersByID(ctx, ids)
}

func (r peopleReader) Memberships() storage.RowReader[identity.Membership, storage.NoFilter] {
	return countingRows[identity.Membership, storage.NoFilter]{r.Reader.Memberships(), r.count, "Memberships"}
}

func (r peopleReader) Mailboxes() storage.RowReader[helpdesk.Mailbox, storage.NoFilter] {
	return countingRows[helpdesk.Mailbox, storage.NoFilter]{r.Reader.Mailboxes(), r.count, "Mailboxes"}
}

// Lists and expansions read each relation once, however many rows there are.
func TestReadsOfPeople(t *testing.T) {
	t.Parallel()
	reads := map[string]int{}
	w := newWorld(t, peopleStore{memstore.New(), reads})
	ids := settled(t, w)
	account := "/accounts/" + ids["account_id"]
	w.must(t, "PUT", account+"/memberships/"+ids["membership_id"], "roles[]=3&mailboxes[]="+ids["mailbox_id"],
		"Content-Type", "application/x-www-form-urlencoded")
	const everything = "?expand=user,account,roles,mailboxes"
	for path, want := range map[string]map[string]int{
		account + "/memberships":                                                       {"Memberships.List": 1, "Roles.List": 1},
		account + "/memberships" + everything:                                          {"Memberships.List": 1, "Roles.List": 1, "UsersByID": 1, "Account": 2, "Mailboxes.ByIDs": 1, "Mailboxes.List": 1},
		account + "/membership":                                                        {"Memberships.Get": 1},
		account + "/memberships/" + ids["membership_id"] + everything:                  {"Memberships.Get": 1, "Roles.List": 1, "UsersByID": 1, "Account": 2, "Mailboxes.ByIDs": 1, "Mailboxes.List": 1},
		account + "/memberships/" + ids["membership_id"] + "/preferences/availability": {"Memberships.Get": 1},
		account + "/roles":                                                             {"Roles.List": 1},
		account + "/invitations":                                                       {"Invitations.List": 1},
		account + "/conversations/context":                                             {"Memberships.List": 1, "UsersByID": 1},
	} {
		clear(reads)
		w.must(t, "GET", path, "")
		if diff := cmp.Diff(want, reads); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}

// If several users accept an invitation at the same time, one succeeds.
func TestAcceptAtTheSameTime(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, b.open(t))
			_, token, err := w.desk(t).Members().Invite(t.Context(), identity.InvitationInput{Email: "lise@example.org", RoleIDs: []int64{3}})
			if err != nil {
				t.Fatal(err)
			}
			const workers = 4
			codes := make(chan int, workers)
			for range workers {
				go func() {
					codes <- w.do(t, "", "POST", "/invitations/"+token+"/accept", `{"name": "Lise", "password": "correct horse"}`, "Content-Type", "application/json").Code
				}()
			}
			got := map[int]int{}
			for range workers {
				got[<-codes]++
			}
			if got[http.StatusOK] != 1 || got[http.StatusOK]+got[http.StatusNotFound]+got[http.StatusUnauthorized] != workers {
				t.Errorf("answers: %v", got)
			}
		})
	}
}
