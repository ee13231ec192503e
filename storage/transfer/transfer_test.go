package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/transfer"
)

// thing is a row, and part the part that takes things.
type thing struct {
	ID     int64
	Parent int64
	Name   string
	Key    string
}

// ids are an IDMap in memory.
type ids struct {
	noted map[string]map[int64]int64
	rows  []thing
}

func (m *ids) NewIDs(_ context.Context, noun string, old []int64) (map[int64]int64, error) {
	found := map[int64]int64{}
	for _, id := range old {
		if to, ok := m.noted[noun][id]; ok {
			found[id] = to
		}
	}
	return found, nil
}

func (m *ids) SaveNewIDs(_ context.Context, noun string, some map[int64]int64) error {
	if m.noted[noun] == nil {
		m.noted[noun] = map[int64]int64{}
	}
	for id := range some {
		if _, twice := m.noted[noun][id]; twice {
			return fault.New(fault.Conflict, "twice")
		}
	}
	maps.Copy(m.noted[noun], some)
	return nil
}

func (m *ids) ForgetNewIDs(context.Context, int) (int, error) { return 0, nil }

func things() *transfer.Rows[*ids, thing] {
	return &transfer.Rows[*ids, thing]{
		Noun: "things", File: func(t *thing) *string { return &t.Key },
		Key: func(_ *ids, _ *thing, name string) string { return "to/" + name },
		Walk: func(v *transfer.Visitor, t *thing) {
			v.Own("thing", &t.ID)
			v.To("thing", &t.Parent)
		},
		Insert: func(_ context.Context, m *ids, rows []*thing) error {
			for _, t := range rows {
				t.ID = int64(len(m.rows) + 1000)
				m.rows = append(m.rows, *t)
			}
			return nil
		},
	}
}

type part struct{ *ids }

func (p part) Takes(noun string) bool { return noun == "things" }
func (p part) Check(c *transfer.Chunk, seen *transfer.Seen) error {
	return things().Check(c, seen)
}

func (p part) Files(ctx context.Context, c *transfer.Chunk) (map[string]string, bool, error) {
	done, err := transfer.Taken(ctx, p.ids, c)
	if done || err != nil {
		return nil, done, err
	}
	files, err := things().Files(ctx, p.ids, c)
	return files, false, err
}

func (p part) Take(ctx context.Context, c *transfer.Chunk) error { return things().Take(ctx, p.ids, c) }

func newPart() part { return part{&ids{noted: map[string]map[int64]int64{}}} }

