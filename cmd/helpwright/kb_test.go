package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// folder is a folder of the tests with its content.
type folder string

func (f folder) files(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(string(f)), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(string(f), name))
		all[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (f folder) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(string(f), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// knowledge makes a site with some content over HTTP, and returns its id.
func (s *process) knowledge() int64 {
	s.t.Helper()
	created := func(path string, form url.Values) int64 {
		var made object[struct{ ID int64 }]
		s.ok("POST", path, form, &made)
		return made.Data.ID
	}
	site := created("/sites", url.Values{"account_id": {"1"}, "name": {"Help"}, "path": {"help"}})
	at := fmt.Sprintf("/sites/%d", site)
	basics := fmt.Sprint(created(at+"/collections", url.Values{"source_locale": {"en"}, "translations[en][name]": {"Basics"}, "translations[de][name]": {"Grundlagen"}}))
	billing := fmt.Sprint(created(at+"/categories", url.Values{"source_locale": {"en"}, "collection_id": {basics}, "translations[en][name]": {"Billing"}}))
	pay := fmt.Sprint(created(at+"/articles", url.Values{
		"source_locale": {"en"}, "collection_id": {basics}, "categories[]": {billing},
		"translations[en][title]": {"How to pay"}, "translations[en][content]": {"<p>By <b>card</b>.</p>"}, "translations[de][title]": {"Bezahlen"},
	}))
	s.ok("PUT", at+"/articles/"+pay+"/draft", url.Values{"source_locale": {"en"}, "collection_id": {basics}, "translations[en][title]": {"Paying"}}, nil)
	created(at+"/articles", url.Values{
		"source_locale": {"en"}, "collection_id": {basics}, "status": {"unpublished"},
		"translations[en][title]": {"Hello"}, "translations[en][markdown]": {"Welcome **all**."},
	})
	return site
}

// A site is exported to a folder, edited there, imported again, and moved to another server, all while the servers run; and
// every export equals the import.
func TestKnowledgeBaseFolder(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL)
		kb := func(s *process, args ...string) (int, string, string) {
			return command(t, s.dir, s.env, append([]string{"kb"}, args...)...)
		}
		run := func(s *process, args ...string) string {
			t.Helper()
			code, out, stderr := kb(s, args...)
			if code != exitDone {
				t.Fatalf("%v: %d\n%s%s", args, code, out, stderr)
			}
			return out
		}
		site := fmt.Sprint(s.knowledge())
		dir := folder(filepath.Join(t.TempDir(), "site"))
		run(s, "export", "--site", site, string(dir))
		const articles = "collections/basics/articles/"
		before := dir.files(t)
		if text := before[articles+"hello.en.md"]; text != "---\ntitle: Hello\nsource: true\nstatus: unpublished\nsort_order: 2\n---\n\nWelcome **all**.\n" {
			t.Errorf("an article is %q", text)
		}
		if out := run(s, "import", "--site", site, string(dir)); out != "no changes\n" {
			t.Errorf("importing an export: %s", out)
		}

		dir.write(t, "files/logo.png", "\x89PNG\r\n\x1a\n...")
		dir.write(t, articles+"hello.en.md", "---\ntitle: Hello\nsource: true\nstatus: published\nsort_order: 2\n---\n\nWelcome ![all](../../../files/logo.png).\n")
		dir.write(t, articles+"hello.fr.md", "---\ntitle: Bonjour\n---\n")
		dir.write(t, "collections/basics/index.de.md", "---\nname: Anfang\n---\n")
		dir.write(t, articles+"new.en.md", "---\ntitle: New\nsource: true\nstatus: published\nsort_order: 9.5\n---\n\nText\n")
		if err := os.Remove(filepath.Join(string(dir), articles, "how-to-pay.en.draft.md")); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(string(dir), articles, "how-to-pay.de.draft.md")); err != nil {
			t.Fatal(err)
		}
		planned := run(s, "import", "--site", site, "--dry-run", "--delete", string(dir))
		lines := `create files/logo.png
update collections/basics/index (de.name)
update collections/basics/articles/hello (status, en.content, +fr, links)
create collections/basics/articles/new
delete collections/basics/articles/how-to-pay (draft)
`
		if diff := cmp.Diff(lines+"5 changes, none was made\n", planned); diff != "" {
			t.Errorf("planned (-want +got):\n%s", diff)
		}
		other := folder(t.TempDir())
		run(s, "export", "--site", site, string(other))
		if diff := cmp.Diff(before, other.files(t)); diff != "" {
			t.Errorf("the dry run changed:\n%s", diff)
		}
		done := run(s, "import", "--site", site, "--delete", string(dir))
		if diff := cmp.Diff(lines+"5 changes\n", done); diff != "" {
			t.Errorf("done (-want +got):\n%s", diff)
		}
		run(s, "export", "--site", site, string(other))
		if diff := cmp.Diff(dir.files(t), other.files(t)); diff != "" {
			t.Errorf("exported over the former export (-imported +exported):\n%s", diff)
		}
		if out := run(s, "import", "--site", site, "--delete", string(dir)); out != "no changes\n" {
			t.Errorf("importing again: %s", out)
		}

		second := newServer(t, "HELPWRIGHT_DATABASE_URL="+databases[strings.Split(t.Name(), "/")[1]](t))
		var made object[struct{ ID int64 }]
		second.ok("POST", "/sites", url.Values{"account_id": {"1"}, "name": {"Empty"}}, &made)
		moved, empty := folder(t.TempDir()), fmt.Sprint(made.Data.ID)
		run(second, "import", "--site", empty, string(dir))
		run(second, "export", "--site", empty, string(moved))
		if diff := cmp.Diff(dir.files(t), moved.files(t)); diff != "" {
			t.Errorf("exported by the other server:\n%s", diff)
		}
		var hello struct{ Data []struct{ Content string } }
		second.ok("GET", "/sites/"+empty+"/articles?query=hello", nil, &hello)
		if len(hello.Data) != 1 || !strings.Contains(hello.Data[0].Content, `src="http://`+second.http+`/api/v1/sites/`+empty+`/files/`) {
			t.Errorf("the article there: %+v", hello)
		}
	})
}

