package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Blobs tests a blob store. open returns a new, empty store and closes it with the cleanup of its t. Blobs calls open once
// for each test.
func Blobs(t *testing.T, open func(t *testing.T) storage.Blobs) {
	t.Helper()
	for name, test := range map[string]func(t *testing.T, b storage.Blobs){
		"PutGet":       testPutGet,
		"Missing":      testMissingBlob,
		"Keys":         testBlobNames,
		"Range":        testRange,
		"Replace":      testReplace,
		"FailedReader": testFailedReader,
		"Delete":       testDeleteBlob,
		"List":         testListBlobs,
		"ListPages":    testListPages,
		"Walk":         testWalkBlobs,
		"WalkRemoving": testWalkRemoving,
		"Tidy":         testTidyBlobs,
		"Concurrent":   testConcurrentPuts,
		"Cancelled":    testCancelledBlobs,
		"Large":        testLargeBlob,
		"Below":        testBlobBelowBlob,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

func put(t *testing.T, b storage.Blobs, key, content string) {
	t.Helper()
	n, err := b.Put(t.Context(), key, strings.NewReader(content))
	ok(t, err)
	same(t, "bytes written", int64(len(content)), n)
}

func content1(t *testing.T, r io.ReadCloser, err error) string {
	t.Helper()
	ok(t, err)
	defer r.Close()
	data, err := io.ReadAll(r)
	ok(t, err)
	return string(data)
}

func get(t *testing.T, b storage.Blobs, key string) string {
	t.Helper()
	r, err := b.Get(t.Context(), key)
	return content1(t, r, err)
}

func testPutGet(t *testing.T, b storage.Blobs) {
	for key, content := range map[string]string{
		"a": "x", "a.b/c": "", "deep/er/and/deep/er/1.eml": "line\r\n", "z_-.9/x..y": string([]byte{0, 255, 10, 13}),
	} {
		start := time.Now().Add(-2 * time.Second)
		put(t, b, key, content)
		same(t, key, content, get(t, b, key))
		info, err := b.Stat(t.Context(), key)
		ok(t, err)
		if info.Key != key || info.Size != int64(len(content)) || info.Modified.Before(start) || info.Modified.After(time.Now().Add(2*time.Second)) {
			t.Errorf("%s: %+v", key, info)
		}
	}
}

func testMissingBlob(t *testing.T, b storage.Blobs) {
	put(t, b, "there/is", "x")
	for _, key := range []string{"none", "there", "there/is/more", "there/no"} {
		_, err := b.Get(t.Context(), key)
		fails(t, "Get "+key, err, fault.NotFound)
		_, err = b.GetRange(t.Context(), key, 0, 1)
		fails(t, "GetRange "+key, err, fault.NotFound)
		_, err = b.Stat(t.Context(), key)
		fails(t, "Stat "+key, err, fault.NotFound)
		ok(t, b.Delete(t.Context(), key))
	}
	same(t, "the one that is there", "x", get(t, b, "there/is"))
}

// Keys that could name something outside the store, or the same blob twice, are refused.
func testBlobNames(t *testing.T, b storage.Blobs) {
	for _, key := range []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/./b", "a/..", "A", "ä", "a b", `a\b`, "a\x00b", "a:b", "a*", "%2e%2e", "c:\\x",
		strings.Repeat("a", 513), strings.Repeat("a/", 256) + "a",
	} {
		_, err := b.Put(t.Context(), key, strings.NewReader("x"))
		fails(t, fmt.Sprintf("Put %.20q", key), err, fault.Invalid)
		_, err = b.Get(t.Context(), key)
		fails(t, fmt.Sprintf("Get %.20q", key), err, fault.Invalid)
		_, err = b.GetRange(t.Context(), key, 0, 1)
		fails(t, fmt.Sprintf("GetRange %.20q", key), err, fault.Invalid)
		_, err = b.Stat(t.Context(), key)
		fails(t, fmt.Sprintf("Stat %.20q", key), err, fault.Invalid)
		fails(t, fmt.Sprintf("Delete %.20q", key), b.Delete(t.Context(), key), fault.Invalid)
	}
	for _, key := range []string{strings.Repeat("a", 128) + "/" + strings.Repeat("b", 200), "...", "a..b", "-", "con/nul", strings.TrimSuffix(strings.Repeat("s/", 256), "/")} {
		put(t, b, key, "x")
		same(t, key, "x", get(t, b, key))
	}
}

func testRange(t *testing.T, b storage.Blobs) {
	put(t, b, "k", "0123456789")
	for _, test := range []struct {
		offset, length int64
		want           string
	}{
		{0, -1, "0123456789"}, {0, 0, ""}, {0, 1, "0"}, {3, 4, "3456"}, {9, 1, "9"}, {9, 100, "9"}, {10, 1, ""}, {10, -1, ""}, {11, 1, ""}, {5, -7, "56789"},
		{1 << 40, -1, ""}, {1, 1 << 62, "123456789"},
	} {
		r, err := b.GetRange(t.Context(), "k", test.offset, test.length)
		same(t, fmt.Sprint("range ", test.offset, " ", test.length), test.want, content1(t, r, err))
	}
}

// A reader that was opened before a replacement continues to read the old content.
func testReplace(t *testing.T, b storage.Blobs) {
	put(t, b, "k", strings.Repeat("old", 100000))
	r, err := b.Get(t.Context(), "k")
	ok(t, err)
	put(t, b, "k", "new")
	if got := content1(t, r, nil); got != strings.Repeat("old", 100000) && got != "new" {
		t.Errorf("a reader saw a mixture of %d bytes", len(got))
	}
	same(t, "after Put", "new", get(t, b, "k"))
}

// When r fails, nothing is stored and the old blob stays.
func testFailedReader(t *testing.T, b storage.Blobs) {
	put(t, b, "k", "old")
	for _, key := range []string{"k", "fresh"} {
		_, err := b.Put(t.Context(), key, io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errOnPurpose)))
		if !errors.Is(err, errOnPurpose) {
			t.Errorf("got %v, want the reader's error", err)
		}
	}
	same(t, "old blob", "old", get(t, b, "k"))
	_, err := b.Get(t.Context(), "fresh")
	fails(t, "fresh blob", err, fault.NotFound)
	infos, err := b.List(t.Context(), "", "", 10)
	ok(t, err)
	same(t, "keys", []string{"k"}, keysOf(infos))
}

