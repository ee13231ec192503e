package blobs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/blobs"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

// marked returns the blobs of a database; the content of each is its key.
func marked(t testing.TB, mark string, keys ...string) *memblob.Blobs {
	t.Helper()
	b := memblob.New()
	for _, key := range keys {
		if _, err := b.Put(t.Context(), key, strings.NewReader(key)); err != nil {
			t.Fatal(err)
		}
	}
	if mark != "" {
		if _, err := b.Put(t.Context(), blobs.MarkKey, strings.NewReader(mark+"\n")); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// textsOf returns the contents of all blobs.
func textsOf(t testing.TB, b storage.Blobs) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, key := range keysOf(t, b) {
		r, err := b.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Close()
		texts[key] = string(text)
	}
	return texts
}

func TestCopy(t *testing.T) {
	t.Parallel()
	files := []string{"accounts/1/a", "accounts/1/b", "accounts/2/c"}
	whole := map[string]string{"accounts/1/a": "accounts/1/a", "accounts/1/b": "accounts/1/b", "accounts/2/c": "accounts/2/c", blobs.MarkKey: "m\n"}
	for name, test := range map[string]struct {
		to    *memblob.Blobs
		since time.Time
		done  blobs.Copied
		err   fault.Kind
	}{
		"new":                {to: memblob.New(), done: blobs.Copied{Looked: 3, Copied: 3, Bytes: 36}},
		"again":              {to: marked(t, "m", files...), done: blobs.Copied{Looked: 3, There: 3}},
		"one more":           {to: marked(t, "m", files[:2]...), done: blobs.Copied{Looked: 3, There: 2, Copied: 1, Bytes: 12}},
		"after a crash":      {to: marked(t, "copying-m", files[1:]...), done: blobs.Copied{Looked: 3, There: 2, Copied: 1, Bytes: 12}},
		"nothing since":      {to: marked(t, "m", files...), since: time.Now().Add(time.Hour), done: blobs.Copied{Looked: 3, There: 3}},
		"since, never all":   {to: marked(t, "copying-m"), since: time.Now(), err: fault.Conflict},
		"since, new":         {to: memblob.New(), since: time.Now(), err: fault.Conflict},
		"another database's": {to: marked(t, "other"), err: fault.Conflict},
		"another copy":       {to: marked(t, "copying-other"), err: fault.Conflict},
		"nobody's files":     {to: marked(t, "", "accounts/9/x"), err: fault.Conflict},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := marked(t, "m", append([]string{"doctor/probe", "helpwright/hold-x"}, files...)...)
			before := textsOf(t, test.to)
			done, err := blobs.Copy(t.Context(), blobs.CopyConfig{From: from, To: test.to, Since: test.since})
			if (err != nil) != (test.err != 0) || err != nil && !fault.Is(err, test.err) {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.done, done); diff != "" {
				t.Error(diff)
			}
			want := whole
			if err != nil {
				want = before
			}
			if diff := cmp.Diff(want, textsOf(t, test.to)); diff != "" {
				t.Error(diff)
			}
		})
	}
	for name, from := range map[string]*memblob.Blobs{"no mark": memblob.New(), "not whole": marked(t, "copying-m")} {
		if _, err := blobs.Copy(t.Context(), blobs.CopyConfig{From: from, To: memblob.New()}); !fault.Is(err, fault.Conflict) {
			t.Errorf("from a store with %s: %v", name, err)
		}
	}
	if _, err := blobs.Copy(t.Context(), blobs.CopyConfig{}); !fault.Is(err, fault.Invalid) {
		t.Errorf("nothing: %v", err)
	}
}

// breaking is a store that fails after some blobs, and truncates the last one.
type breaking struct {
	*memblob.Blobs
	left atomic.Int64
}