// write writes an archive of n things, each with a file; the parent of the third file's is not there any more.
func write(t testing.TB, n int, w func(cfg transfer.WriterConfig) (*transfer.Writer, error)) {
	t.Helper()
	blobs := memblob.New()
	to, err := w(transfer.WriterConfig{Blobs: blobs, Manifest: transfer.Manifest{Account: 7, Name: "A"}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		row := thing{ID: int64(i + 1), Name: strings.Repeat("x", i%50), Key: fmt.Sprintf("from/%d", i)}
		if i >= transfer.MaxRows {
			row.Parent = 1
		}
		if i != 2 {
			if _, err := blobs.Put(t.Context(), row.Key, strings.NewReader(fmt.Sprint("content ", i))); err != nil {
				t.Fatal(err)
			}
		}
		if err := things().Write(t.Context(), to, []thing{row}); err != nil {
			t.Fatal(err)
		}
	}
	to.Note("something is to be set again")
	if err := to.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func archive(t testing.TB, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	write(t, n, func(cfg transfer.WriterConfig) (*transfer.Writer, error) { return transfer.NewWriter(&b, cfg) })
	return b.Bytes()
}

func check(t testing.TB, archive []byte) error {
	t.Helper()
	r, err := transfer.NewReader(bytes.NewReader(archive))
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	_, err = transfer.Check(t.Context(), r, []transfer.Part{newPart()}, func(transfer.Progress) {})
	return err
}

// A file and a folder say the same, and arrive.
func TestArchive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(t.TempDir(), "a.tar.zst")
	if err := os.WriteFile(file, archive(t, 1203), 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, 1203, func(cfg transfer.WriterConfig) (*transfer.Writer, error) { return transfer.NewFolderWriter(dir, cfg) })
	for _, path := range []string{file, dir} {
		open := func() *transfer.Reader {
			r, err := transfer.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = r.Close() })
			return r
		}
		to, p := memblob.New(), newPart()
		r := open()
		found, err := transfer.Check(t.Context(), r, []transfer.Part{p}, func(transfer.Progress) {})
		if err != nil || found.Rows != 1203 || r.End().Missing != 1 || len(r.End().Notes) != 1 || r.Manifest().Account != 7 {
			t.Fatalf("%s: %+v %+v %v", path, found, r.End(), err)
		}
		for n, known := range []int64{0, 1203} {
			done, err := transfer.Apply(t.Context(), open(), []transfer.Part{p}, to, func(transfer.Progress) {})
			if err != nil || done.Rows != 1203 || done.Known != known || len(p.rows) != 1203 {
				t.Fatalf("%s, time %d: %+v %v", path, n, done, err)
			}
		}
		last := p.rows[1202]
		if last.Parent != 1000 || last.Name != strings.Repeat("x", 1202%50) {
			t.Errorf("%+v", last)
		}
		content, err := to.Get(t.Context(), last.Key)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(content); err != nil || string(text) != "content 1202" {
			t.Errorf("%q %v", text, err)
		}
		if _, err := to.Get(t.Context(), p.rows[2].Key); !fault.Is(err, fault.NotFound) {
			t.Errorf("the file that was missing: %v", err)
		}
	}
}

// An archive that is cut anywhere, or of which a byte is another one, is refused.
func TestDamagedArchive(t *testing.T) {
	t.Parallel()
	whole := archive(t, 12)
	if err := check(t, whole); err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(whole); at += 31 {
		if err := check(t, whole[:at]); err == nil {
			t.Errorf("cut at %d of %d, it is taken", at, len(whole))
		}
		changed := bytes.Clone(whole)
		changed[at] ^= 0x55
		if err := check(t, changed); err == nil && at > 4 {
			t.Errorf("changed at %d of %d, it is taken", at, len(whole))
		}
	}
	if err := check(t, append(bytes.Clone(whole), whole...)); err == nil {
		t.Error("twice, it is taken")
	}
}

