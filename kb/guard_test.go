package kb

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/helpwright/helpwright/storage/guard"
)

// TestEveryMethodAsksFirst calls every exported method of every handle with zero arguments under a guard that denies
// everything. A method that touches data, or does anything else, before it checks the permission panics or does not return
// Forbidden.
func TestEveryMethodAsksFirst(t *testing.T) {
	t.Parallel()
	deny := guard.Deny[Permission, Reader, Tx]()
	open := func(context.Context, int64) (editorGuard, Membership, error) { return deny, Membership{}, nil }
	// These return only what the handle itself knows.
	pure := []string{"SiteID", "Rehearsal", "Holds", "Visitor.Site", "DefaultLocale", "URL", "Visitor.Text"}
	for _, handle := range []any{&Editor{guard: deny}, &Sites{open: open}, &Visitor{guard: guard.Deny[Permission, PublicReader, VisitorTx]()}} {
		v := reflect.ValueOf(handle)
		for i := range v.NumMethod() {
			method := v.Type().Method(i)
			name := v.Type().Elem().Name() + "." + method.Name
			if slices.Contains(pure, method.Name) || slices.Contains(pure, name) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if err := callZero(v.Method(i)); !errors.Is(err, ErrForbidden) {
					t.Errorf("answered %v, not Forbidden", err)
				}
			})
		}
	}
}

// callZero calls a method with zero arguments and returns its error.
func callZero(method reflect.Value) error {
	args := make([]reflect.Value, method.Type().NumIn())
	for i := range args {
		args[i] = reflect.Zero(method.Type().In(i))
		if method.Type().In(i) == reflect.TypeFor[context.Context]() {
			args[i] = reflect.ValueOf(context.Background())
		}
	}
	out := method.Call(args)
	err, _ := out[len(out)-1].Interface().(error)
	return err
}