// Problems of a folder are reported with file and line, and nothing is changed.
func TestKnowledgeBaseFolderProblems(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	site := fmt.Sprint(s.knowledge())
	export := func(dir folder) {
		t.Helper()
		if code, _, stderr := command(t, s.dir, s.env, "kb", "export", "--site", site, string(dir)); code != exitDone {
			t.Fatal(stderr)
		}
	}
	good := folder(t.TempDir())
	export(good)
	want := good.files(t)
	const a = "collections/basics/articles/"
	for _, tt := range []struct {
		name  string
		write map[string]string
		args  []string
		code  int
		says  []string
	}{
		{"no folder", nil, []string{"import", "--site", site, "nowhere"}, exitFail, []string{"nowhere", "no such file"}},
		{"no folder named", nil, []string{"import", "--site", site}, exitUsage, []string{"<dir>"}},
		{"no site named", nil, []string{"import", "DIR"}, exitUsage, []string{"--site"}},
		{"another site", nil, []string{"import", "--site", "999", "DIR"}, exitFail, []string{"there is no site 999"}},
		{"exporting no site", nil, []string{"export", "--site", "999", "DIR"}, exitFail, []string{"there is no site 999"}},
		{"not a site's folder", map[string]string{"x/main.go": "x"}, []string{"import", "--site", site, "DIR/x"}, exitFail, []string{"site.yaml: there is none", "main.go: it has no place"}},
		{"exporting over something else", map[string]string{"x/main.go": "x"}, []string{"export", "--site", site, "DIR/x"}, exitFail, []string{"site.yaml: there is none"}},
		{"YAML", map[string]string{a + "x.en.md": "---\ntitle: x\n  source: [\n---\n", "site.yaml": "name: Other\n"}, nil, exitFail, []string{a + "x.en.md:3: ", "nothing was changed"}},
		{"an unknown field", map[string]string{a + "x.en.md": "---\ntitle: x\nsource: true\nauthor: me\n---\n"}, nil, exitFail, []string{a + "x.en.md:4: there is no field author"}},
		{"what the service refuses", map[string]string{
			a + "x.en.md": "---\ntitle: x\nsource: true\nstatus: hidden\n---\nText\n", a + "x.de.md": "---\ntitle: " + strings.Repeat("x", 301) + "\n---\n",
			a + "y.en.md": "---\ntitle: y\nsource: true\n---\n", "site.yaml": "name: Other\nvisibility: secret\n",
		}, nil, exitFail, []string{a + "x.en.md: status must be", a + "x.de.md: title is longer than", a + "y.en.md: content is required", "site.yaml: visibility must be"}},
		{"a program", map[string]string{"files/setup.png": "MZ\x00\x00", "site.yaml": "name: Other\n"}, nil, exitFail, []string{"files/setup.png: programs are not accepted"}},
		{"a binary text", map[string]string{a + "x.en.md": "---\ntitle: x\n\x00---\n"}, nil, exitFail, []string{a + "x.en.md:3: it is not UTF-8 text"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t.TempDir())
			for name, text := range want {
				dir.write(t, name, text)
			}
			for name, text := range tt.write {
				dir.write(t, name, text)
			}
			if tt.args == nil {
				tt.args = []string{"import", "--site", site, "DIR"}
			}
			args := []string{"kb"}
			for _, arg := range tt.args {
				args = append(args, strings.Replace(arg, "DIR", string(dir), 1))
			}
			code, out, stderr := command(t, s.dir, s.env, args...)
			if code != tt.code || out != "" && tt.code == exitFail {
				t.Errorf("exit code %d, output %s", code, out)
			}
			for _, text := range tt.says {
				if !strings.Contains(stderr, text) {
					t.Errorf("%q is not in: %s", text, stderr)
				}
			}
			after := folder(t.TempDir())
			export(after)
			if diff := cmp.Diff(want, after.files(t)); diff != "" {
				t.Errorf("the site has changed:\n%s", diff)
			}
		})
	}
}

