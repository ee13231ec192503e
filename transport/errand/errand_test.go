package errand_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/transport/errand"
)

// bench has an office with one kind of work.
type bench struct {
	*testing.T
	vault storage.Vault
	blobs storage.Blobs
	cfg   errand.Config
	gone  atomic.Bool // the account is
}

func newBench(t *testing.T, work errand.Work) *bench {
	t.Helper()
	b := &bench{T: t, vault: memstore.New(), blobs: memblob.New()}
	b.cfg = errand.Config{
		Vault: b.vault, Blobs: b.blobs, Temp: t.TempDir(), Works: map[string]errand.Work{"import": work},
		Accounts: func(context.Context, int64) (bool, error) { return !b.gone.Load(), nil },
	}
	return b
}

func (b *bench) office() *errand.Office {
	b.Helper()
	o, err := errand.New(b.cfg)
	if err != nil {
		b.Fatal(err)
	}
	return o
}

// start runs an office, and returns a function that ends it.
func (b *bench) start(o *errand.Office) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- o.Run(ctx) }()
	return func() {
		b.Helper()
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
	}
}

func (b *bench) begin(o *errand.Office, content string) errand.Errand {
	b.Helper()
	e, err := o.Begin(b.Context(), errand.Order{AccountID: 1, UserID: 2, Kind: "import", Step: "check", File: "export.zip", Content: strings.NewReader(content)})
	if err != nil {
		b.Fatal(err)
	}
	return e
}

func (b *bench) find(o *errand.Office) errand.Errand {
	b.Helper()
	e, err := o.Find(b.Context(), 1, "import")
	if err != nil {
		b.Fatal(err)
	}
	return e
}

// files are the names of the files of all errands.
func (b *bench) files() (names []string) {
	b.Helper()
	found, err := b.blobs.List(b.Context(), errand.Prefix, "", 100)
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range found {
		names = append(names, f.Key[strings.LastIndexByte(f.Key, '/')+1:])
	}
	return names
}

// An errand runs, reports, and runs its next step; its file goes when it is spent.
func TestRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(_ context.Context, task *errand.Task) error {
			task.Tell(errand.Progress{Done: 3, Total: 3})
			task.Count("things", 3)
			for i := range 60 {
				task.Note("problem", fmt.Sprint(i))
			}
			if task.Step == "import" {
				task.Spend()
			}
			return nil
		})
		o := b.office()
		defer b.start(o)()
		e := b.begin(o, "x")
		if _, err := o.Begin(t.Context(), errand.Order{AccountID: 1, Kind: "import"}); !fault.Is(err, fault.Conflict) {
			t.Errorf("a second one: %v", err)
		}
		time.Sleep(time.Minute)
		got := b.find(o)
		if got.State != errand.Done || got.Report.N("things") != 3 || len(got.Report.Notes) != 50 || got.Report.Whole != 60 || got.Progress.Total != 3 || got.Size != 1 {
			t.Errorf("%+v", got)
		}
		size, open, err := o.Open(t.Context(), got, errand.ReportFile)
		if err != nil {
			t.Fatal(err)
		}
		r, err := open(0)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil || int64(len(text)) != size || strings.Count(string(text), "problem: ") != 60 {
			t.Errorf("%v: %s", err, text)
		}
		if err := o.Go(t.Context(), e, "import"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if got := b.find(o); got.State != errand.Done || got.Report.Step != "import" {
			t.Errorf("%+v", got)
		}
		if diff := cmp.Diff([]string{"report"}, b.files()); diff != "" {
			t.Error(diff)
		}
		if err := o.Delete(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if _, err := o.Find(t.Context(), 1, "import"); !fault.Is(err, fault.NotFound) || len(b.files()) > 0 {
			t.Errorf("%v, %v", err, b.files())
		}
	})
}

