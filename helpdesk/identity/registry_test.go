package identity_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
)

func shop() storage.Domain {
	return storage.Domain{
		Permissions: []string{"orders.view", "orders.refund"},
		Roles:       map[string][]string{"agent": {"orders.view"}},
		Areas:       map[string]string{"order": "orders.view"},
	}
}

func base() storage.Domain {
	return storage.Domain{
		Permissions: []string{"accounts.view", "accounts.delete"},
		Roles:       map[string][]string{"agent": {"accounts.view"}, "editor": {"accounts.view"}},
		Areas:       map[string]string{"account": "accounts.view"},
	}
}

func TestRegistry(t *testing.T) {
	t.Parallel()
	r, err := identity.NewRegistry(base(), shop())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]identity.Permission{}
	for _, role := range r.BuiltInRoles() {
		got[role.Key] = role.Permissions
	}
	want := map[string][]identity.Permission{
		"owner":        {"accounts.delete", "accounts.view", "orders.refund", "orders.view"},
		"admin":        {"accounts.view", "orders.refund", "orders.view"},
		"agent":        {"accounts.view", "orders.view"},
		"collaborator": nil,
		"editor":       {"accounts.view"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"account", "order"}, r.Areas()); diff != "" {
		t.Error(diff)
	}
	for p, want := range map[identity.Permission]bool{"orders.view": true, "orders.create": false, "": false} {
		if r.Knows(p) != want {
			t.Errorf("%q is known: %t", p, !want)
		}
	}
	if p, known := r.Views("order"); p != "orders.view" || !known {
		t.Errorf("orders need %q, %t", p, known)
	}
	if p, known := r.Views("ship"); p != "" || known {
		t.Errorf("ships need %q, %t", p, known)
	}
	roles := r.Resolve([]identity.Role{{Key: "agent"}, {Name: "Mine", Permissions: []identity.Permission{"orders.view"}}, {Key: "gone", Permissions: []identity.Permission{"orders.view"}}})
	counts := []int{len(roles[0].Permissions), len(roles[1].Permissions), len(roles[2].Permissions)}
	if diff := cmp.Diff([]int{2, 1, 0}, counts); diff != "" {
		t.Error(diff)
	}
}

func TestRegistryRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		domains []storage.Domain
		says    string
	}{
		{"a domain twice", []storage.Domain{base(), base()}, "announces accounts.view, which another domain has"},
		{"an area twice", []storage.Domain{base(), {Permissions: []string{"x.view"}, Areas: map[string]string{"account": "x.view"}}}, "announces events of account"},
		{"a role with a foreign permission", []storage.Domain{{Roles: map[string][]string{"agent": {"y.view"}}}}, "grants y.view to the role agent"},
		{"an area with a foreign permission", []storage.Domain{{Areas: map[string]string{"y": "y.view"}}}, "shows events of y for y.view"},
	} {
		if _, err := identity.NewRegistry(tt.domains...); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func ExampleNewRegistry() {
	r, err := identity.NewRegistry(storage.Domain{
		Permissions: []string{"orders.view", "orders.refund"},
		Areas:       map[string]string{"order": "orders.view"},
	})
	fmt.Println(r.Permissions(), err)
	// Output: [orders.refund orders.view] <nil>
}
