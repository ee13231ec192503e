package backup_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/backup"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
)

var created = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// content is the content of an archive.
type content struct {
	Info     backup.Info
	Database string
	Files    []backup.File
	Blobs    map[string]string
	Missing  []string
}

// sink returns a sink that stores everything in memory.
func (c *content) sink() backup.Sink {
	return backup.Sink{
		Info: func(i backup.Info) error { c.Info = i; return nil },
		Database: func(r io.Reader, _ int64) error {
			text, err := io.ReadAll(r)
			c.Database = string(text)
			return err
		},
		File: func(f backup.File) error { c.Files = append(c.Files, f); return nil },
		Blob: func(key string, r io.Reader, size int64) error {
			text, err := io.ReadAll(r)
			if int64(len(text)) != size {
				return fmt.Errorf("%s has %d bytes, not %d", key, len(text), size)
			}
			if c.Blobs == nil {
				c.Blobs = map[string]string{}
			}
			c.Blobs[key] = string(text)
			return err
		},
		Missing: func(key string) error { c.Missing = append(c.Missing, key); return nil },
	}
}

func keys(of ...string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, key := range of {
			if !yield(key, nil) {
				return
			}
		}
	}
}

// write returns an archive of a content.
func write(t testing.TB, c content) []byte {
	t.Helper()
	src := backup.Source{Info: c.Info, Files: c.Files, Blobs: memblob.New()}
	if c.Database != "" {
		src.Database = filepath.Join(t.TempDir(), "copy")
		if err := os.WriteFile(src.Database, []byte(c.Database), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	named := slices.Clone(c.Missing)
	for key, text := range c.Blobs {
		if _, err := src.Blobs.Put(t.Context(), key, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		named = append(named, key)
	}
	slices.Sort(named)
	src.Keys = keys(named...)
	var out bytes.Buffer
	if _, err := backup.Write(t.Context(), &out, src); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// some returns a content with an entry of each kind.
func some() content {
	long := "accounts/1/" + strings.Repeat("a-long-name/", 30) + "x"
	return content{
		Info:     backup.Info{Format: 1, Program: "v1", Created: created, Database: "sqlite", Schema: "0110", Mark: "m", Settings: map[string]string{"A": "b"}},
		Database: strings.Repeat("rows", 10_000),
		Files:    []backup.File{{Name: "results/1-2.json", Content: []byte("[]")}, {Name: "secret.key", Content: []byte("key")}},
		Blobs:    map[string]string{"accounts/1/a": "A", "accounts/1/a/b": "", "accounts/1/c": strings.Repeat("c", 100_000), long: "long"},
		Missing:  []string{"accounts/1/b"},
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	many := content{Info: backup.Info{Format: 1, Created: created}, Blobs: map[string]string{}}
	for i := range 3500 {
		many.Blobs[fmt.Sprintf("accounts/1/%05d", i)] = fmt.Sprint(i)
	}
	for name, want := range map[string]content{
		"a bit of everything": some(), "nothing": {Info: backup.Info{Format: 1, Created: created}}, "many": many,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			archive := write(t, want)
			var got content
			totals, err := backup.Read(t.Context(), bytes.NewReader(archive), got.sink())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if totals.Blobs != int64(len(want.Blobs)) || totals.Missing != int64(len(want.Missing)) {
				t.Errorf("%+v", totals)
			}
			if again, err := backup.Read(t.Context(), bytes.NewReader(archive), backup.Sink{}); err != nil || again != totals {
				t.Errorf("without a sink: %+v %v", again, err)
			}
		})
	}
}

// Every truncation is detected, and every changed byte that affects what is read: some changes mean the same to the decoder.
func TestDamage(t *testing.T) {
	t.Parallel()
	want := content{Info: some().Info, Files: some().Files, Blobs: map[string]string{"accounts/1/a": "text", "accounts/1/b": ""}}
	archive := write(t, want)
	same := 0
	check := func(what string, damaged []byte) {
		t.Helper()
		var got content
		_, err := backup.Read(t.Context(), bytes.NewReader(damaged), got.sink())
		if err == nil && strings.HasPrefix(what, "bit") && cmp.Equal(want, got) {
			same++
			return
		}
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Code != backup.CodeDamaged && f.Code != backup.CodeNewer {
			t.Errorf("%s: %v", what, err)
		}
	}
	for n := range archive {
		check(fmt.Sprintf("cut after %d bytes", n), archive[:n])
		for _, bit := range []byte{1, 0x80} {
			changed := bytes.Clone(archive)
			changed[n] ^= bit
			check(fmt.Sprintf("bit %#x of byte %d", bit, n), changed)
		}
	}
	if same > 20 {
		t.Errorf("%d changes were not noticed", same)
	}
	check("something behind it", append(bytes.Clone(archive), "more"...))
	check("twice", append(bytes.Clone(archive), archive...))
	check("nothing", nil)
	check("text", []byte("no archive at all"))
}

// entry is an entry of a hand-made archive.
type entry struct {
	header tar.Header
	text   string
}

// pack creates an archive of entries; with sums it adds correct sums and a correct end.
func pack(t testing.TB, sums bool, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	packed, err := zstd.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(packed)
	put := func(h tar.Header, text string) {
		h.Size = int64(len(text))
		if h.Typeflag != tar.TypeReg {
			h.Size = 0
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := io.WriteString(w, text); err != nil {
				t.Fatal(err)
			}
		}
	}
	var lines strings.Builder
	bytesIn, blobs := 0, 0
	for _, e := range entries {
		put(e.header, e.text)
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256([]byte(e.text)), e.header.Name)
		bytesIn += len(e.text)
		if strings.HasPrefix(e.header.Name, "blobs/") {
			blobs++
		}
	}
	if sums {
		put(file("sums/000001", "").header, lines.String())
		put(file("end.json", "").header, fmt.Sprintf(`{"entries":%d,"bytes":%d,"blobs":%d,"sums":"%x"}`, len(entries), bytesIn, blobs, sha256.Sum256([]byte(lines.String()))))
	}
	if err := errors.Join(w.Close(), packed.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func file(name, text string) entry {
	return entry{tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600}, text}
}

// Malicious entries are refused even when the sums are correct.
func TestHostile(t *testing.T) {
	t.Parallel()
	info := file("helpwright.json", `{"format":1}`)
	for name, test := range map[string]struct {
		entries []entry
		sums    bool
		code    string
	}{
		"honest":                 {entries: []entry{info, file("blobs/accounts/1/a", "a"), file("blobs/accounts/1/b", "b")}, sums: true},
		"without an end":         {entries: []entry{info}, code: backup.CodeDamaged},
		"without its info":       {entries: []entry{file("blobs/accounts/1/a", "a")}, sums: true, code: backup.CodeDamaged},
		"nothing":                {sums: true, code: backup.CodeDamaged},
		"a later format":         {entries: []entry{file("helpwright.json", `{"format":2}`)}, sums: true, code: backup.CodeNewer},
		"no format":              {entries: []entry{file("helpwright.json", `{}`)}, sums: true, code: backup.CodeDamaged},
		"no JSON":                {entries: []entry{file("helpwright.json", `{`)}, sums: true, code: backup.CodeDamaged},
		"a large info":           {entries: []entry{file("helpwright.json", `{"format":1,"program":"`+strings.Repeat("x", 1<<20)+`"}`)}, sums: true, code: backup.CodeDamaged},
		"twice the same blob":    {entries: []entry{info, file("blobs/accounts/1/a", "a"), file("blobs/accounts/1/a", "a")}, sums: true, code: backup.CodeDamaged},
		"there and missing":      {entries: []entry{info, file("blobs/accounts/1/a", "a"), file("missing/accounts/1/a", "")}, sums: true, code: backup.CodeDamaged},
		"missing with a content": {entries: []entry{info, file("missing/accounts/1/a", "a")}, sums: true, code: backup.CodeDamaged},
		"out of order":           {entries: []entry{info, file("blobs/accounts/1/b", "a"), file("blobs/accounts/1/a", "a")}, sums: true, code: backup.CodeDamaged},
		"a database after blobs": {entries: []entry{info, file("blobs/accounts/1/b", "a"), file("database.sqlite", "a")}, sums: true, code: backup.CodeDamaged},
		"two databases":          {entries: []entry{info, file("database.sqlite", "a"), file("database.sqlite", "a")}, sums: true, code: backup.CodeDamaged},
		"two infos":              {entries: []entry{info, info}, sums: true, code: backup.CodeDamaged},
		"a path upwards":         {entries: []entry{info, file("blobs/../../etc/passwd", "a")}, sums: true, code: backup.CodeDamaged},
		"a file upwards":         {entries: []entry{info, file("data/../x", "a")}, sums: true, code: backup.CodeDamaged},
		"a hidden file":          {entries: []entry{info, file("data/.bashrc", "a")}, sums: true, code: backup.CodeDamaged},
		"a deep file":            {entries: []entry{info, file("data/a/b/c", "a")}, sums: true, code: backup.CodeDamaged},
		"an absolute path":       {entries: []entry{info, file("/etc/passwd", "a")}, sums: true, code: backup.CodeDamaged},
		"an unknown file":        {entries: []entry{info, file("config.json", "a")}, sums: true, code: backup.CodeDamaged},
		"a large file":           {entries: []entry{info, file("data/secret.key", strings.Repeat("k", 1<<20+1))}, sums: true, code: backup.CodeDamaged},
		"a symbolic link":        {entries: []entry{info, {tar.Header{Typeflag: tar.TypeSymlink, Name: "blobs/accounts/1/a", Linkname: "/etc"}, ""}}, sums: true, code: backup.CodeDamaged},
		"a link":                 {entries: []entry{info, {tar.Header{Typeflag: tar.TypeLink, Name: "blobs/accounts/1/a", Linkname: "/etc/passwd"}, ""}}, sums: true, code: backup.CodeDamaged},
		"a folder":               {entries: []entry{info, {tar.Header{Typeflag: tar.TypeDir, Name: "blobs/accounts/"}, ""}}, sums: true, code: backup.CodeDamaged},
		"a device":               {entries: []entry{info, {tar.Header{Typeflag: tar.TypeChar, Name: "blobs/accounts/1/a"}, ""}}, sums: true, code: backup.CodeDamaged},
		"other records":          {entries: []entry{info, {tar.Header{Typeflag: tar.TypeReg, Name: "blobs/accounts/1/a", PAXRecords: map[string]string{"SCHILY.xattr.user.x": "y"}}, ""}}, sums: true, code: backup.CodeDamaged},
		"a global header":        {entries: []entry{info, {tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "g", PAXRecords: map[string]string{"path": "y"}}, ""}}, sums: true, code: backup.CodeDamaged},
		"GNU's format":           {entries: []entry{info, {tar.Header{Typeflag: tar.TypeReg, Name: "blobs/accounts/1/a", Format: tar.FormatGNU}, ""}}, sums: true, code: backup.CodeDamaged},
		"a name too long":        {entries: []entry{info, file("blobs/"+strings.Repeat("x", 601), "")}, sums: true, code: backup.CodeDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := backup.Read(t.Context(), bytes.NewReader(pack(t, test.sums, test.entries...)), new(content).sink())
			f, ok := errors.AsType[*fault.Error](err)
			if ok != (test.code != "") || ok && f.Code != test.code {
				t.Errorf("%v, want %q", err, test.code)
			}
		})
	}
}

// holes returns an archive with a sparse blob that claims 1 PB but has no data.
func holes(t testing.TB) []byte {
	t.Helper()
	archive := pack(t, false, file("helpwright.json", `{"format":1}`), entry{tar.Header{
		Typeflag: tar.TypeReg, Name: "blobs/accounts/1/a", PAXRecords: map[string]string{"XNU.sparse.major": "1", "XNU.sparse.minor": "0", "XNU.sparse.realsize": "1000000000000000"},
	}, "0\n" + strings.Repeat("\x00", 510)})
	plain, err := zstd.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	text, err := io.ReadAll(plain)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	packed, err := zstd.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := packed.Write(bytes.ReplaceAll(text, []byte("XNU.sparse"), []byte("GNU.sparse"))); err != nil { // Go's writer cannot write it
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestHoles(t *testing.T) {
	t.Parallel()
	_, err := backup.Read(t.Context(), bytes.NewReader(holes(t)), backup.Sink{})
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Code != backup.CodeDamaged || !strings.Contains(err.Error(), "plain file") {
		t.Errorf("%v", err)
	}
}

// failing fails after some bytes, like a full disk.
type failing struct {
	left int
	err  error
}

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, f.err
	}
	return len(p), nil
}

// broken is a store with a blob that cannot be read, or is shorter than declared.
type broken struct {
	storage.Blobs
	err   error
	short bool
}

func (b broken) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	r, err := b.Blobs.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	if b.short {
		return io.NopCloser(strings.NewReader("x")), nil
	}
	return io.NopCloser(io.MultiReader(io.LimitReader(r, 1), &failingReader{b.err})), nil
}