// An errand that is stopped ends soon, resumes, and is not deleted while it runs.
func TestStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int64
		b := newBench(t, func(ctx context.Context, _ *errand.Task) error {
			if runs.Add(1) > 1 {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		})
		o := b.office()
		stop := b.start(o)
		e := b.begin(o, "x")
		time.Sleep(10 * time.Minute) // far longer than a lease
		if got := b.find(o); got.State != errand.Running || runs.Load() != 1 {
			t.Errorf("%d runs: %+v", runs.Load(), got)
		}
		if err := o.Delete(t.Context(), e); !fault.Is(err, fault.Conflict) {
			t.Errorf("deleted: %v", err)
		}
		if err := o.Go(t.Context(), e, "check"); !fault.Is(err, fault.Conflict) {
			t.Errorf("resumed: %v", err)
		}
		if err := o.Stop(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if got := b.find(o); got.State != errand.Stopped {
			t.Errorf("%+v", got)
		}
		if err := o.Go(t.Context(), e, "check"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if got := b.find(o); got.State != errand.Done {
			t.Errorf("%+v", got)
		}
		stop()
		if err := o.Go(t.Context(), e, "check"); err != nil { // with no server
			t.Fatal(err)
		}
		if err := o.Stop(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		defer b.start(b.office())()
		time.Sleep(time.Minute)
		if got := b.find(o); got.State != errand.Stopped || runs.Load() != 2 {
			t.Errorf("%d runs: %+v", runs.Load(), got)
		}
	})
}

// Whatever ends the work, the state says so, and another server continues what was interrupted.
func TestEnds(t *testing.T) {
	t.Parallel()
	boom := errors.New("secret of the server")
	for name, c := range map[string]struct {
		errs   []error // of the runs
		state  errand.State
		reason string
		tries  int
	}{
		"a fault":          {[]error{fault.New(fault.Invalid, "The file is odd.")}, errand.Failed, "The file is odd.", 1},
		"an error":         {[]error{boom}, errand.Failed, "Something went wrong on the server. Its log has the reason.", 1},
		"an outage":        {[]error{fault.New(fault.Unavailable, "away"), fault.New(fault.OutcomeUnknown, "who knows"), nil}, errand.Done, "", 3},
		"outages all over": {[]error{fault.New(fault.Unavailable, "away")}, errand.Failed, "It was interrupted too often.", 10},
		"a panic":          {nil, errand.Failed, "Something went wrong on the server. Its log has the reason.", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				runs := 0
				b := newBench(t, func(context.Context, *errand.Task) error {
					runs++
					return c.errs[min(runs, len(c.errs))-1]
				})
				o := b.office()
				defer b.start(o)()
				b.begin(o, "x")
				time.Sleep(20 * time.Minute)
				if got := b.find(o); got.State != c.state || got.Reason != c.reason || got.Tries != c.tries {
					t.Errorf("%+v", got)
				}
			})
		})
	}
}

// Of several servers one runs it; another continues when that one ends.
func TestServers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var running, runs atomic.Int64
		var end atomic.Bool
		b := newBench(t, func(ctx context.Context, _ *errand.Task) error {
			runs.Add(1)
			if running.Add(1) > 1 {
				t.Error("two servers run it")
			}
			defer running.Add(-1)
			if end.Load() {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		})
		first, second := b.office(), b.office()
		stop := b.start(first)
		b.begin(first, "x")
		time.Sleep(time.Minute)
		defer b.start(second)()
		time.Sleep(10 * time.Minute)
		if runs.Load() != 1 {
			t.Errorf("%d runs", runs.Load())
		}
		end.Store(true)
		stop()
		time.Sleep(time.Minute)
		if got := b.find(second); got.State != errand.Done || runs.Load() != 2 {
			t.Errorf("%d runs: %+v", runs.Load(), got)
		}
	})
}

