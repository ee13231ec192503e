package helpdesk_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// A letter beyond ASCII never equals an ASCII letter, even if its lower case looks the same: the owners of the two addresses
// are different people.
func TestEmailKey(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		" Ada@Example.COM ":        "ada@example.com",
		"\u00c4da@example.com":     "\u00e4da@example.com",
		"\u212aate@example.com":    "\u212aate@example.com", // Kelvin sign, whose lower case is k
		"\u0130da@example.com":     "\u0130da@example.com",  // dotted capital I, whose lower case is i
		"\u017fam@example.com":     "\u017fam@example.com",  // long s, whose upper case is S
		"KATE@B\u00dcCHER.example": "kate@xn--bcher-kva.example",
		"kate@example.com.":        "kate@example.com",
		"\u212aate":                "\u212aate",
		"\u03a9mega@example.com":   "\u03c9mega@example.com",
	} {
		if got := mailaddr.Key(address); got != want {
			t.Errorf("EmailKey(%q) = %q, want %q", address, got, want)
		}
	}
}

// scoped is the owner with a token of some scopes.
func (b *bundle) scoped(scopes ...identity.Permission) helpdesk.Caller {
	b.t.Helper()
	_, secret, err := b.svc.Operator().CreateToken(b.ctx, b.owner.ID, identity.TokenInput{Name: "scoped", Scopes: scopes})
	if err != nil {
		b.t.Fatal(err)
	}
	return must(b.svc.Authenticate(b.ctx, secret))(b.t)
}

// A query searches the text of messages, so it requires the permission to read them.
func TestQueryNeedsInteractionsView(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.receive(opening())
	view := must(b.desk.Views().Create(b.ctx, helpdesk.ViewInput{Name: "Doors", Filter: helpdesk.ViewFilter{Words: "open"}}))(t)
	for _, c := range []struct {
		name   string
		scopes []identity.Permission
		query  helpdesk.ConversationQuery
		want   any // fault.Kind or number of conversations
	}{
		{"reader", []identity.Permission{identity.ConversationsView, identity.InteractionsView}, helpdesk.ConversationQuery{Query: "open"}, 1},
		{"not without", []identity.Permission{identity.ConversationsView}, helpdesk.ConversationQuery{Query: "open"}, fault.Forbidden},
		{"not by blanks", []identity.Permission{identity.ConversationsView}, helpdesk.ConversationQuery{Query: " "}, fault.Forbidden},
		{"not by a view", []identity.Permission{identity.ConversationsView, identity.ViewsView}, helpdesk.ConversationQuery{ViewID: view.ID}, fault.Forbidden},
		{"the list", []identity.Permission{identity.ConversationsView}, helpdesk.ConversationQuery{}, 1},
	} {
		desk := must(b.svc.Desk(b.ctx, b.scoped(c.scopes...), b.account.ID))(t)
		page, err := desk.Conversations().List(b.ctx, c.query, storage.PageRequest{})
		var got any = len(page.Items)
		if err != nil {
			got = fault.Of(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// A token with scopes lists accounts with accounts.view only, as it reads one.
func TestAccountsAndScopes(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for _, c := range []struct {
		name   string
		caller helpdesk.Caller
		ok     bool
	}{
		{"no scopes", b.svc.As(b.owner.ID), true},
		{"accounts.view", b.scoped(identity.AccountsView), true},
		{"another", b.scoped(identity.CustomersView), false},
	} {
		admin := must(b.svc.Admin(b.ctx, c.caller))(t)
		if page, err := admin.Accounts(b.ctx, storage.PageRequest{}); c.ok != (err == nil && len(page.Items) == 1) || !c.ok && !fault.Is(err, fault.Forbidden) {
			t.Errorf("%s: %+v, %v", c.name, page, err)
		}
		if ids, err := admin.AccountIDs(b.ctx, 0); err != nil || !cmp.Equal(ids, []int64{b.account.ID}) {
			t.Errorf("%s: %v, %v", c.name, ids, err)
		}
	}
}

// Users see the accounts that they are members of, and the operator sees all of them.
func TestAccountsOfTheOperator(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	operator := b.svc.Operator()
	other := must(operator.CreateUser(b.ctx, identity.UserInput{Email: "other@example.com"}))(t)
	theirs := must(operator.CreateAccount(b.ctx, identity.AccountInput{Name: "Theirs"}, other.ID))(t)
	for name, c := range map[string]struct {
		admin *helpdesk.Admin
		want  []int64
	}{
		"the operator": {operator, []int64{b.account.ID, theirs.ID}},
		"a member":     {must(b.svc.Admin(b.ctx, b.svc.As(b.owner.ID)))(t), []int64{b.account.ID}},
		"another":      {must(b.svc.Admin(b.ctx, b.svc.As(other.ID)))(t), []int64{theirs.ID}},
	} {
		var got []int64
		for req := (storage.PageRequest{Limit: 1}); ; {
			page := must(c.admin.Accounts(b.ctx, req))(t)
			for _, a := range page.Items {
				got = append(got, a.ID)
			}
			if req.Cursor = page.Next; req.Cursor == "" {
				break
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if ids := must(c.admin.AccountIDs(b.ctx, 0))(t); !cmp.Equal(c.want, ids) {
			t.Errorf("%s: %v", name, ids)
		}
	}
}

// A key has one name: 1 is not 01.
func TestPortalKeyHasOneName(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	key, secret, err := b.desk.PortalKeys().Create(b.ctx, helpdesk.PortalKeyInput{Name: "App", Algorithm: "HS256"})
	if err != nil {
		t.Fatal(err)
	}
	for kid, ok := range map[any]bool{
		fmt.Sprint(key.ID): true, fmt.Sprintf("0%d", key.ID): false, fmt.Sprintf("+%d", key.ID): false, fmt.Sprintf(" %d", key.ID): false,
		fmt.Sprintf("%d.0", key.ID): false, key.ID: false, "": false, "-1": false,
	} {
		token := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
			"aud": fmt.Sprintf("account:%d", b.account.ID), "email": "ada@example.com",
			"iat": b.clock.Now().Unix(), "exp": b.clock.Now().Add(time.Hour).Unix(),
		})
		token.Header["kid"] = kid
		text, err := token.SignedString([]byte(secret))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.svc.AuthenticatePortal(b.ctx, b.account.ID, text); (err == nil) != ok || !ok && !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("kid %q: %v", kid, err)
		}
	}
}