// Files over the limit in the settings are refused, uploaded and imported.
func TestFileLimits(t *testing.T) {
	t.Parallel()
	s := newServer(t, "HELPWRIGHT_MAX_ATTACHMENT=2", "HELPWRIGHT_MAX_SITE_FILE=1")
	site := fmt.Sprint(s.knowledge())
	s.mailbox(url.Values{"email": {"support@example.org"}})
	var c object[conversationView]
	s.ok("POST", "/accounts/1/conversations", url.Values{"channel": {"email"}, "to": {"ada@example.com"}, "interactions[0][type]": {"note"}, "interactions[0][body]": {"x"}}, &c)
	attachments := fmt.Sprintf("/accounts/1/conversations/%d/interactions/%d/attachments", c.Data.ID, s.interactions(c.Data.ID)[0].ID)
	for _, tt := range []struct {
		path   string
		size   int
		status int
	}{{attachments, 2 << 20, 201}, {attachments, 2<<20 + 1, 413}, {"/sites/" + site + "/files", 1 << 20, 201}, {"/sites/" + site + "/files", 1<<20 + 1, 413}} {
		if status := s.upload(tt.path, tt.size); status != tt.status {
			t.Errorf("%d bytes to %s: %d, want %d", tt.size, tt.path, status, tt.status)
		}
	}
	dir := folder(t.TempDir())
	for name, text := range map[string]string{"site.yaml": "name: Help\n", "files/large.txt": strings.Repeat("x", 1<<20+1)} {
		dir.write(t, name, text)
	}
	code, _, stderr := command(t, s.dir, s.env, "kb", "import", "--site", site, string(dir))
	if code != exitFail || !strings.Contains(stderr, "files/large.txt: it is larger than 1 MB") {
		t.Errorf("importing: %d %s", code, stderr)
	}
}

// upload sends a text file of a size, and returns the status.
func (s *process) upload(path string, size int) int {
	s.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	file, err := form.CreateFormFile("file", "a.txt")
	if err == nil {
		_, err = file.Write(bytes.Repeat([]byte("x"), size))
	}
	if err = errors.Join(err, form.Close()); err != nil {
		s.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(s.t.Context(), "POST", "http://"+s.http+apiBase+path, &body)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("Authorization", "Bearer "+s.token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}