// Old errands go, and those of accounts that are gone, with their files.
func TestTidy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after time.Duration
		gone  bool
		kept  bool
	}{
		"a fresh one":       {6 * 24 * time.Hour, false, true},
		"an old one":        {8 * 24 * time.Hour, false, false},
		"of a gone account": {time.Minute, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, func(context.Context, *errand.Task) error { return nil })
				o := b.office()
				stop := b.start(o)
				b.begin(o, "x")
				time.Sleep(c.after)
				b.gone.Store(c.gone)
				time.Sleep(time.Hour) // it tidies up by itself
				stop()
				_, err := o.Find(context.Background(), 1, "import")
				if kept := err == nil; kept != c.kept || (len(b.files()) > 0) != c.kept {
					t.Errorf("%v, %v", err, b.files())
				}
			})
		})
	}
}

// A file that belongs to no errand goes after a while, such as one that could not be removed during a backup.
func TestTidyLeftovers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(context.Context, *errand.Task) error { return nil })
		if _, err := b.blobs.Put(t.Context(), errand.Prefix+"1/left/upload", strings.NewReader("x")); err != nil {
			t.Fatal(err)
		}
		o := b.office()
		for range 2 {
			if err := o.Tidy(t.Context()); err != nil {
				t.Fatal(err)
			}
			if len(b.files()) != 1 {
				t.Error("a file whose errand is about to begin is gone")
			}
		}
		time.Sleep(2 * time.Hour)
		if err := o.Tidy(t.Context()); err != nil || len(b.files()) > 0 {
			t.Errorf("%v: %v", err, b.files())
		}
	})
}

// A file beyond the limit is refused, and not kept.
func TestLargeUpload(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(context.Context, *errand.Task) error { return nil })
	b.cfg.MaxUpload = 10
	o := b.office()
	_, err := o.Begin(t.Context(), errand.Order{AccountID: 1, Kind: "import", Content: strings.NewReader("01234567890")})
	if !fault.Is(err, fault.TooLarge) || len(b.files()) > 0 {
		t.Errorf("%v, %v", err, b.files())
	}
	b.begin(o, "0123456789")
}

