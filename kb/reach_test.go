package kb_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

// A member who is limited to some mailboxes cannot divert messages to or from another mailbox with any method. Methods that
// take a mailbox are found by their types and must be listed here with their effect. The other methods concern sites, which
// are not limited by mailbox.
func TestEveryMethodWithinReach(t *testing.T) {
	t.Parallel()
	const near, far = 1, 2
	to := func(mailbox int64) kb.SiteInput {
		return kb.SiteInput{AccountID: 1, Name: "Help", MailboxID: storage.Some(mailbox)}
	}
	sites := func(c context.Context, b *bundle, who person, in kb.SiteInput) error {
		h, err := b.Sites(who)
		if err == nil {
			_, err = h.Create(c, in)
		}
		return err
	}
	update := func(c context.Context, b *bundle, who person, site kb.Site, in kb.SiteInput) error {
		e, err := b.Editor(c, who, site.ID)
		if err == nil {
			_, err = e.UpdateSite(c, in)
		}
		return err
	}
	for name, calls := range methods(map[string]map[string]func(c context.Context, b *bundle, who person) error{
		"Sites.Create": {
			"a site of another mailbox": func(c context.Context, b *bundle, who person) error { return sites(c, b, who, to(far)) },
		},
		"Editor.UpdateSite": {
			"to another mailbox": func(c context.Context, b *bundle, who person) error {
				return update(c, b, who, b.site(t, to(near)), to(far))
			},
			"from nothing to it": func(c context.Context, b *bundle, who person) error {
				return update(c, b, who, b.site(t, kb.SiteInput{}), to(far))
			},
			"from another mailbox": func(c context.Context, b *bundle, who person) error {
				return update(c, b, who, b.site(t, to(far)), to(near))
			},
			"from it to nothing": func(c context.Context, b *bundle, who person) error {
				return update(c, b, who, b.site(t, to(far)), to(0))
			},
		},
	}) {
		if calls == nil {
			t.Errorf("%s takes a mailbox: say here what it does for a member of some mailboxes", name)
		}
		for what, call := range calls {
			b := withMailboxes(t, 2)
			if err := call(t.Context(), b, lea); !errors.Is(err, kb.ErrNotFound) {
				t.Errorf("%s, %s, by a member of another mailbox: %v", name, what, err)
			}
			if err := call(t.Context(), b, erin); err != nil {
				t.Errorf("%s, %s, by a member of all: %v", name, what, err)
			}
		}
	}
}

// methods adds to known the handles' methods that take a mailbox.
func methods[C any](known map[string]map[string]C) map[string]map[string]C {
	for _, handle := range []reflect.Type{reflect.TypeFor[*kb.Editor](), reflect.TypeFor[*kb.Sites](), reflect.TypeFor[*kb.Visitor]()} {
		for i := range handle.NumMethod() {
			method := handle.Method(i)
			name := handle.Elem().Name() + "." + method.Name
			for n := range method.Type.NumIn() - 1 {
				if _, there := known[name]; !there && ofMailbox(method.Type.In(n+1), 5) {
					known[name] = nil
				}
			}
		}
	}
	return known
}

// ofMailbox reports whether a type has a field for a mailbox.
func ofMailbox(t reflect.Type, depth int) bool {
	if depth == 0 {
		return false
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return ofMailbox(t.Elem(), depth-1)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); strings.Contains(f.Name, "Mailbox") || ofMailbox(f.Type, depth-1) {
				return true
			}
		}
	}
	return false
}

// withMailboxes returns a bundle whose first account has mailboxes.
func withMailboxes(t *testing.T, n int) *bundle {
	t.Helper()
	b := memory(t)
	err := b.desk.InTx(t.Context(), helpdesk.Scope{AccountID: 1}, func(ctx context.Context, tx helpdesk.Tx) error {
		for i := range n {
			if err := tx.Mailboxes().Insert(ctx, &helpdesk.Mailbox{Name: "Box", InternalLocal: fmt.Sprint("box", i)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}
