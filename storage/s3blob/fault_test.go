package s3blob_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/s3blob"
	"github.com/helpwright/helpwright/storage/testenv"
)

// relay is a proxy in front of an S3 server that can break connections.
type relay struct {
	addr  string
	limit atomic.Int64 // bytes from the server after which a connection is cut; 0: none
	up    atomic.Int64 // bytes to the server, over all connections, after which all are cut; 0: none
	sent  atomic.Int64 // to the server
	dead  atomic.Bool  // cuts all connections, including new ones
	spoil atomic.Bool  // corrupts data sent to the server
	cuts  atomic.Int64
}

func newRelay(t *testing.T, to string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	r := &relay{addr: l.Addr().String()}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go r.serve(client, to)
		}
	}()
	return r
}

func (r *relay) serve(client net.Conn, to string) {
	defer client.Close()
	server, err := net.Dial("tcp", to)
	if err != nil || r.dead.Load() {
		return
	}
	defer server.Close()
	go func() {
		defer client.Close()
		r.copy(server, client, func(p []byte) bool {
			n := int64(len(p))
			if r.spoil.Load() {
				copy(p, bytes.ReplaceAll(p, []byte("true"), []byte("fake")))
			}
			if most := r.up.Load(); most > 0 && r.sent.Add(n) > most {
				r.dead.Store(true)
			}
			return r.dead.Load()
		})
	}()
	passed := int64(0)
	r.copy(client, server, func(p []byte) bool {
		passed += int64(len(p))
		most := r.limit.Load()
		return r.dead.Load() || most > 0 && passed > most
	})
}