func testDeleteBlob(t *testing.T, b storage.Blobs) {
	put(t, b, "a/b/c", "1")
	put(t, b, "a/d", "2")
	for range 2 {
		ok(t, b.Delete(t.Context(), "a/b/c"))
		_, err := b.Get(t.Context(), "a/b/c")
		fails(t, "deleted", err, fault.NotFound)
	}
	same(t, "neighbour", "2", get(t, b, "a/d"))
	put(t, b, "a/b/c", "3")
	same(t, "again", "3", get(t, b, "a/b/c"))
}

func keysOf(infos []storage.BlobInfo) []string {
	var keys []string
	for _, i := range infos {
		keys = append(keys, i.Key)
	}
	return keys
}

// Keys are listed in bytewise order, in which "/" is between "." and "0".
func testListBlobs(t *testing.T, b storage.Blobs) {
	keys := []string{"a", "a-b", "a.b", "b/1", "b/1.x", "b/10", "b/2/y/z", "b-c/1", "b.c/1", "b0/1", "b1", "c/d/e", "c/d.e", "raw/1/m1", "raw/1/m2", "raw/10/m1", "raw/2/m1", "raw.x"}
	for _, k := range keys {
		put(t, b, k, k)
	}
	slices.Sort(keys)
	for _, prefix := range []string{"", "a", "b", "b/", "b/1", "c/d", "raw", "raw/", "raw/1", "raw/1/", "raw/1/m", "zzz", "b/2/y/", "c/x", "../", "A"} {
		for _, after := range append([]string{"", "b", "b/", "b/0", "b/1~", "raw/1", "raw/1/", "raw/1/m1", "zzz", "0"}, keys...) {
			for _, limit := range []int{0, 1, 3, 100} {
				var want []string
				for _, k := range keys {
					if len(want) < limit && strings.HasPrefix(k, prefix) && k > after {
						want = append(want, k)
					}
				}
				infos, err := b.List(t.Context(), prefix, after, limit)
				ok(t, err)
				same(t, fmt.Sprintf("List(%q, %q, %d)", prefix, after, limit), want, keysOf(infos))
				for _, i := range infos {
					if i.Size != int64(len(i.Key)) || i.Modified.IsZero() {
						t.Errorf("%+v", i)
					}
				}
				if t.Failed() {
					return
				}
			}
		}
	}
}

