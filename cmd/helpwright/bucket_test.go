package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/smtp"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/blobs"
	"github.com/helpwright/helpwright/storage/fileblob"
	"github.com/helpwright/helpwright/storage/s3blob"
	"github.com/helpwright/helpwright/storage/testenv"
)

// bucketEnv are the settings of a server whose files are in a bucket.
func bucketEnv(s testenv.S3Server) []string {
	return []string{"HELPWRIGHT_BLOB_URL=" + s.URL(), "AWS_ACCESS_KEY_ID=" + s.AccessKey, "AWS_SECRET_ACCESS_KEY=" + s.SecretKey}
}

func openBucket(t *testing.T, s testenv.S3Server) *s3blob.Blobs {
	t.Helper()
	b, err := s3blob.New(s3blob.Config{Endpoint: s.Endpoint, Bucket: s.Bucket, Prefix: s.Prefix, AccessKey: s.AccessKey, SecretKey: s.SecretKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// submitTo sends a mail to the server's own intake.
func (s *process) submitTo(address string, n int) error {
	raw := crlf(head(n, fmt.Sprintf("Message-ID: <s%d@example.com>\n\nText %d.\n", n, n)))
	return smtp.SendMail(s.intake, nil, "a@example.com", []string{address}, []byte(raw))
}

// TestBucket runs a server whose files are in a bucket, takes the S3 server away and brings it back, and sweeps.
func TestBucket(t *testing.T) {
	t.Parallel()
	bucket := testenv.OwnS3(t)
	s := newServer(t, bucketEnv(bucket)...)
	m := s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
	if err := s.submitTo(m.InternalEmailAddress, 1); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, "the mail is filed", func() bool { return len(s.conversations()) == 1 })
	if status := s.upload(s.notes(), 1000); status != http.StatusCreated {
		t.Errorf("uploading a file: %d", status)
	}
	bucket.Control(t, "stop")
	s.says(http.StatusServiceUnavailable, "")
	if err := s.submitTo(m.InternalEmailAddress, 2); err == nil || !strings.HasPrefix(err.Error(), "4") {
		t.Errorf("the intake says %v", err)
	}
	s.kill()
	s.start() // it waits for the S3 server
	s.says(http.StatusServiceUnavailable, "")
	bucket.Control(t, "start")
	s.says(http.StatusOK, "ready")
	testenv.Eventually(t, "the intake takes mail again", func() bool { return s.submitTo(m.InternalEmailAddress, 2) == nil })
	testenv.Eventually(t, "the mail is filed", func() bool { return len(s.conversations()) == 3 }) // one has the note
	if out, err := s.command("doctor"); err != nil || !strings.Contains(out, "ok    bucket of the files") || !strings.Contains(out, "ok    blobs") {
		t.Errorf("the doctor says %v\n%s", err, out)
	}
	s.sweepsBucket(bucket)
	out, err := s.command("config", "show")
	if err != nil || strings.Contains(out, bucket.SecretKey) || !strings.Contains(out, bucket.Bucket) {
		t.Errorf("%v\n%s", err, out)
	}
	s.stop()
	if log, err := os.ReadFile(s.stderr.Name()); err != nil || strings.Contains(string(log), bucket.SecretKey) {
		t.Errorf("%v: the log has the secret key", err)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "data", "blobs")); !os.IsNotExist(err) {
		t.Errorf("a folder of files was made beside the bucket: %v", err)
	}
}

// sweepsBucket sweeps files without a row out of a bucket: old ones, by the time that the server has of them.
func (s *process) sweepsBucket(bucket testenv.S3Server) {
	s.t.Helper()
	files := openBucket(s.t, bucket)
	for _, key := range []string{"accounts/1/attachments/old", "accounts/1/attachments/young"} {
		if _, err := files.Put(s.t.Context(), key, strings.NewReader("nobody's")); err != nil {
			s.t.Fatal(err)
		}
	}
	before := hashesOf(s.t, files)
	then := time.Now().Add(-25 * time.Hour)
	old := filepath.Join(filepath.Dir(bucket.Ctl), "data", bucket.Bucket, bucket.Prefix, "accounts/1/attachments/old")
	if err := os.Chtimes(old, then, then); err != nil {
		s.t.Fatal(err)
	}
	if out, err := s.command("blobs", "sweep", "--grace=30m"); err == nil || !strings.Contains(out, "at least 1h") {
		s.t.Errorf("%v\n%s", err, out)
	}
	if out, err := s.command("blobs", "sweep", "--dry-run"); err != nil || !strings.Contains(out, "would remove 1 of") || !strings.Contains(out, "attachments/old\n") {
		s.t.Errorf("%v\n%s", err, out)
	}
	if diff := cmp.Diff(before, hashesOf(s.t, files)); diff != "" {
		s.t.Errorf("a dry run changes files:\n%s", diff)
	}
	if out, err := s.command("blobs", "sweep"); err != nil || !strings.Contains(out, "removed 1 of") {
		s.t.Errorf("%v\n%s", err, out)
	}
	delete(before, "accounts/1/attachments/old")
	if diff := cmp.Diff(before, hashesOf(s.t, files)); diff != "" {
		s.t.Errorf("after the sweep:\n%s", diff)
	}
}

// TestWrongBucket reports the problem and its remedy at the start.
func TestWrongBucket(t *testing.T) {
	t.Parallel()
	bucket := testenv.S3(t)
	keys := []string{"AWS_ACCESS_KEY_ID=" + bucket.AccessKey, "AWS_SECRET_ACCESS_KEY=" + bucket.SecretKey}
	server := "?endpoint=" + url.QueryEscape(bucket.Endpoint)
	for name, test := range map[string]struct {
		address string
		env     []string
		says    string
	}{
		"no keys":   {"s3://helpwright" + server, nil, "AWS_ACCESS_KEY_ID is required; AWS_SECRET_ACCESS_KEY is required"},
		"no bucket": {"s3://", keys, "must be s3://BUCKET/PREFIX"},
		"unknown":   {"s3://helpwright?regoin=x", keys, "may only have endpoint, region, path-style and credentials"},
		"endpoint":  {"s3://helpwright?endpoint=127.0.0.1", keys, "endpoint must be http://HOST:PORT or https://HOST"},
		"no role": {"s3://helpwright" + server + "&credentials=role", []string{"AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1:1/keys"},
			"This machine has no role with access to the bucket"},
		"role and keys":  {"s3://helpwright" + server + "&credentials=role", keys, "AWS_ACCESS_KEY_ID must not be set"},
		"missing bucket": {"s3://missing" + server, keys, `There is no bucket "missing"`},
		"wrong secret": {"s3://helpwright" + server, []string{keys[0], "AWS_SECRET_ACCESS_KEY=wrong-secret"},
			"The secret key is not that of the access key"},
		"wrong key":  {"s3://nobody:wrong-secret@helpwright" + server, nil, "does not know the access key"},
		"wrong TLS":  {"s3://helpwright?endpoint=" + url.QueryEscape(strings.Replace(bucket.Endpoint, "http", "https", 1)), keys, "does not speak TLS"},
		"no server":  {"s3://helpwright?endpoint=http://127.0.0.1:1", keys, "127.0.0.1:1 cannot be reached"},
		"other kind": {"gs://helpwright", keys, "must be file:FOLDER or s3://BUCKET/PREFIX"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			commands := [][]string{{"doctor"}, {"blobs", "copy", test.address, "file:to"}}
			if name != "no server" { // for which a server waits
				commands = append(commands, []string{"serve"})
			}
			dir := t.TempDir()
			for _, args := range commands {
				env := append([]string{"HELPWRIGHT_BLOB_URL=" + test.address, "HELPWRIGHT_LISTEN=127.0.0.1:0", "HELPWRIGHT_INTAKE_LISTEN="}, test.env...)
				code, out, stderr := command(t, dir, env, args...)
				said := out + stderr
				if code == exitDone || !strings.Contains(said, test.says) || strings.Contains(said, "wrong-secret") || strings.Contains(said, bucket.SecretKey) {
					t.Errorf("%v: %d %s", args, code, said)
				}
			}
		})
	}
}