// copy forwards data until it is cut.
func (r *relay) copy(to io.Writer, from io.Reader, cut func(p []byte) bool) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && cut(buf[:n]) {
			r.cuts.Add(1)
			return
		}
		if err != nil {
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

func through(t *testing.T) (*relay, *s3blob.Blobs) {
	t.Helper()
	s := testenv.S3(t)
	r := newRelay(t, strings.TrimPrefix(s.Endpoint, "http://"))
	cfg := config(s)
	cfg.Endpoint, cfg.Attempts = "http://"+r.addr, 2
	return r, open(t, cfg)
}

// A server that fails while a blob is read or written is an Unavailable fault, and is used again when it is back.
func TestServerGone(t *testing.T) {
	t.Parallel()
	s := testenv.OwnS3(t)
	cfg := config(s)
	cfg.Attempts = 2
	b := open(t, cfg)
	content := bytes.Repeat([]byte("0123456789abcdef"), 2<<20) // 32 MiB: more than connections hold
	put(t, b, "there", string(content))
	r, err := b.Get(t.Context(), "there")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.CopyN(io.Discard, r, 1000); err != nil {
		t.Fatal(err)
	}
	s.Control(t, "stop")
	if _, err := io.Copy(io.Discard, r); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a blob is read without its server: %v", err)
	}
	for name, err := range map[string]error{
		"Put":    second(b.Put(t.Context(), "fresh", strings.NewReader("x"))),
		"Get":    second(b.Get(t.Context(), "there")),
		"Stat":   second(b.Stat(t.Context(), "there")),
		"Delete": b.Delete(t.Context(), "there"),
		"List":   second(b.List(t.Context(), "", "", 10)),
		"Tidy":   second(b.Tidy(t.Context(), time.Now(), true)),
		"Check":  b.Check(t.Context()),
	} {
		if !fault.Is(err, fault.Unavailable) || strings.Contains(err.Error(), cfg.SecretKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.Control(t, "start")
	if got := get(t, b, "there"); got != string(content) {
		t.Errorf("read %d bytes", len(got))
	}
	put(t, b, "fresh", "x")
}

func second[T any](_ T, err error) error { return err }

// A server that fails during an upload leaves no visible blob, only parts that Tidy removes.
func TestCutUpload(t *testing.T) {
	t.Parallel()
	r, b := through(t)
	for name, size := range map[string]int{"parts": 40 << 20, "whole": 6 << 20} {
		r.sent.Store(0)
		r.up.Store(int64(size) * 3 / 4)
		_, err := b.Put(t.Context(), name, io.LimitReader(zeros{}, int64(size)))
		if !fault.Is(err, fault.Unavailable) {
			t.Errorf("%s: %v", name, err)
		}
		r.up.Store(0)
		r.dead.Store(false)
	}
	if found, err := b.List(t.Context(), "", "", 10); err != nil || len(found) > 0 {
		t.Errorf("%v %v", found, err)
	}
	if n, err := b.Tidy(t.Context(), time.Now().Add(-time.Hour), false); n != 0 || err != nil {
		t.Errorf("of the last hour %d were tidied up, %v", n, err)
	}
	counts := []int{}
	for _, dry := range []bool{true, false, false} {
		n, err := b.Tidy(t.Context(), time.Now().Add(time.Hour), dry)
		if err != nil {
			t.Fatal(err)
		}
		counts = append(counts, n)
	}
	if diff := cmp.Diff([]int{1, 1, 0}, counts); diff != "" {
		t.Errorf("parts that were tidied up:\n%s", diff)
	}
	if n, err := b.Put(t.Context(), "parts", io.LimitReader(zeros{}, 20<<20)); n != 20<<20 || err != nil {
		t.Errorf("again: %d %v", n, err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// Data damaged on the way to the server is not stored.
func TestDamagedUpload(t *testing.T) {
	t.Parallel()
	r, b := through(t)
	put(t, b, "k", "true")
	r.spoil.Store(true)
	for key, content := range map[string]string{"k": "true again", "whole": "true", "parts": "true" + strings.Repeat("x", 10<<20)} {
		if _, err := b.Put(t.Context(), key, strings.NewReader(content)); !fault.Is(err, fault.Unavailable) {
			t.Errorf("%s: %v", key, err)
		}
	}
	r.spoil.Store(false)
	found, err := b.List(t.Context(), "", "", 10)
	if err != nil || len(found) != 1 || get(t, b, "k") != "true" {
		t.Errorf("%+v %v", found, err)
	}
}

// A connection cut during a download is reopened, but not endlessly.
func TestCutDownload(t *testing.T) {
	t.Parallel()
	r, b := through(t)
	content := bytes.Repeat([]byte("0123456789abcde\n"), 64<<10) // 1 MiB
	put(t, b, "k", string(content))
	r.limit.Store(400 << 10)
	if got := get(t, b, "k"); got != string(content) || r.cuts.Load() != 2 {
		t.Errorf("read %d bytes, %d connections were cut", len(got), r.cuts.Load())
	}
	part, err := b.GetRange(t.Context(), "k", 7, 700<<10)
	if err != nil {
		t.Fatal(err)
	}
	defer part.Close()
	if got, err := io.ReadAll(part); err != nil || !bytes.Equal(got, content[7:7+700<<10]) {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
	r.limit.Store(200 << 10)
	whole, err := b.Get(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	if _, err := io.ReadAll(whole); !fault.Is(err, fault.Unavailable) {
		t.Errorf("after many cuts: %v", err)
	}
}

// Content that changed between two connections is not mixed.
func TestCutDownloadOfReplaced(t *testing.T) {
	t.Parallel()
	r, b := through(t)
	put(t, b, "k", strings.Repeat("a", 8<<20))
	r.limit.Store(4 << 20)
	reading, err := b.Get(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	defer reading.Close()
	if _, err := io.CopyN(io.Discard, reading, 1000); err != nil {
		t.Fatal(err)
	}
	put(t, b, "k", strings.Repeat("b", 8<<20))
	if got, err := io.ReadAll(reading); !fault.Is(err, fault.Unavailable) || bytes.Contains(got, []byte("b")) {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
}

// A request to a server that stays silent fails.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections but never answers
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	b := open(t, s3blob.Config{
		Endpoint: "http://" + l.Addr().String(), Bucket: "bucket", AccessKey: "k", SecretKey: "s", Silence: 100 * time.Millisecond, Attempts: 1,
	})
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	for name, err := range map[string]error{
		"Put": second(b.Put(ctx, "k", strings.NewReader("x"))), "Get": second(b.Get(ctx, "k")), "List": second(b.List(ctx, "", "", 1)),
	} {
		if !fault.Is(err, fault.Unavailable) || ctx.Err() != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Check reports the problem and its remedy.
func TestCheck(t *testing.T) {
	t.Parallel()
	s := testenv.S3(t)
	for name, test := range map[string]struct {
		change func(*s3blob.Config)
		kind   fault.Kind
		says   string
	}{
		"access key": {func(c *s3blob.Config) { c.AccessKey = "nobody" }, fault.Invalid, "does not know the access key"},
		"secret key": {func(c *s3blob.Config) { c.SecretKey = "not-this" }, fault.Invalid, "The secret key is not that of the access key"},
		"bucket":     {func(c *s3blob.Config) { c.Bucket = "missing" }, fault.Invalid, `There is no bucket "missing"`},
		"region":     {func(c *s3blob.Config) { c.Region = "eu-north-1" }, fault.Invalid, "region"},
		"no server":  {func(c *s3blob.Config) { c.Endpoint = "http://127.0.0.1:1" }, fault.Unavailable, "127.0.0.1:1 cannot be reached"},
		"no host":    {func(c *s3blob.Config) { c.Endpoint = "http://s3.invalid" }, fault.Unavailable, "s3.invalid cannot be reached"},
		"TLS": {func(c *s3blob.Config) { c.Endpoint = strings.Replace(c.Endpoint, "http:", "https:", 1) }, fault.Invalid,
			"does not speak TLS"},
		"authority": {func(c *s3blob.Config) {
			server := httptest.NewTLSServer(http.NotFoundHandler())
			t.Cleanup(server.Close)
			c.Endpoint = server.URL
		}, fault.Invalid, "is not trusted"},
		"clock": {func(c *s3blob.Config) { c.Endpoint = lateClock(t, c.Endpoint) }, fault.Invalid, "set the clock"},
		"other server": {func(c *s3blob.Config) { c.Endpoint = answering(t, http.StatusNotFound, "<html>none</html>") }, fault.Invalid,
			"There is no bucket"},
		"fault of the server": {func(c *s3blob.Config) { c.Endpoint = answering(t, http.StatusInternalServerError, "") }, fault.Unavailable,
			"has a fault now"},
		"not allowed": {func(c *s3blob.Config) {
			c.Endpoint = answering(t, http.StatusForbidden, "<Error><Code>AccessDenied</Code><Message>no</Message></Error>")
		}, fault.Invalid, "s3:ListBucket"},
		"other region": {func(c *s3blob.Config) {
			c.Endpoint = answering(t, http.StatusBadRequest, "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-3</Region></Error>")
		}, fault.Invalid, "is in the region eu-west-3"},
		"expired": {func(c *s3blob.Config) {
			c.Endpoint = answering(t, http.StatusBadRequest, "<Error><Code>ExpiredToken</Code></Error>")
		}, fault.Invalid, "get new ones"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(s)
			cfg.Attempts = 1
			test.change(&cfg)
			err := open(t, cfg).Check(t.Context())
			f, ok := errors.AsType[*fault.Error](err)
			if !ok || f.Kind != test.kind || !strings.Contains(f.Message, test.says) || strings.Contains(err.Error(), cfg.SecretKey) {
				t.Errorf("%v", err)
			}
		})
	}
	if err := open(t, config(s)).Check(t.Context()); err != nil {
		t.Errorf("all is right: %v", err)
	}
}

// answering starts a server with a fixed response.
func answering(t *testing.T, status int, body string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// lateClock starts a proxy to a server whose clock is an hour ahead.
func lateClock(t *testing.T, to string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, _ := http.NewRequestWithContext(r.Context(), r.Method, to+r.URL.RequestURI(), nil)
		asked.Header = r.Header.Clone()
		asked.Host = r.Host
		then := time.Now().Add(-time.Hour).UTC()
		asked.Header.Set("X-Amz-Date", then.Format("20060102T150405Z"))
		today, signed := time.Now().UTC().Format("20060102"), asked.Header.Get("Authorization")
		asked.Header.Set("Authorization", strings.Replace(signed, today, then.Format("20060102"), 1))
		answer, err := http.DefaultClient.Do(asked)
		if err != nil {
			t.Error(err)
			return
		}
		defer answer.Body.Close()
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(answer.StatusCode)
		_, _ = io.Copy(w, answer.Body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// Keys are listed page by page, without other objects of the bucket.
func TestOtherObjects(t *testing.T) {
	t.Parallel()
	s := testenv.S3(t)
	above := config(s)
	cfg := above
	cfg.Prefix += "folder/"
	b := open(t, cfg)
	put(t, open(t, above), "folder.other/x", "x")
	put(t, open(t, above), "zz", "x")
	var want []string
	for n := range 1100 {
		key := fmt.Sprintf("accounts/1/%04d", n)
		want = append(want, key)
		put(t, b, key, "x")
	}
	var got []string
	err := storage.WalkBlobs(t.Context(), b, "", func(found []storage.BlobInfo) error {
		for _, i := range found {
			got = append(got, i.Key)
		}
		return nil
	})
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	all, err := b.List(t.Context(), "accounts/", "", 5000)
	if len(all) != len(want) || err != nil {
		t.Errorf("%d blobs, %v", len(all), err)
	}
}

func put(t testing.TB, b storage.Blobs, key, content string) {
	t.Helper()
	if n, err := b.Put(t.Context(), key, strings.NewReader(content)); err != nil || n != int64(len(content)) {
		t.Fatal(key, n, err)
	}
}

func get(t testing.TB, b storage.Blobs, key string) string {
	t.Helper()
	r, err := b.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