func testListPages(t *testing.T, b storage.Blobs) {
	var want []string
	for n := range 60 {
		key := fmt.Sprintf("p/%d/%d.%d", n%7, n%3, n)
		put(t, b, key, "")
		want = append(want, key)
	}
	slices.Sort(want)
	var got []string
	for after := ""; ; {
		infos, err := b.List(t.Context(), "p/", after, 7)
		ok(t, err)
		if len(infos) == 0 {
			break
		}
		got = append(got, keysOf(infos)...)
		after = infos[len(infos)-1].Key
	}
	same(t, "all pages", want, got)
}

// Concurrent writers of one key do not mix their content; writers and deleters of neighbouring keys do not affect each
// other.
func testConcurrentPuts(t *testing.T, b storage.Blobs) {
	var group sync.WaitGroup
	for w := range 8 {
		group.Go(func() {
			body := strings.Repeat(fmt.Sprint(w), 5000)
			for n := range 10 {
				own := fmt.Sprintf("dir/%d/own", w)
				for _, key := range []string{"dir/shared", own} {
					if _, err := b.Put(t.Context(), key, strings.NewReader(body)); err != nil {
						t.Errorf("put: %v", err)
					}
				}
				r, err := b.Get(t.Context(), "dir/shared")
				if err != nil {
					t.Errorf("get: %v", err)
					continue
				}
				data, err := io.ReadAll(r)
				r.Close()
				if err != nil || len(data) != 5000 || len(bytes.Trim(data, string(data[:1]))) != 0 {
					t.Errorf("read a mixture of %d bytes: %v", len(data), err)
				}
				if n%2 == 0 {
					if err := b.Delete(t.Context(), own); err != nil {
						t.Errorf("delete: %v", err)
					}
				}
			}
		})
	}
	group.Wait()
}