// What a folder says is checked as what a file says: a byte of each of its files is changed.
func TestDamagedFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, 3, func(cfg transfer.WriterConfig) (*transfer.Writer, error) { return transfer.NewFolderWriter(dir, cfg) })
	try := func() error {
		r, err := transfer.Open(dir)
		if err != nil {
			return err
		}
		defer func() { _ = r.Close() }()
		_, err = transfer.Check(t.Context(), r, []transfer.Part{newPart()}, func(transfer.Progress) {})
		return err
	}
	if err := try(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(files) != 4 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for what, damage := range map[string]func() error{
			"changed": func() error { return os.WriteFile(file, append([]byte("y"), text...), 0o600) },
			"gone":    func() error { return os.Remove(file) },
			"a link": func() error {
				return errors.Join(os.Remove(file), os.WriteFile(dir+".copy", text, 0o600), os.Symlink(dir+".copy", file))
			},
		} {
			if err := damage(); err != nil {
				t.Fatal(err)
			}
			if err := try(); err == nil {
				t.Errorf("%s is %s, and the folder is taken", file, what)
			}
			_ = os.Remove(file)
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// rewritten is an archive of which something was changed by who knows how archives are made.
func rewritten(t *testing.T, rows string) error {
	t.Helper()
	var b bytes.Buffer
	w, err := transfer.NewWriter(&b, transfer.WriterConfig{Blobs: memblob.New(), Manifest: transfer.Manifest{Account: 7}})
	if err != nil {
		t.Fatal(err)
	}
	noun, lines, _ := strings.Cut(rows, ":")
	for line := range strings.Lines(lines) {
		if err := w.Row(t.Context(), noun, 0, raw(strings.TrimSpace(line)), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return check(t, b.Bytes())
}

type raw string

func (r raw) MarshalJSON() ([]byte, error) { return []byte(r), nil }

// What is wrong with a row is told with its file and line.
func TestWrongRows(t *testing.T) {
	t.Parallel()
	for rows, want := range map[string]string{
		"ufos:{}":                                    `"ufos"`,
		`things:{"ID":1}`:                            "",
		"things:{\"ID\":1}\n{\"ID\":1}":              "00000001-things.jsonl line 2 has the id 1 of another thing",
		`things:{"ID":1,"Colour":"red"}`:             `unknown field "Colour"`,
		`things:{"Name":"x"}`:                        "line 1 has a thing without an id",
		"things:{\"ID\":2}\n{\"ID\":3,\"Parent\":9}": "line 2 refers to the thing 9, which is not there",
		`things:{"ID":1,"Key":"00000002.blob"}`:      "lacks the file",
		`things:{"ID":1,"Key":"../../x"}`:            "names a file",
		`things:{"ID":"1"}`:                          "cannot be read",
	} {
		err := rewritten(t, rows)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", rows, err, want)
		}
	}
}

func TestNewerArchive(t *testing.T) {
	t.Parallel()
	plain, err := zstd.NewReader(bytes.NewReader(archive(t, 1)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(plain)
	if err != nil {
		t.Fatal(err)
	}
	packed, _ := zstd.NewWriter(nil)
	_, err = transfer.NewReader(bytes.NewReader(packed.EncodeAll(bytes.Replace(text, []byte(`"version": 1`), []byte(`"version": 2`), 1), nil)))
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Code != transfer.CodeNewer || !strings.Contains(f.Message, "later release") {
		t.Errorf("%v", err)
	}
}

// Secrets open with the passphrase, at their place, and nowhere else.
func TestSecrets(t *testing.T) {
	t.Parallel()
	if _, err := transfer.NewSecrets("too short"); !fault.Is(err, fault.Invalid) {
		t.Errorf("a short passphrase: %v", err)
	}
	secrets, err := transfer.NewSecrets("correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := secrets.Seal([]byte("x"), "mailbox/1/0")
	if err != nil {
		t.Fatal(err)
	}
	w, err := transfer.NewWriter(io.Discard, transfer.WriterConfig{Blobs: memblob.New(), Secrets: secrets, Manifest: transfer.Manifest{Account: 7}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := transfer.OpenSecrets(w.Manifest(), "correct horse staple"); !fault.Is(err, fault.Invalid) {
		t.Errorf("another passphrase: %v", err)
	}
	opened, err := transfer.OpenSecrets(w.Manifest(), "correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := opened.Open(sealed, "mailbox/1/0"); err != nil || string(got) != "x" {
		t.Errorf("%q %v", got, err)
	}
	if _, err := opened.Open(sealed, "mailbox/2/0"); err == nil {
		t.Error("a secret opens at another place")
	}
	if none, err := transfer.OpenSecrets(transfer.Manifest{}, "correct horse battery"); none != nil || err != nil {
		t.Errorf("%v %v", none, err)
	}
}

// FuzzReader gives a reader anything, packed or to be packed.
func FuzzReader(f *testing.F) {
	whole := archive(f, 5)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	plain, err := zstd.NewReader(bytes.NewReader(whole))
	if err != nil {
		f.Fatal(err)
	}
	text, err := io.ReadAll(plain)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		packed, _ := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		for _, archive := range [][]byte{text, packed.EncodeAll(text, nil)} {
			_ = check(t, archive)
		}
		_ = packed.Close()
	})
}

var _ storage.IDMap = (*ids)(nil)
