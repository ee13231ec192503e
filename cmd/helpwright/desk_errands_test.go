package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/both"
	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testenv/browser"
	"github.com/helpwright/helpwright/transport/errand"
)

// zipFolder writes a folder into a ZIP file, and returns its name.
func zipFolder(t *testing.T, folder string) string {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	if err := w.AddFS(os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "export.zip")
	write(t, name, out.String())
	return name
}

// office is a server with a mailbox, whose owner signs in with a browser.
type office struct {
	*process
	*browser.Browser
	database, at string
	email        string // of the owner
}

func newOffice(t *testing.T, database string) *office {
	t.Helper()
	s := newServer(t, "HELPWRIGHT_DATABASE_URL="+database)
	s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
	var me object[struct{ Email string }]
	s.ok("PUT", "/user", url.Values{"name": {"Maja Lindqvist"}, "password": {officePassword}}, &me)
	return &office{s, browser.Start(t), database, "http://" + s.http + "/desk/a/1", me.Data.Email}
}

const officePassword = "correct horse battery"

// owner returns a window in which the owner is signed in.
func (o *office) owner(v browser.View) *browser.Tab {
	o.t.Helper()
	tab := o.Tab(o.t, v)
	tab.Open("http://" + o.http + "/desk/sign-in")
	tab.Fill("[name=email]", o.email)
	tab.Fill("[name=password]", officePassword)
	tab.Follow(".door .primary")
	return tab
}

// eachView checks the current page in every view, and returns to the first one.
func (o *office) eachView(tab *browser.Tab, check *pageChecker, name string) {
	o.t.Helper()
	eachView(o.t, tab, check, name)
	tab.Look(browser.View{})
	browser.Eval[any](tab, `document.documentElement.dir = "ltr"`)
}

// errandIs waits until the page of an errand says something.
func (o *office) errandIs(tab *browser.Tab, scripts bool, want string) {
	o.t.Helper()
	testenv.Eventually(o.t, "the errand: "+want, func() bool {
		if !scripts {
			tab.Open(tab.Location())
		}
		return strings.Contains(seen(tab, "#errand"), want)
	})
}

// pretend stores the state of an errand that no server runs.
func (o *office) pretend(e errand.Errand) {
	o.t.Helper()
	address := o.database
	if path, ok := strings.CutPrefix(address, "sqlite:"); ok {
		address = "sqlite:" + filepath.Join(o.dir, path)
	}
	db, err := both.Open(o.t.Context(), address, bunstore.Config{})
	if err != nil {
		o.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	raw, err := json.Marshal(e)
	if err == nil {
		err = db.SetItem(o.t.Context(), storage.VaultItem{Key: fmt.Sprintf("errands/%d/%s", e.AccountID, e.Kind), Value: raw, Modified: time.Now()})
	}
	if err != nil {
		o.t.Fatal(err)
	}
}

// TestDeskErrands imports and exports in the desk, with scripts and without, on either database.
func TestDeskErrands(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, database string) {
		o := newOffice(t, database)
		check := newPageChecker(t)
		for _, scripts := range []bool{true, false} {
			tab := o.owner(browser.View{NoScript: !scripts})
			o.imports(tab, check, scripts)
			o.exports(tab, check, scripts)
		}
		o.importsMail(o.owner(browser.View{}))
		o.refusals(o.owner(browser.View{}))
		tab := o.owner(browser.View{})
		now := time.Now()
		o.pretend(errand.Errand{ID: "running", AccountID: 1, Kind: "import", Step: "import", Input: map[string]string{"source": "zendesk", "mailbox": "1"}, File: "zendesk-2026-11.zip", Size: 48_300_000,
			State: errand.Running, Progress: errand.Progress{Done: 3410, Total: 12_840}, Created: now, Changed: now})
		tab.Open(o.at + "/settings/import/running")
		if got := seen(tab, "#errand"); !strings.Contains(got, "3,410 of 12,840") {
			t.Errorf("shown: %s", got)
		}
		o.eachView(tab, check, "import-running")
		check.valid()
	})
}

