package helpdesk

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
)

// TestSealedFieldsAreDeclared finds a sealed field that would be left behind when the secret key changes.
func TestSealedFieldsAreDeclared(t *testing.T) {
	t.Parallel()
	var want []string
	nouns := reflect.TypeFor[Declarations]()
	for i := range nouns.NumField() {
		id, _ := nouns.Field(i).Type.FieldByName("ID") // func(*T) *int64
		want = append(want, sealedPaths(id.Type.In(0).Elem(), "")...)
	}
	for _, other := range []reflect.Type{reflect.TypeFor[identity.User](), reflect.TypeFor[identity.Account](), reflect.TypeFor[Customer](), reflect.TypeFor[identity.AccessToken](), reflect.TypeFor[ledger.FetchStatus]()} {
		want = append(want, sealedPaths(other, "")...)
	}
	slices.Sort(want)
	got := slices.Concat(declared(sealedOfAccounts()), declared(sealedOfMailboxes()), declared(sealedOfDomains()), declared(sealedOfWebhooks()), declared(sealedOfPortalKeys()), declared(sealedOfUsers()))
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// sealedPaths are the fields of a type, and of the structs in it, that are named Sealed...
func sealedPaths(of reflect.Type, below string) (found []string) {
	for i := range of.NumField() {
		switch f := of.Field(i); {
		case strings.HasPrefix(f.Name, "Sealed"):
			found = append(found, of.Name()+"."+f.Name)
		case f.Type.Kind() == reflect.Struct && strings.HasPrefix(f.Type.PkgPath(), reflect.TypeFor[Service]().PkgPath()):
			found = append(found, sealedPaths(f.Type, below+f.Name+".")...)
		}
	}
	return found
}

// declared are fields in the notation of sealedPaths; each must lead to the field of its name.
func declared[T any](fields []sealedField[T]) (names []string) {
	for _, f := range fields {
		var row T
		*f.value(&row) = []byte("x")
		in := reflect.ValueOf(row)
		parts := strings.Split(f.name, ".")
		for _, part := range parts[:len(parts)-1] {
			in = in.FieldByName(part)
		}
		name := in.Type().Name() + "." + parts[len(parts)-1]
		if string(in.FieldByName(parts[len(parts)-1]).Bytes()) != "x" {
			name += " leads to another field"
		}
		names = append(names, name)
	}
	return names
}
