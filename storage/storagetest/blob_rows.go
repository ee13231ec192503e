package storagetest

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func blobRowTests() []testCase {
	return []testCase{
		{"Complete", testBlobRowsComplete},
		{"Named", testNamedBlobs},
		{"List", testListNamedBlobs},
		{"Marks", testMarks},
	}
}

// blobRows returns the backend's BlobRows, which are optional.
func blobRows(t *testing.T, b Backend) storage.BlobRows {
	t.Helper()
	rows, ok := b.Store.(storage.BlobRows)
	if !ok {
		lacks(t, "the store does not tell which blobs its rows name")
	}
	return rows
}

// blobHolders lists the nouns whose rows refer to a blob. A new one must be added to every backend's list, and here.
func blobHolders() map[reflect.Type]string {
	return map[reflect.Type]string{
		reflect.TypeFor[helpdesk.Attachment](): "BlobKey",
		reflect.TypeFor[ledger.Mail]():         "RawKey",
		reflect.TypeFor[helpdesk.ReplyFile]():  "BlobKey",
		reflect.TypeFor[kb.File]():             "BlobKey",
		reflect.TypeFor[kb.ThemeFile]():        "BlobKey",
	}
}

// testBlobRowsComplete searches all types in the methods of both domains' readers and transactions for blob keys: the blobs
// of a noun that NamedBlobs misses would be lost.
func testBlobRowsComplete(t *testing.T, _ Backend) {
	found := map[reflect.Type]string{}
	seen := map[reflect.Type]bool{}
	for _, of := range []reflect.Type{
		reflect.TypeFor[helpdesk.Tx](), reflect.TypeFor[helpdesk.SystemTx](), reflect.TypeFor[kb.Tx](), reflect.TypeFor[kb.Store](),
	} {
		findKeys(of, seen, found)
	}
	declared := reflect.TypeFor[helpdesk.Declarations]()
	for n := range declared.NumField() {
		if rows, plain := declared.Field(n).Type.MethodByName("Rows"); plain {
			findKeys(rows.Type.Out(0), seen, found)
		}
	}
	if want := blobHolders(); !reflect.DeepEqual(found, want) {
		t.Errorf("nouns with keys of blobs: %v, want %v", found, want)
	}
}

// findKeys adds the structs within a type that have a field for a blob key.
func findKeys(of reflect.Type, seen map[reflect.Type]bool, found map[reflect.Type]string) {
	if seen[of] {
		return
	}
	seen[of] = true
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		findKeys(of.Elem(), seen, found)
	case reflect.Interface: // a store, or rows that it returns
		for m := range of.NumMethod() {
			method := of.Method(m).Type
			for n := range method.NumIn() {
				findKeys(method.In(n), seen, found)
			}
			for n := range method.NumOut() {
				findKeys(method.Out(n), seen, found)
			}
		}
	case reflect.Struct:
		for n := range of.NumField() {
			f := of.Field(n)
			if f.Type.Kind() == reflect.String && (strings.Contains(f.Name, "Blob") || strings.HasPrefix(f.Name, "RawKey")) {
				found[of] = f.Name
			}
			findKeys(f.Type, seen, found)
		}
	}
}

// hoard creates a world in which each noun's row refers to a blob of its own.
func hoard(t *testing.T, b Backend) (w *world, keys []string) {
	t.Helper()
	w = newWorld(t, b)
	keys = []string{w.attachment.BlobKey, w.mail.RawKey, w.replyFile.BlobKey}
	if b.KB == nil {
		return w, keys
	}
	l := newLibrary(t, b)
	f := l.newThemeFile("other.css")
	f.BlobKey = "blobs/" + l.mark + "/theme"
	l.kb(t, l.shelf.scope, func(ctx context.Context, tx kb.Tx) error {
		return tx.ThemeFiles().Insert(ctx, &f)
	})
	return w, append(keys, l.shelf.file.BlobKey, f.BlobKey) // the file of the site and a file of the theme share a key
}

func testNamedBlobs(t *testing.T, b Backend) {
	rows := blobRows(t, b)
	w, keys := hoard(t, b)
	named := func(keys ...string) []string {
		got, err := rows.NamedBlobs(t.Context(), keys)
		ok(t, err)
		slices.Sort(got)
		return got
	}
	slices.Sort(keys)
	asked := append([]string{"", "none", "accounts/1/' OR 1=1 --", w.attachment.BlobKey + "x", strings.ToUpper(keys[0])}, keys...)
	for n := range 600 {
		asked = append(asked, fmt.Sprint("none/", n))
	}
	same(t, "named", keys, named(asked...))
	same(t, "named of none", []string{}, named())
	same(t, "named of others", []string{}, named("none"))
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.DeleteConversations(ctx, []int64{w.conversation.ID})
	})
	gone := []string{w.attachment.BlobKey, w.mail.RawKey}
	left := slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return slices.Contains(gone, k) })
	same(t, "named when a conversation is gone", left, named(asked...))
}

func testListNamedBlobs(t *testing.T, b Backend) {
	rows := blobRows(t, b)
	_, keys := hoard(t, b)
	for _, size := range []int{1, 3, 100} {
		var got []string
		last := ""
		for {
			page, err := rows.ListNamedBlobs(t.Context(), last, size)
			ok(t, err)
			for _, key := range page {
				if key <= last {
					t.Fatalf("%q comes after %q", key, last)
				}
				last = key
				if slices.Contains(keys, key) {
					got = append(got, key)
				}
			}
			if len(page) < size {
				break
			}
		}
		want := slices.Sorted(slices.Values(keys))
		same(t, fmt.Sprint("keys, ", size, " at a time"), want, got)
	}
	page, err := rows.ListNamedBlobs(t.Context(), "", 0)
	ok(t, err)
	same(t, "none", 0, len(page))
}

func testMarks(t *testing.T, b Backend) {
	marks, has := b.Store.(storage.Marks)
	if !has {
		lacks(t, "the store keeps no mark")
	}
	is := func(want string) {
		t.Helper()
		got, err := marks.Mark(t.Context())
		ok(t, err)
		same(t, "mark", want, got)
	}
	is("")
	fails(t, "replacing a mark that is not there", marks.SetMark(t.Context(), "other", "one"), fault.Conflict)
	ok(t, marks.SetMark(t.Context(), "", "one"))
	is("one")
	fails(t, "a second first mark", marks.SetMark(t.Context(), "", "two"), fault.Conflict)
	fails(t, "replacing another", marks.SetMark(t.Context(), "two", "three"), fault.Conflict)
	is("one")
	ok(t, marks.SetMark(t.Context(), "one", "two"))
	is("two")
}