// zipped makes an archive. A name that ends in "/" is a folder, one with "->" a link.
func zipped(t *testing.T, entries ...string) string {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		name, content, _ := strings.Cut(e, "=")
		head := &zip.FileHeader{Name: name, Method: zip.Deflate}
		if link, is := strings.CutSuffix(name, "->"); is {
			head.Name = link
			head.SetMode(fs.ModeSymlink | 0o777)
		}
		if locked, is := strings.CutSuffix(name, "!"); is {
			head.Name, head.Flags = locked, 1
		}
		entry, err := w.CreateHeader(head)
		if err == nil && !strings.HasSuffix(head.Name, "/") {
			_, err = io.WriteString(entry, content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// damaged changes a byte of the first entry's content.
func damaged(archive string) string { return archive[:35] + string(archive[35]^0x5a) + archive[36:] }

// An uploaded archive is unpacked within its limits and into its own folder, or refused with the reason.
func TestUnpack(t *testing.T) {
	t.Parallel()
	const wrong = "The ZIP file has a path that leads out of it."
	for name, c := range map[string]struct {
		file, content string
		want          map[string]string
		fault         string
	}{
		"files and folders":    {"a.zip", zipped(t, "a.json=1", "attachments/", "attachments/5/b.png=2", "deep/er/c=3"), map[string]string{"a.json": "1", "attachments/5/b.png": "2", "deep/er/c": "3"}, ""},
		"one folder":           {"a.zip", zipped(t, "export/", "export/a.json=1", "export/b/c=2"), map[string]string{"a.json": "1", "b/c": "2"}, ""},
		"folders in folders":   {"a.zip", zipped(t, "x/y/a=1"), map[string]string{"a": "1"}, ""},
		"attachments alone":    {"a.zip", zipped(t, "attachments/a=1"), map[string]string{"attachments/a": "1"}, ""},
		"from a Mac":           {"a.zip", zipped(t, "a=1", "__MACOSX/._a=2"), map[string]string{"a": "1"}, ""},
		"with its own folder":  {"a.zip", zipped(t, "./", "./a=1"), map[string]string{"a": "1"}, ""},
		"empty":                {"a.zip", zipped(t), map[string]string{}, ""},
		"no archive":           {"mail.mbox", "From x", map[string]string{"mail.mbox": "From x"}, ""},
		"no archive, a path":   {`..\..\mail.mbox`, "From x", map[string]string{"mail.mbox": "From x"}, ""},
		"no archive, no name":  {"..", "x", map[string]string{"upload": "x"}, ""},
		"upwards":              {"a.zip", zipped(t, "../a=1"), nil, wrong},
		"upwards, inside":      {"a.zip", zipped(t, "a/../../b=1"), nil, wrong},
		"absolute":             {"a.zip", zipped(t, "/etc/passwd=1"), nil, wrong},
		"a drive":              {"a.zip", zipped(t, "c:/a=1"), nil, wrong},
		"a backslash":          {"a.zip", zipped(t, `..\a=1`), nil, wrong},
		"a link":               {"a.zip", zipped(t, "a->=/etc/passwd"), nil, "The ZIP file has something else than files and folders, such as a link."},
		"a link to a folder":   {"a.zip", zipped(t, "a->=/tmp", "a/b=1"), nil, "The ZIP file has something else than files and folders, such as a link."},
		"encrypted":            {"a.zip", zipped(t, "a!=1"), nil, "The ZIP file is encrypted. Upload it without a password."},
		"twice":                {"a.zip", zipped(t, "a=1", "a=2"), nil, "The ZIP file has two entries with the same name, or a name that is too long."},
		"a file as folder":     {"a.zip", zipped(t, "a=1", "a/b=2"), nil, "The ZIP file has two entries with the same name, or a name that is too long."},
		"a long name":          {"a.zip", zipped(t, strings.Repeat("a", 300)+"=1"), nil, "The ZIP file has two entries with the same name, or a name that is too long."},
		"too many":             {"a.zip", zipped(t, "1=", "2=", "3=", "4=", "5=", "6="), nil, "The ZIP file has too many files."},
		"too large":            {"a.zip", zipped(t, "a="+strings.Repeat("0", 600), "b="+strings.Repeat("0", 600)), nil, "The ZIP file unpacks to more than the server accepts."},
		"as large as possible": {"a.zip", zipped(t, "a="+strings.Repeat("0", 500), "b="+strings.Repeat("0", 500)), map[string]string{"a": strings.Repeat("0", 500), "b": strings.Repeat("0", 500)}, ""},
		"cut off":              {"a.zip", zipped(t, "a=1")[:40], nil, "The ZIP file is damaged."},
		"damaged":              {"a.zip", damaged(zipped(t, "a=hello hello hello hello")), nil, "The ZIP file is damaged."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, done := map[string]string{}, make(chan error, 1)
			b := newBench(t, func(ctx context.Context, task *errand.Task) error {
				files, err := task.Unpack(ctx)
				if err == nil {
					err = fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
						if err != nil || d.IsDir() {
							return err
						}
						text, err := fs.ReadFile(files, path)
						got[path] = string(text)
						return err
					})
				}
				done <- err
				return err
			})
			b.cfg.MaxUnpacked, b.cfg.MaxEntries = 1000, 5
			o := b.office()
			stop := b.start(o)
			if _, err := o.Begin(t.Context(), errand.Order{AccountID: 1, Kind: "import", File: c.file, Content: strings.NewReader(c.content)}); err != nil {
				t.Fatal(err)
			}
			err := <-done
			stop()
			text := ""
			if f, ok := errors.AsType[*fault.Error](err); ok {
				text = f.Text()
			}
			if text != c.fault || (err != nil) != (c.fault != "") {
				t.Errorf("%v", err)
			}
			if diff := cmp.Diff(c.want, got); c.want != nil && diff != "" {
				t.Error(diff)
			}
			left, err := os.ReadDir(b.cfg.Temp)
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}