// imports imports an export of Zendesk: it is checked first, and changes nothing until the member says so.
func (o *office) imports(tab *browser.Tab, check *pageChecker, scripts bool) {
	o.t.Helper()
	before := len(o.conversations())
	tab.Open(o.at + "/settings/import")
	if scripts {
		o.eachView(tab, check, "import")
	}
	tab.Choose("[name=file]", zipFolder(o.t, "../../helpdesk/movein/zendesk/testdata/export"))
	pressButton(tab, scripts, ".page .primary")
	o.errandIs(tab, scripts, "Check finished")
	wantMade := "Conversations7"
	if !scripts {
		wantMade = "Already here7" // by the run with scripts
	}
	if got := strings.Join(strings.Fields(seen(tab, "#errand .facts")), ""); !strings.Contains(got, strings.ReplaceAll(wantMade, " ", "")) {
		o.t.Errorf("checked: %s", got)
	}
	if n := len(o.conversations()); n != before {
		o.t.Errorf("the check made %d conversations", n-before)
	}
	if scripts {
		browser.Eval[any](tab, `document.querySelector("#errand details.numbers").open = true`)
		o.eachView(tab, check, "import-checked")
	}
	at := tab.Location()
	if !regexp.MustCompile(`/settings/import/[a-z0-9]{26}$`).MatchString(at) {
		o.t.Errorf("checked, at %s", at)
	}
	pressButton(tab, scripts, "button[form=start]")
	o.errandIs(tab, scripts, "Import finished")
	if n := len(o.conversations()); n != 7 {
		o.t.Errorf("%d conversations", n)
	}
	if scripts {
		o.eachView(tab, check, "import-done")
		if report := browser.Eval[string](tab, `fetch(location.href + "/report").then((r) => r.text())`); !strings.Contains(report, "conversations: 7\n") || !strings.Contains(report, "problem: ") {
			o.t.Errorf("the report: %s", report)
		}
	}
	tab.Open(o.at + "/settings/import")
	if tab.Location() != at {
		o.t.Errorf("the import is at %s", tab.Location())
	}
	o.deleteErrand(tab, scripts)
	testenv.Eventually(o.t, "another import can begin", func() bool { return strings.Contains(seen(tab, "#main"), "Upload and check") })
}

// importsMail imports a file of old mail, whose threads become conversations.
func (o *office) importsMail(tab *browser.Tab) {
	o.t.Helper()
	before := len(o.conversations())
	const mails = "From ada@example.com Mon Nov  2 09:00:00 2026\nFrom: Ada <ada@example.com>\nTo: support@example.org\nSubject: The lamp flickers\nDate: Mon, 2 Nov 2026 09:00:00 +0000\nMessage-ID: <lamp@example.com>\n\nIs it broken?\n\n" +
		"From support@example.org Mon Nov  2 10:00:00 2026\nFrom: support@example.org\nTo: ada@example.com\nSubject: Re: The lamp flickers\nDate: Mon, 2 Nov 2026 10:00:00 +0000\nMessage-ID: <answer@example.org>\nIn-Reply-To: <lamp@example.com>\n\nTurn the bulb.\n\n" +
		"From bo@example.com Mon Nov  2 11:00:00 2026\nFrom: Bo <bo@example.com>\nTo: support@example.org\nSubject: A new shade\nDate: Mon, 2 Nov 2026 11:00:00 +0000\nMessage-ID: <shade@example.com>\n\nWhich fits?\n"
	file := filepath.Join(o.t.TempDir(), "old.mbox")
	write(o.t, file, mails)
	tab.Open(o.at + "/settings/import")
	browser.Eval[any](tab, `document.querySelector("[name=source]").value = "mail"`)
	tab.Choose("[name=file]", file)
	tab.Click(".page .primary")
	o.errandIs(tab, true, "Check finished")
	tab.Click("button[form=start]")
	o.errandIs(tab, true, "Import finished")
	if n := len(o.conversations()) - before; n != 2 {
		o.t.Errorf("%d conversations were made of two threads", n)
	}
	o.deleteErrand(tab, true)
	testenv.Eventually(o.t, "another import can begin", func() bool { return strings.Contains(seen(tab, "#main"), "Upload and check") })
}