func (b *breaking) Put(ctx context.Context, key string, r io.Reader) (int64, error) {
	if strings.HasPrefix(key, blobs.Prefix) && b.left.Add(-1) < 0 {
		_, _ = b.Blobs.Put(ctx, key, io.LimitReader(r, 3)) // like a store without atomic writes
		return 0, errors.New("broken")
	}
	return b.Blobs.Put(ctx, key, r)
}

// An interrupted copy continues where it stopped, and until then nobody can use the target.
func TestCopyBroken(t *testing.T) {
	t.Parallel()
	var keys []string
	for n := range 1200 {
		keys = append(keys, fmt.Sprintf("accounts/1/%d", n))
	}
	from, to, store := memblob.New(), &breaking{Blobs: memblob.New()}, memstore.New()
	tie := newTie(t, blobs.TieConfig{Blobs: from, Marks: store, Rows: rows{}})
	put(t, tie, keys...)
	to.left.Store(500)
	done, err := blobs.Copy(t.Context(), blobs.CopyConfig{From: from, To: to})
	if err == nil || done.Copied != 500 {
		t.Errorf("%+v %v", done, err)
	}
	elsewhere := newTie(t, blobs.TieConfig{Blobs: to, Marks: store, Rows: rows{}})
	if err := elsewhere.Check(t.Context()); codeOf(t, err) != blobs.CodeCopying {
		t.Errorf("what is not whole is used: %v", err)
	}
	if _, err := elsewhere.Put(t.Context(), "accounts/1/x", strings.NewReader("")); !fault.Is(err, fault.Unavailable) {
		t.Errorf("what is not whole is written to: %v", err)
	}
	to.left.Store(1 << 40)
	put(t, tie, "accounts/1/late")
	told := 0
	done, err = blobs.Copy(t.Context(), blobs.CopyConfig{From: from, To: to, Progress: func(blobs.Copied) { told++ }})
	if diff := cmp.Diff(blobs.Copied{Looked: 1201, There: 500, Copied: 701, Bytes: 701 * 4}, done); diff != "" || err != nil || told != 1201 {
		t.Errorf("%v, told %d times\n%s", err, told, diff)
	}
	if diff := cmp.Diff(textsOf(t, from), textsOf(t, to)); diff != "" {
		t.Error(diff)
	}
	if err := elsewhere.Check(t.Context()); err != nil {
		t.Errorf("what is whole is not used: %v", err)
	}
}

// vanishing is a store whose blobs are deleted between listing and reading.
type vanishing struct{ *memblob.Blobs }

func (v vanishing) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if strings.HasSuffix(key, "/gone") {
		return nil, fault.Missing("file", 0)
	}
	return v.Blobs.Get(ctx, key)
}

func TestCopyRemoved(t *testing.T) {
	t.Parallel()
	from, to := vanishing{marked(t, "m", "accounts/1/a", "accounts/1/gone")}, memblob.New()
	done, err := blobs.Copy(t.Context(), blobs.CopyConfig{From: from, To: to})
	if diff := cmp.Diff(blobs.Copied{Looked: 2, Copied: 1, Gone: 1, Bytes: 12}, done); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if diff := cmp.Diff([]string{"accounts/1/a", blobs.MarkKey}, keysOf(t, to)); diff != "" {
		t.Error(diff)
	}
}

// The files move to another store while a server runs: most of them first, and the rest after it has stopped.
func ExampleCopy() {
	ctx := context.Background()
	folder, bucket, store := memblob.New(), memblob.New(), memstore.New()
	server, err := blobs.NewTie(blobs.TieConfig{Blobs: folder, Marks: store, Rows: rows{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = server.Put(ctx, "accounts/1/a", strings.NewReader("first"))
	fmt.Println(blobs.Copy(ctx, blobs.CopyConfig{From: folder, To: bucket}))
	_, _ = server.Put(ctx, "accounts/1/b", strings.NewReader("second"))
	// the server stops
	fmt.Println(blobs.Copy(ctx, blobs.CopyConfig{From: folder, To: bucket}))
	// Output:
	// {1 0 1 0 5} <nil>
	// {2 1 1 0 6} <nil>
}
