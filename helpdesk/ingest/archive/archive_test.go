package archive_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/ingest/archive"
	"github.com/helpwright/helpwright/storage/testenv"
)

// open reads an archive and returns its content: of each mail the path, the line, the sender and the text, and the parts
// left out.
func open(t testing.TB, cfg archive.Config) (mails, skipped []string) {
	t.Helper()
	a, err := archive.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range a.Mails {
		raw, err := a.Mail(e, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		_, body, _ := strings.Cut(strings.ReplaceAll(string(raw), "\r\n", "\n"), "\n\n")
		mails = append(mails, fmt.Sprintf("%s:%d %s %q", e.Path, e.Line, e.From, body))
	}
	for _, s := range a.Skipped {
		skipped = append(skipped, fmt.Sprintf("%s: %s (%d)", s.Path, s.Reason, s.Mails))
	}
	return mails, skipped
}

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

func TestMbox(t *testing.T) {
	t.Parallel()
	const dated, header = "From a@x.example Mon Mar  2 10:00:00 2020\n", "From: a@x.example\n\n"
	for name, c := range map[string]struct {
		file          string
		mails, others []string
	}{
		"two": {dated + header + "one\n\n" + dated + header + "two\n\n", []string{`box:2 a@x.example "one\n"`, `box:7 a@x.example "two\n"`}, nil},
		"lines that end in CRLF": {
			strings.ReplaceAll(dated+header+"one\n\n"+dated+header+"two\n", "\n", "\r\n"), []string{`box:2 a@x.example "one\n"`, `box:7 a@x.example "two\n"`}, nil,
		},
		"the end is missing":      {dated + header + "one", []string{`box:2 a@x.example "one"`}, nil},
		"quoted lines":            {dated + header + ">From here\n>>From there\n>Fromage\n", []string{`box:2 a@x.example "From here\n>From there\n>Fromage\n"`}, nil},
		"a text that says From":   {dated + header + "one\n\nFrom here on it works, at 10:00 in 2020\n", []string{`box:2 a@x.example "one\n\nFrom here on it works, at 10:00 in 2020\n"`}, nil},
		"no empty line between":   {dated + header + "one\n" + dated + header + "two\n", []string{`box:2 a@x.example "one\n"`, `box:6 a@x.example "two\n"`}, nil},
		"a header that is broken": {dated + header + "one\n\n" + dated + "  lost\n\ntwo\n", []string{`box:2 a@x.example "one\n"`, `box:7  "two\n"`}, nil},
		"as Thunderbird writes it": {
			"From - Mon Mar 02 10:00:00 2020\nX-Mozilla-Status: 0009\n" + header + "gone\n\nFrom - Mon Mar 02 10:00:00 2020\nX-Mozilla-Status: 0001\n" + header + "here\n",
			[]string{`box:8 a@x.example "here\n"`}, []string{"box: they are marked as deleted (1)"},
		},
		"as Gmail exports it": {
			"From 1555555555555555555@xxx Thu Jan 01 00:00:00 +0000 2015\n" + header + "one\n\nFrom 15@xxx Thu Jan 01 00:00:00 +0000 2015\n" + header + "two\n",
			[]string{`box:2 a@x.example "one\n"`, `box:7 a@x.example "two\n"`}, nil,
		},
		"drafts and deleted ones": {
			dated + "X-Status: AT\n" + header + "draft\n\n" + dated + "X-Status: D\n" + header + "gone\n", nil, []string{"box: they are drafts (1)", "box: they are marked as deleted (1)"},
		},
		"as Dovecot begins it": {
			dated + "Subject: DON'T DELETE THIS MESSAGE -- FOLDER INTERNAL DATA\nX-IMAP: 1583143200 0000000001\n\nThis text is part of it.\n\n" + dated + header + "one\n",
			[]string{`box:8 a@x.example "one\n"`}, []string{"box: they hold data of the mail server (1)"},
		},
		"an empty mail":    {dated + "\n" + dated + header + "two\n", []string{`box:4 a@x.example "two\n"`}, []string{"box: they are empty (1)"}},
		"only a separator": {dated, nil, []string{"box: they are empty (1)"}},
		"another file":     {"Dear diary,\nFrom 10:00 on it rained in 2020.\n", nil, []string{"box: it is no mbox file, no Maildir's and no .eml file (0)"}},
		"an empty file":    {"", nil, []string{"box: it is no mbox file, no Maildir's and no .eml file (0)"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mails, others := open(t, archive.Config{Files: fstest.MapFS{"box": file(c.file)}})
			if diff := cmp.Diff([][]string{c.mails, c.others}, [][]string{mails, others}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Folders are read with those below, and the mails of all come in the order in which they were sent.
func TestFolders(t *testing.T) {
	t.Parallel()
	mail := func(day int, text string) *fstest.MapFile {
		return file(fmt.Sprintf("From: a@x.example\nDate: %d Mar 2020 10:00:00 +0000\n\n%s\n", day, text))
	}
	files := fstest.MapFS{
		"M/cur/1583100000.a:2,S": mail(3, "third"), "M/new/1583100000.b": mail(1, "first"), "M/tmp/1583100000.c": mail(1, "half"), "M/cur/1583100000.d:2,DS": mail(1, "draft"),
		"M/cur/1583100000.e;2,T": mail(1, "gone"), "M/.Sent/cur/1583100000.f!2,S": mail(2, "second"), "M/.Sent/new/.keep": file(""), "M/.Sent/maildirfolder": file(""),
		"M/.INBOX.Trash/cur/1.g": mail(1, "trash"), "M/.INBOX.Trash/new/1.h": mail(1, "trash"),
		"M/cur/.keep": file(""), "M/dovecot-uidlist": file("3"),
		"one.eml": mail(4, "fourth"), "Sent.mbox/mbox": file("From a Thu Mar  5 10:00:00 2020\nFrom: b@x.example\n\nfifth\n"), "Junk": file("From a Thu Mar  5 10:00:00 2020\n\n\n"),
		"notes.txt": file("Hello"), "Inbox.msf": file("x"), "undated/cur/1583800000.i": file("From: c@x.example\n\nlast\n"), "undated/new/.keep": file(""),
	}
	delete(files, "M/cur/.keep")
	mails, skipped := open(t, archive.Config{Files: files})
	if diff := cmp.Diff([]string{
		`M/new/1583100000.b:0 a@x.example "first\n"`, `M/.Sent/cur/1583100000.f!2,S:0 a@x.example "second\n"`, `M/cur/1583100000.a:2,S:0 a@x.example "third\n"`,
		`one.eml:0 a@x.example "fourth\n"`, `Sent.mbox/mbox:2 b@x.example "fifth\n"`, `undated/cur/1583800000.i:0 c@x.example "last\n"`,
	}, mails); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		"Junk: it has spam; name it to import it (0)", "M/.INBOX.Trash: it has deleted mails; name it to import it (0)", "M/.Sent/new/.keep: it is empty (1)",
		"M/cur/1583100000.d:2,DS: it is a draft (1)", "M/cur/1583100000.e;2,T: it is marked as deleted (1)",
		"notes.txt: it is no mbox file, no Maildir's and no .eml file (0)", "undated/new/.keep: it is empty (1)",
	}, skipped); diff != "" {
		t.Error(diff)
	}
	if mails, _ := open(t, archive.Config{Files: files, Path: "M/.INBOX.Trash"}); len(mails) != 2 {
		t.Errorf("a folder that is named: %q", mails)
	}
}

// A mail that is too long comes cut, and a file that has become shorter is an error.
func TestMailOfAnArchive(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"a.eml": file("From: a@x.example\n\n" + strings.Repeat("x", 1000))}
	a, err := archive.Open(t.Context(), archive.Config{Files: files})
	if err != nil || len(a.Mails) != 1 {
		t.Fatal(a, err)
	}
	if raw, err := a.Mail(a.Mails[0], 100); len(raw) != 100 || err != nil || a.Mails[0].Size != 1019 {
		t.Errorf("%d bytes of %d, %v", len(raw), a.Mails[0].Size, err)
	}
	files["a.eml"].Data = files["a.eml"].Data[:500]
	if _, err := a.Mail(a.Mails[0], 1<<20); err == nil {
		t.Error("a file that has become shorter is no error")
	}
	if _, err := archive.Open(t.Context(), archive.Config{Files: files, Path: "nowhere"}); !os.IsNotExist(err) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := archive.Open(ctx, archive.Config{Files: files}); err == nil {
		t.Error("what was cancelled is no error")
	}
}

func TestLeftOut(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		".Drafts": "drafts", ".INBOX.Trash": "deleted mails", "Junk.mbox": "spam", "Deleted Items": "deleted mails", "Trash.sbd": "deleted mails",
		".Sent": "", "INBOX": "", "Spammers anonymous": "", "trash-talk": "", "": "", ".": "",
	} {
		if got := archive.LeftOut(name); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
}

// Reading takes time in proportion to the size, whatever a file has.
func TestGrowth(t *testing.T) { //nolint:paralleltest // it measures
	for name, unit := range map[string]string{
		"mails":      "From a Mon Mar  2 10:00:00 2020\nFrom: a@x.example\n\nHello\n\n",
		"separators": "From a Mon Mar  2 10:00:00 2020\n",
		"long line":  "From a Mon Mar  2 10:00:00 2020 ",
		"quotes":     ">From a\n",
		"header":     "X: y\n",
		"empty":      "\n",
	} {
		t.Run(name, func(t *testing.T) {
			testenv.Growth(t, 4_000, func(n int) func() {
				text := "From a Mon Mar  2 10:00:00 2020\nFrom: a@x.example\n" + strings.Repeat(unit, n)
				return func() {
					a, err := archive.Open(t.Context(), archive.Config{Files: fstest.MapFS{"box": file(text)}})
					if err != nil {
						t.Error(err)
						return
					}
					if len(a.Mails) > 0 {
						if _, err := a.Mail(a.Mails[0], 1<<30); err != nil {
							t.Error(err)
						}
					}
				}
			})
		})
	}
}

// For any file: each mail is within it, after the previous one, and can be read.
func FuzzMbox(f *testing.F) {
	for _, seed := range []string{
		"", "From a Mon Mar  2 10:00:00 2020\n", "From a Mon Mar  2 10:00:00 2020\nFrom: a@x.example\n\none\n\nFrom a Mon Mar  2 10:00:00 2020\n\n\n>From x\n",
		"From a 10:00 2020\r\nX-Status: D\r\n\r\n\r\nFrom a 10:00 2020\r\nX: y", "From - Mon Mar 02 10:00:00 2020\nX-Mozilla-Status: zz\n\n",
	} {
		f.Add([]byte(seed))
	}
	quotes := regexp.MustCompile(`>+From `)
	plain := func(b []byte) []byte { return quotes.ReplaceAll(b, []byte("From ")) }
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := archive.Open(t.Context(), archive.Config{Files: fstest.MapFS{"box": {Data: data, ModTime: time.Unix(1, 0)}}})
		if err != nil {
			t.Fatal(err)
		}
		total := int64(0)
		for _, e := range a.Mails {
			raw, err := a.Mail(e, 1<<30)
			if err != nil || int64(len(raw)) > e.Size || e.Size <= 0 || e.Line < 2 {
				t.Fatalf("%+v: %d bytes, %v", e, len(raw), err)
			}
			if !bytes.Contains(plain(data), plain(raw)) {
				t.Fatalf("%q is not in the file", raw)
			}
			total += e.Size
		}
		if total > int64(len(data)) {
			t.Fatalf("the mails have %d bytes of %d", total, len(data))
		}
	})
}