func (o *office) deleteErrand(tab *browser.Tab, scripts bool) {
	o.t.Helper()
	gone := tab.Location()
	tab.Click("#errand .confirm > summary")
	pressButton(tab, scripts, "#errand .confirm form .danger")
	if !scripts {
		return
	}
	testenv.Eventually(o.t, "the deleted errand's page is left", func() bool { return tab.Location() != gone || seen(tab, "#errand .confirm") == "" })
	for _, p := range tab.Problems() { // an event may have refreshed the page just when it was deleted
		if p != gone+": status 404" {
			o.t.Errorf("%s: %s", gone, p)
		}
	}
}

// exports exports the account, and imports the file as another one.
func (o *office) exports(tab *browser.Tab, check *pageChecker, scripts bool) {
	o.t.Helper()
	tab.Open(o.at + "/settings/export")
	if scripts {
		o.eachView(tab, check, "export")
	}
	pressButton(tab, scripts, "#errand .primary")
	o.errandIs(tab, scripts, "Export finished")
	if scripts {
		o.eachView(tab, check, "export-done")
	}
	link := browser.Eval[string](tab, `document.querySelector("#errand a.primary").href`)
	if status := o.call("GET", link, nil, nil); status == http.StatusOK {
		o.t.Error("whoever has the address gets the file")
	}
	file := filepath.Join(o.t.TempDir(), "account.tar.zst")
	content := browser.Eval[string](tab, fmt.Sprintf(`fetch(%q).then((r) => r.arrayBuffer()).then((b) => Array.from(new Uint8Array(b), (c) => c.toString(16).padStart(2, "0")).join(""))`, link))
	write(o.t, file, unhex(o.t, content))
	if out, err := o.command("account", "import", file); err != nil || !strings.Contains(out, ` is "`) {
		o.t.Errorf("%v: %s", err, out)
	}
	o.deleteErrand(tab, scripts)
	testenv.Eventually(o.t, "another export can begin", func() bool { return strings.Contains(seen(tab, "#errand"), "Start export") })
}

func unhex(t *testing.T, text string) string {
	t.Helper()
	var out []byte
	if _, err := fmt.Sscanf(text, "%x", &out); err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// refusals uploads what is no export: the page says why it fails.
func (o *office) refusals(tab *browser.Tab) {
	o.t.Helper()
	folder := o.t.TempDir()
	evil := filepath.Join(folder, "evil.zip")
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	if _, err := w.Create("../../evil.txt"); err != nil {
		o.t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		o.t.Fatal(err)
	}
	write(o.t, evil, out.String())
	empty := filepath.Join(folder, "notes.json")
	write(o.t, empty, "[]")
	for file, want := range map[string]string{evil: "a path that leads out of it", empty: "There is nothing to import"} {
		tab.Open(o.at + "/settings/import")
		tab.Choose("[name=file]", file)
		tab.Click(".page .primary")
		o.errandIs(tab, true, want)
		tab.Wait("button[form=resume]")
		picture(o.t, tab, os.Getenv(testenv.EnvScreens), "import-failed")
		o.deleteErrand(tab, true)
		testenv.Eventually(o.t, "another import can begin", func() bool { return strings.Contains(seen(tab, "#main"), "Upload and check") })
	}
}

// send uploads a file as a browser without scripts does, and returns the page of the import.
func (v *visitor) send(file string) string {
	v.t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		v.t.Fatal(err)
	}
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, value := range map[string]string{"source": "zendesk", "mailbox": "1"} {
		if err := w.WriteField(name, value); err != nil {
			v.t.Fatal(err)
		}
	}
	part, err := w.CreateFormFile("file", filepath.Base(file))
	if err == nil {
		_, err = part.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		v.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, v.base+"/desk/a/1/settings/import", &body)
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set("Content-Type", w.FormDataContentType())
	r.Header.Set("Origin", v.base)
	res, err := v.http.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	if text, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusOK {
		v.t.Fatalf("%d: %s", res.StatusCode, text)
	}
	return res.Request.URL.Path
}

