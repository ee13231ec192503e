package helpdesk

import (
	"context"
	"crypto/rand"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/guard"
)

// TestEveryMethodAsksFirst calls every exported method of every handle with zero arguments under a guard that denies: a
// method that accesses data, or anything else, before checking either panics or does not answer Forbidden.
func TestEveryMethodAsksFirst(t *testing.T) {
	t.Parallel()
	deny := guard.Deny[identity.Permission, Reader, Tx]()
	denySystem := guard.Deny[identity.Permission, Directory, SystemTx]()
	denyAccount := func(int64) deskGuard { return deny }
	registry, err := identity.NewRegistry(Domain())
	if err != nil {
		t.Fatal(err)
	}
	// These return data of the handle itself.
	pure := []string{"AccountID", "UserID", "Scope", "Holds", "HoldsAll", "ReachesAll", "Permissions", "Online", "CanChange", "CanDelete", "InternalAddress", "Email", "Rehearsal", "Lagging"}
	opened := &Desk{desk{svc: &Service{registry: registry}, guard: deny}}
	for _, handle := range append(deskHandles(opened), opened, &Admin{guard: denySystem}, &Intake{system: denySystem, desk: denyAccount}, &Outgoing{desk: denyAccount},
		&Portal{guard: deny}, &Dispatch{system: denySystem, desk: denyAccount}, &MoveIn{desk: denyAccount},
	) {
		v := reflect.ValueOf(handle)
		name := reflect.Indirect(v).Type().Name()
		for i := range v.NumMethod() {
			method := v.Type().Method(i)
			if slices.Contains(pure, method.Name) || name == "Desk" && opensHandle(method.Type) {
				continue
			}
			t.Run(name+"."+method.Name, func(t *testing.T) {
				t.Parallel()
				if err := callZero(v.Method(i)); !errors.Is(err, ErrForbidden) {
					t.Errorf("answered %v, not Forbidden", err)
				}
			})
		}
	}
}

// deskHandles returns the handles that a desk opens.
func deskHandles(d *Desk) []any {
	var handles []any
	v := reflect.ValueOf(d)
	for i := range v.NumMethod() {
		if opensHandle(v.Type().Method(i).Type) {
			handles = append(handles, v.Method(i).Call(nil)[0].Interface())
		}
	}
	return handles
}

// opensHandle reports whether a method of [Desk] returns a handle: a type whose only field is what all handles share.
func opensHandle(method reflect.Type) bool {
	if method.NumIn() != 1 || method.NumOut() != 1 || method.Out(0).Kind() != reflect.Struct || method.Out(0).NumField() != 1 {
		return false
	}
	return method.Out(0).Field(0).Type == reflect.TypeFor[*desk]()
}

// maxMethods is the number of methods that a handle may have: one who reads its documentation finds each of them.
const maxMethods = 45

func TestHandlesAreSmall(t *testing.T) {
	t.Parallel()
	opened := &Desk{desk{}}
	for _, handle := range append(deskHandles(opened), opened, &Admin{}, &Intake{}, &Outgoing{}, &Portal{}, &Dispatch{}, &MoveIn{}, &Service{}, Jobs{}, SignIn{}) {
		if typ := reflect.TypeOf(handle); typ.NumMethod() > maxMethods {
			t.Errorf("%s has %d methods, more than %d", typ, typ.NumMethod(), maxMethods)
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

func TestPassword(t *testing.T) {
	t.Parallel()
	s := &Service{cfg: Config{Rand: rand.Reader}, gate: newGate()}
	hash, err := s.hashPassword(t.Context(), "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(hash, "$argon2id$v=19$m=65536,t=3,p=4$") {
		t.Errorf("the hash is %s", hash)
	}
	for _, tt := range []struct {
		hash, password string
		want           bool
	}{
		{hash, "correct horse", true},
		{hash, "correct hors", false},
		{s.gate.cost.none(), "", false},
		{"", "", false},
		{"$argon2id$v=19$m=99999999,t=3,p=4$AA$AA", "x", false},
		{"$argon2id$v=19$m=65536,t=1,p=0$AA$AA", "x", false},
	} {
		if got := verifyPassword(tt.hash, tt.password); got != tt.want {
			t.Errorf("verifyPassword(%q, %q) = %v", tt.hash, tt.password, got)
		}
	}
}

func TestReplyToken(t *testing.T) {
	t.Parallel()
	key := make([]byte, 32)
	s := &Service{cfg: Config{SigningKey: key}}
	other := &Service{cfg: Config{SigningKey: append([]byte{1}, key[1:]...)}}
	rotated := &Service{cfg: Config{SigningKey: other.cfg.SigningKey, FormerSigningKeys: [][]byte{make([]byte, 32), key}}}
	address := s.replyAddress("support@example.org", 7, 123456789)
	long := "a-very-long-local-part-that-leaves-no-room-for-tokens@example.org"
	for _, tt := range []struct {
		name    string
		svc     *Service
		account int64
		address string
		want    int64
	}{
		{"genuine", s, 7, address, 123456789},
		{"in upper case", s, 7, "SUPPORT" + address[len("support"):], 123456789},
		{"of another account", s, 8, address, 0},
		{"another key", other, 7, address, 0},
		{"a key of before", rotated, 7, address, 123456789},
		{"the key after that one", s, 7, rotated.replyAddress("support@example.org", 7, 9), 0},
		{"changed", s, 7, address[:len("support+r-")] + "b" + address[len("support+r-")+1:], 0},
		{"none", s, 7, "support@example.org", 0},
		{"a detail of the customer's own", s, 7, "support+r-x@example.org", 0},
		{"below another detail", s, 7, s.replyAddress("support+eu@example.org", 7, 5), 5},
		{"too long to carry one", s, 7, s.replyAddress(long, 7, 5), 0},
	} {
		if got, ok := tt.svc.tokenConversation(tt.account, tt.address); got != tt.want || ok != (tt.want != 0) {
			t.Errorf("%s: %d, %v; want %d", tt.name, got, ok, tt.want)
		}
	}
	if s.replyAddress(long, 7, 5) != long {
		t.Error("an address that is too long must stay as it is")
	}
}

func FuzzTokenConversation(f *testing.F) {
	s := &Service{cfg: Config{SigningKey: make([]byte, 32)}}
	f.Add(s.replyAddress("a@b", 1, 1))
	f.Add("a+r-@b")
	f.Add("+r-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa@")
	f.Fuzz(func(t *testing.T, address string) {
		if id, ok := s.tokenConversation(1, address); ok && id < 1 {
			t.Errorf("%q names conversation %d", address, id)
		}
	})
}