func testCancelledBlobs(t *testing.T, b storage.Blobs) {
	put(t, b, "k", "x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.Put(ctx, "fresh", strings.NewReader("x"))
	same(t, "Put", true, errors.Is(err, context.Canceled))
	_, err = b.Get(ctx, "k")
	same(t, "Get", true, errors.Is(err, context.Canceled))
	_, err = b.Get(t.Context(), "fresh")
	fails(t, "what a cancelled Put wrote", err, fault.NotFound)
}

func testLargeBlob(t *testing.T, b storage.Blobs) {
	const size = 20 << 20
	pattern := bytes.Repeat([]byte("0123456789abcdef"), 4096)
	var parts []io.Reader
	for range size / len(pattern) {
		parts = append(parts, bytes.NewReader(pattern))
	}
	n, err := b.Put(t.Context(), "large", io.MultiReader(parts...))
	ok(t, err)
	same(t, "size", int64(size), n)
	r, err := b.GetRange(t.Context(), "large", size-20, 10)
	same(t, "near the end", "cdef012345", content1(t, r, err))
}

// A key may be below another one, but a store may refuse it: neither domain has such keys.
func testBlobBelowBlob(t *testing.T, b storage.Blobs) {
	put(t, b, "c/d", "above")
	if _, err := b.Put(t.Context(), "c/d/e", strings.NewReader("below")); fault.Is(err, fault.Unsupported) {
		same(t, "blobs", []string{"c/d"}, keysOfAll(t, b))
		return
	}
	same(t, "above", "above", get(t, b, "c/d"))
	same(t, "below", "below", get(t, b, "c/d/e"))
	same(t, "blobs", []string{"c/d", "c/d/e"}, keysOfAll(t, b))
	ok(t, b.Delete(t.Context(), "c/d"))
	same(t, "below a removed one", "below", get(t, b, "c/d/e"))
}

func keysOfAll(t *testing.T, b storage.Blobs) []string {
	t.Helper()
	infos, err := b.List(t.Context(), "", "", 100)
	ok(t, err)
	return keysOf(infos)
}

// walked returns the keys that a walk visits, sorted.
func walked(t *testing.T, b storage.Blobs, prefix string) []string {
	t.Helper()
	var keys []string
	ok(t, storage.WalkBlobs(t.Context(), b, prefix, func(found []storage.BlobInfo) error {
		for _, i := range found {
			if i.Size != int64(len(i.Key)) || i.Modified.IsZero() {
				t.Errorf("%+v", i)
			}
		}
		keys = append(keys, keysOf(found)...)
		return nil
	}))
	slices.Sort(keys)
	return keys
}

// A walk visits what a list returns, in any order.
func testWalkBlobs(t *testing.T, b storage.Blobs) {
	keys := []string{"a", "a-b", "b/1", "b/1.x", "b/2/y/z", "b.c/1", "c/d/e", "c/d.e"}
	for n := range 1200 { // more than any batch
		keys = append(keys, fmt.Sprintf("m/%d/%d", n%2, n))
	}
	for _, k := range keys {
		put(t, b, k, k)
	}
	slices.Sort(keys)
	for _, prefix := range []string{"", "a", "b", "b/", "b/1", "c/d", "c/d/", "m/", "m/1", "m/1/", "m/1/11", "zzz", "../", "A", "b//"} {
		want := slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return !strings.HasPrefix(k, prefix) })
		same(t, fmt.Sprintf("walk of %q", prefix), want, walked(t, b, prefix))
	}
	err := storage.WalkBlobs(t.Context(), b, "", func([]storage.BlobInfo) error { return errOnPurpose })
	same(t, "error of fn", true, errors.Is(err, errOnPurpose))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = storage.WalkBlobs(ctx, b, "m/", func([]storage.BlobInfo) error { return nil })
	same(t, "cancelled", true, errors.Is(err, context.Canceled))
}

// fn may delete the blobs it is given during a walk.
func testWalkRemoving(t *testing.T, b storage.Blobs) {
	const n = 1100
	for i := range n {
		key := fmt.Sprintf("w/%d/%d", i%3, i)
		put(t, b, key, key)
	}
	seen := 0
	for range 10 { // a file system may skip some entries while others are deleted
		ok(t, storage.WalkBlobs(t.Context(), b, "w/", func(found []storage.BlobInfo) error {
			for _, i := range found {
				seen++
				ok(t, b.Delete(t.Context(), i.Key))
			}
			return nil
		}))
		if seen >= n {
			break
		}
	}
	same(t, "removed", n, seen)
	same(t, "left", []string{}, walked(t, b, ""))
}

// Tidy removes no blobs.
func testTidyBlobs(t *testing.T, b storage.Blobs) {
	tidier, can := b.(storage.BlobTidier)
	if !can {
		return
	}
	put(t, b, "a/b", "a/b")
	put(t, b, "c", "c")
	for _, dry := range []bool{true, false} {
		n, err := tidier.Tidy(t.Context(), time.Now().Add(time.Hour), dry)
		ok(t, err)
		same(t, "tidied", 0, n)
	}
	same(t, "blobs", []string{"a/b", "c"}, walked(t, b, ""))
}