// TestMoveToBucket moves the files of a running server from its folder to a bucket, as the manual describes: the copy is
// killed at random moments, mail arrives meanwhile, and nothing is lost. Then it is backed up from the bucket, and restored
// into a folder and into another bucket.
func TestMoveToBucket(t *testing.T) {
	t.Parallel()
	s, bucket := filled(t), testenv.S3(t)
	files := openBucket(t, bucket)
	s.env = append(s.env, bucketEnv(bucket)[1:]...)
	s.start()
	m := s.mailbox(url.Values{"name": {"More"}, "email": {"more@example.org"}})
	copying := []string{"blobs", "copy", "file:data/blobs", bucket.URL(), "--at-once=1"}
	for n := range 4 {
		if err := s.submitTo(m.InternalEmailAddress, n); err != nil {
			t.Fatal(err)
		}
		s.copyKilled(files, copying)
	}
	s.stop()
	out, err := s.command(copying...)
	if err != nil || !strings.Contains(out, "0 were removed meanwhile") {
		t.Fatalf("%v\n%s", err, out)
	}
	again, err := s.command(append(copying, "--since=2026-01-01T00:00:00Z")...)
	if err != nil || !strings.Contains(again, "copied 0 of") {
		t.Errorf("%v\n%s", err, again)
	}
	want := blobsOf(t, filepath.Join(s.dir, "data", "blobs"))
	if diff := cmp.Diff(want, hashesOf(t, files)); diff != "" {
		t.Errorf("files differ:\n%.2000s", diff)
	}
	if err := os.Rename(filepath.Join(s.dir, "data", "blobs"), filepath.Join(s.dir, "away")); err != nil {
		t.Fatal(err)
	}
	s.env = append(s.env, "HELPWRIGHT_BLOB_URL="+bucket.URL())
	s.start()
	s.says(http.StatusOK, "ready")
	if out, err := s.command("doctor"); err != nil || !strings.Contains(out, "ok    files that the database names") {
		t.Errorf("the doctor says %v\n%s", err, out)
	}
	archive := s.archived()
	s.stop()
	s.restoredFromBucket(archive, files)
	if out, err := s.command("blobs", "copy", bucket.URL(), "file:back"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if diff := cmp.Diff(want, blobsOf(t, filepath.Join(s.dir, "back"))); diff != "" {
		t.Errorf("files that came back differ:\n%.2000s", diff)
	}
}

// TestCopyFollows copies new files until it is interrupted, and continues after an outage of the bucket's server.
func TestCopyFollows(t *testing.T) {
	t.Parallel()
	bucket, dir := testenv.OwnS3(t), t.TempDir()
	folder, err := fileblob.Open(filepath.Join(dir, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	put := func(key, text string) {
		t.Helper()
		if _, err := folder.Put(t.Context(), key, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	put(blobs.MarkKey, "mark\n")
	put("accounts/1/a", "first")
	path := program(t)
	var said testenv.Output
	cmd := exec.Command(path, "blobs", "copy", "--follow", "--every=1s", "file:blobs", bucket.URL())
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(bucketEnv(bucket)[1:], "HOME="+dir), &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	files := openBucket(t, bucket)
	there := func(key string) func() bool {
		return func() bool { _, err := files.Stat(t.Context(), key); return err == nil }
	}
	testenv.Eventually(t, "the first file is there", there("accounts/1/a"))
	put("accounts/1/b", "second")
	testenv.Eventually(t, "the second file is there", there("accounts/1/b"))
	bucket.Control(t, "stop")
	put("accounts/1/c", "third")
	testenv.Eventually(t, "the copy says that it waits", func() bool { return strings.Contains(said.String(), "tried again soon") })
	bucket.Control(t, "start")
	testenv.Eventually(t, "the third file is there", there("accounts/1/c"))
	n := len(said.String())
	testenv.Eventually(t, "it waits for more", func() bool { return strings.Contains(said.String()[n:], "copied 0 of 3") })
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // between two looks or in one
	if diff := cmp.Diff(blobsOf(t, filepath.Join(dir, "blobs")), hashesOf(t, files)); diff != "" {
		t.Errorf("%s\n%s", diff, said.String())
	}
}

// copyKilled kills a copy when it has copied another file: copied files are complete, and no server uses the incomplete
// store.
func (s *process) copyKilled(files *s3blob.Blobs, args []string) {
	s.t.Helper()
	path := program(s.t)
	before := len(hashesOf(s.t, files))
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	for more := false; !more; {
		select {
		case <-ended:
			more = true
		case <-time.After(time.Millisecond):
			found, err := files.List(s.t.Context(), "", "", 1000)
			more = err != nil || len(found) > before+1
		}
	}
	_ = cmd.Process.Kill()
	<-ended
	there, all := hashesOf(s.t, files), blobsOf(s.t, filepath.Join(s.dir, "data", "blobs"))
	r, err := files.Get(s.t.Context(), blobs.MarkKey)
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Close()
	if mark, err := io.ReadAll(r); err != nil || !strings.HasPrefix(string(mark), "copying-") || len(there) >= len(all) {
		s.t.Errorf("%d of %d files were copied, and the mark is %q %v", len(there), len(all), mark, err)
	}
	for key := range there {
		if key != blobs.MarkKey && there[key] != all[key] {
			s.t.Errorf("%s is not what it was", key)
		}
	}
	other := s.at(s.dir, "HELPWRIGHT_BLOB_URL="+args[3])
	if out, err := other.command("blobs", "sweep"); err == nil || !strings.Contains(out, "still being copied") {
		s.t.Errorf("a part of the files is used: %v\n%s", err, out)
	}
}

// restoredFromBucket restores a backup of files in a bucket into a folder, and into another bucket.
func (s *process) restoredFromBucket(archive string, files *s3blob.Blobs) {
	s.t.Helper()
	want := hashesOf(s.t, files)
	maps.DeleteFunc(want, func(key, _ string) bool { return !strings.HasPrefix(key, blobs.Prefix) && key != blobs.MarkKey })
	folder := s.at(s.t.TempDir(), "HELPWRIGHT_BLOB_URL=file:data/blobs")
	elsewhere := testenv.S3(s.t)
	bucket := s.at(s.t.TempDir(), bucketEnv(elsewhere)...)
	for _, other := range []*process{folder, bucket} {
		if out, err := other.command("restore", archive); err != nil {
			s.t.Fatalf("%v\n%s", err, out)
		}
		if diff := cmp.Diff(rowsOf(s.t, s.databaseURL()), rowsOf(s.t, other.databaseURL())); diff != "" {
			s.t.Errorf("rows differ:\n%.2000s", diff)
		}
	}
	if diff := cmp.Diff(want, blobsOf(s.t, filepath.Join(folder.dir, "data", "blobs"))); diff != "" {
		s.t.Errorf("files restored into a folder differ:\n%.2000s", diff)
	}
	if diff := cmp.Diff(want, hashesOf(s.t, openBucket(s.t, elsewhere))); diff != "" {
		s.t.Errorf("files restored into a bucket differ:\n%.2000s", diff)
	}
	bucket.start()
	defer bucket.stop()
	bucket.says(http.StatusOK, "ready")
	if out, err := bucket.command("restore", archive); err == nil || !strings.Contains(out, "empty place") {
		s.t.Errorf("restored over a bucket in use: %v\n%s", err, out)
	}
}

// TestBackupToBucket backs up into a folder of a bucket, where nothing half is seen when it is killed, and restores from it.
func TestBackupToBucket(t *testing.T) {
	t.Parallel()
	s, bucket := filled(t), testenv.S3(t)
	s.env = append(s.env, bucketEnv(bucket)[1:]...)
	began := time.Now()
	out, err := s.command("backup", bucket.URL())
	if err != nil || !strings.Contains(out, ".tar.zst in the bucket has") {
		t.Fatalf("%v\n%s", err, out)
	}
	took, files, done := time.Since(began), openBucket(t, bucket), 1
	for range 5 {
		time.Sleep(time.Second) // archives are named after the second
		if s.killed(took, "backup", bucket.URL()) {
			done++
		}
	}
	found, err := files.List(t.Context(), "", "", 100)
	if err != nil || len(found) < done || !strings.HasPrefix(found[0].Key, "helpwright-") || found[0].Size < 40<<20 {
		t.Fatalf("%d archives, %d backups came to their end: %+v %v", len(found), done, found, err)
	}
	archive := ""
	for _, made := range found { // one may remain if the kill came too late
		archive = strings.Replace(bucket.URL(), "?", made.Key+"?", 1)
		if out, err := s.command("backup", "--verify", archive); err != nil || !strings.Contains(out, "whole: sqlite") {
			t.Errorf("%v\n%s", err, out)
		}
	}
	other := s.at(t.TempDir())
	if out, err := other.command("restore", archive); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s.sameAs(other)
	for name, args := range map[string][]string{
		"there is no": {"restore", strings.Replace(bucket.URL(), "?", "none.tar.zst?", 1)},
		"must be s3:": {"backup", "s3:nonsense"},
		"no bucket":   {"backup", strings.Replace(bucket.URL(), bucket.Bucket, "missing", 1)},
	} {
		if out, err := s.command(args...); err == nil || !strings.Contains(out, name) || strings.Contains(out, bucket.SecretKey) {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
}

// TestBucketRedirect downloads large attachments straight from a bucket, after the server has checked the permissions.
func TestBucketRedirect(t *testing.T) {
	t.Parallel()
	bucket := testenv.S3(t)
	s := newServer(t, append(bucketEnv(bucket), "HELPWRIGHT_BLOB_REDIRECT=1")...)
	s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
	attachments := s.notes()
	content := append([]byte("%PDF-1.7\n"), bytes.Repeat([]byte("0123456789"), 1<<20/10+1)...)
	for name, file := range map[string][]byte{"large.pdf": content, "small.pdf": content[:1000], "large.txt": content[9:]} {
		s.hurl(t.Context(), attachments, "file", name, file)
	}
	var list struct {
		Data []struct {
			ID       int64  `json:"id"`
			Filename string `json:"filename"`
		} `json:"data"`
	}
	s.ok("GET", attachments, nil, &list)
	paths := map[string]string{}
	for _, a := range list.Data {
		paths[a.Filename] = fmt.Sprintf("http://%s%s%s/%d/content", s.http, apiBase, attachments, a.ID)
	}
	if len(paths) != 3 {
		t.Fatalf("attached: %v", paths)
	}
	alone := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	ask := func(client *http.Client, method, address, token string, header ...string) (*http.Response, []byte) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, body
	}
	large := paths["large.pdf"]
	to := func() string { res, _ := ask(alone, "GET", large, s.token); return res.Header.Get("Location") }()
	if !strings.HasPrefix(to, bucket.Endpoint+"/") || strings.Contains(to, bucket.SecretKey) || strings.Contains(to, s.token) {
		t.Errorf("it leads to %q", to)
	}
	for name, want := range map[string]struct {
		method, address, token string
		header                 []string
		status                 int
	}{
		"nobody":                  {"GET", large, "", nil, http.StatusUnauthorized},
		"a wrong token":           {"GET", large, "hw_wrong", nil, http.StatusUnauthorized},
		"one that is not there":   {"GET", strings.Replace(large, "/content", "0/content", 1), s.token, nil, http.StatusNotFound},
		"a small one":             {"GET", paths["small.pdf"], s.token, nil, http.StatusOK},
		"one that is shown":       {"GET", paths["large.txt"], s.token, nil, http.StatusOK},
		"its header":              {"HEAD", large, s.token, nil, http.StatusOK},
		"a part":                  {"GET", large, s.token, []string{"Range", "bytes=0-9"}, http.StatusPartialContent},
		"the address in a bucket": {"GET", to, "", nil, http.StatusOK},
	} {
		if res, _ := ask(alone, want.method, want.address, want.token, want.header...); res.StatusCode != want.status {
			t.Errorf("%s: %d", name, res.StatusCode)
		}
	}
	res, body := ask(http.DefaultClient, "GET", large, s.token)
	if res.Request.URL.Host == s.http || !bytes.Equal(body, content) ||
		res.Header.Get("Content-Disposition") != "attachment; filename=large.pdf" || res.Header.Get("Content-Type") != "application/pdf" {
		t.Errorf("from %s: %d bytes, %v", res.Request.URL.Host, len(body), res.Header)
	}
	s.stop()
	if log, err := os.ReadFile(s.stderr.Name()); err != nil || strings.Contains(string(log), "X-Amz-Signature") {
		t.Errorf("%v: the log has addresses", err)
	}
}
