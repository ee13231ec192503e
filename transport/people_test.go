package transport_test

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var secretText = regexp.MustCompile(`"token": ?"(hw[pi]_[A-Z2-7]+)"`)

// longPermissions are more than 40: those of owners, which say little.
var longPermissions = regexp.MustCompile(`"permissions": ?\[("[a-z_.]+",?\s*){40,}\]`)

// secrets keeps the tokens that an answer shows, which differ from run to run: that
// of an invitation for the next path with {token}, an access token as that of
// "joined".
func (r *run) secrets(body string) string {
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

// settlePeople adds a role, an invitation and the ids of what is there.
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
	ids["token_id"] = created("/user/tokens", "name=Another")
	ids["token"] = "hwi_UNKNOWN"
}