// TestImportKilled kills the server while it imports what a member has uploaded, stops the import, and resumes it: in the end
// everything is there once.
func TestImportKilled(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, database string) {
		const tickets = 600
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+database)
		s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
		var me object[struct{ Email string }]
		s.ok("PUT", "/user", url.Values{"name": {"Maja"}, "password": {officePassword}}, &me)
		folder := t.TempDir()
		exportTickets(t, folder, tickets)
		v := s.visitor()
		v.visit("/desk/sign-in", url.Values{"email": {me.Data.Email}, "password": {officePassword}})
		at := v.send(zipFolder(t, folder))
		is := func(states ...string) string {
			t.Helper()
			found := ""
			testenv.Eventually(t, fmt.Sprintf("the import: %q", states), func() bool {
				_, page, _ := v.visit(at, nil)
				_, page, _ = strings.Cut(page, `class="run"`)
				for _, state := range states {
					if strings.Contains(page, state) {
						found = state
					}
				}
				return found != ""
			})
			return found
		}
		is("Check finished")
		v.visit(at+"/start", url.Values{})
		begun := func(n int) {
			t.Helper()
			testenv.Eventually(t, "some are imported", func() bool {
				var page object[[]struct{ ID int64 }]
				s.ok("GET", fmt.Sprintf("/accounts/1/conversations?limit=%d", min(n, 100)), nil, &page)
				return len(page.Data) >= min(n, 100)
			})
		}
		begun(1)
		s.kill()
		s.start()
		begun(60)
		s.kill()
		s.start()
		v.visit(at+"/stop", url.Values{})
		if is("Stopped", "Import finished") == "Stopped" {
			v.visit(at+"/resume", url.Values{})
		}
		is("Import finished")
		counts := map[int]int{}
		for _, c := range s.conversations() {
			counts[len(s.interactions(c.ID))]++
		}
		if diff := cmp.Diff(map[int]int{3: tickets, 601: 1}, counts); diff != "" {
			t.Error(diff)
		}
		left, err := filepath.Glob(filepath.Join(s.dir, "data", "errands", "*"))
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
}

// TestBackupState makes backups: the desk says when, how large they are, and whether they succeeded.
func TestBackupState(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, database string) {
		o := newOffice(t, database)
		tab := o.owner(browser.View{})
		check := newPageChecker(t)
		shows := func(name string, texts ...string) {
			t.Helper()
			tab.Open(o.at + "/health")
			for _, text := range texts {
				if got := seen(tab, "#backup"); !strings.Contains(got, text) {
					t.Errorf("%s: no %q in %s", name, text, got)
				}
			}
			browser.Eval[any](tab, `document.querySelector("#backup").scrollIntoView()`)
			o.eachView(tab, check, name)
		}
		shows("backup-none", "No backup yet", "helpwright backup")
		out, err := o.command("backup", "backup.tar.zst")
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		shows("backup-made", "Succeeded", "Last backup", "KB")
		if out, err := o.command("backup", "--verify", "backup.tar.zst"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		shows("backup-verified", "Succeeded", "Checked")
		if err := os.WriteFile(filepath.Join(o.dir, "full"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := o.command("backup", "full/backup.tar.zst"); err == nil {
			t.Fatal(out)
		}
		shows("backup-failed", "Failed", "Last backup", "Last attempt")
		if got := seen(tab, "#needs"); !strings.Contains(got, "The last backup failed") {
			t.Errorf("needs attention: %s", got)
		}
		check.valid()
	})
}