type failingReader struct{ err error }

func (f *failingReader) Read([]byte) (int, error) { return 0, f.err }

func TestWriteErrors(t *testing.T) {
	t.Parallel()
	b := memblob.New()
	if _, err := b.Put(t.Context(), "accounts/1/a", strings.NewReader(strings.Repeat("text", 100))); err != nil {
		t.Fatal(err)
	}
	wrong := errors.New("wrong")
	ended, end := context.WithCancel(t.Context())
	end()
	for name, test := range map[string]struct {
		ctx context.Context //nolint:containedctx // it is for one test
		w   io.Writer
		src backup.Source
		is  error
	}{
		"a full disk":          {w: &failing{left: 10, err: wrong}, src: backup.Source{Blobs: b, Keys: keys("accounts/1/a")}, is: wrong},
		"a full disk at last":  {w: &failing{left: 300, err: wrong}, src: backup.Source{Blobs: b, Keys: keys("accounts/1/a")}, is: wrong},
		"an unreadable blob":   {w: io.Discard, src: backup.Source{Blobs: broken{Blobs: b, err: wrong}, Keys: keys("accounts/1/a")}, is: wrong},
		"a blob that shrinks":  {w: io.Discard, src: backup.Source{Blobs: broken{Blobs: b, short: true}, Keys: keys("accounts/1/a")}, is: &fault.Error{Kind: fault.Unavailable}},
		"no list":              {w: io.Discard, src: backup.Source{Blobs: b, Keys: func(yield func(string, error) bool) { yield("", wrong) }}, is: wrong},
		"a key that is none":   {w: io.Discard, src: backup.Source{Blobs: b, Keys: keys("../x")}, is: &fault.Error{}},
		"a name that is none":  {w: io.Discard, src: backup.Source{Blobs: b, Files: []backup.File{{Name: "../x"}}}, is: &fault.Error{Kind: fault.Invalid}},
		"a database not there": {w: io.Discard, src: backup.Source{Blobs: b, Database: "/nowhere/at/all"}, is: os.ErrNotExist},
		"interrupted":          {ctx: ended, w: io.Discard, src: backup.Source{Blobs: b, Keys: keys("accounts/1/a")}, is: context.Canceled},
		"no blobs":             {w: io.Discard, is: &fault.Error{Kind: fault.Invalid}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := test.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			if _, err := backup.Write(ctx, test.w, test.src); !errors.Is(err, test.is) {
				t.Errorf("%v, want %v", err, test.is)
			}
		})
	}
}

// Errors of the archive's source do not count as damage.
func TestReadErrors(t *testing.T) {
	t.Parallel()
	archive, wrong := write(t, some()), errors.New("wrong")
	for _, cut := range []int{0, 1, 100, len(archive) - 1} {
		r := io.MultiReader(bytes.NewReader(archive[:cut]), &failingReader{wrong})
		if _, err := backup.Read(t.Context(), r, backup.Sink{}); !errors.Is(err, wrong) {
			t.Errorf("after %d bytes: %v", cut, err)
		}
	}
	refuse := func() error { return wrong }
	for name, sink := range map[string]backup.Sink{
		"info":     {Info: func(backup.Info) error { return refuse() }},
		"database": {Database: func(io.Reader, int64) error { return refuse() }},
		"file":     {File: func(backup.File) error { return refuse() }},
		"blob":     {Blob: func(string, io.Reader, int64) error { return refuse() }},
		"missing":  {Missing: func(string) error { return refuse() }},
	} {
		if _, err := backup.Read(t.Context(), bytes.NewReader(archive), sink); !errors.Is(err, wrong) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := backup.Read(ended, bytes.NewReader(archive), backup.Sink{}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
