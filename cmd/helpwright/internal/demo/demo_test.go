package demo

import (
	"bytes"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk/deskfolder"
	"github.com/helpwright/helpwright/kb/exchange"
)

// articles are the keys of the help centre's articles.
func articles(t *testing.T) []string {
	t.Helper()
	site, err := exchange.Read(content())
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, c := range site.Collections {
		if icons()[c.Key] == "" {
			t.Errorf("the collection %s has no icon", c.Key)
		}
		for _, a := range c.Articles {
			keys = append(keys, a.Key)
		}
	}
	return keys
}

// The folder is as an export writes it, being the example of its format.
func TestContent(t *testing.T) {
	t.Parallel()
	site, err := exchange.Read(content())
	if err != nil {
		t.Fatal(err)
	}
	err = exchange.Write(site, func(name string, written io.Reader) error {
		want, err := io.ReadAll(written)
		if err != nil {
			return err
		}
		if got, err := fs.ReadFile(content(), name); err != nil || !bytes.Equal(want, got) {
			t.Errorf("%s is not as it is written: %v", name, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// So is the desk's folder.
func TestSetup(t *testing.T) {
	t.Parallel()
	s, err := setup()
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := deskfolder.Save(s, root); err != nil {
		t.Fatal(err)
	}
	names, err := fs.Glob(deskFiles, "desk/*")
	if err != nil || len(names) != 10 {
		t.Fatalf("%d files: %v", len(names), err)
	}
	for _, name := range names {
		want, err := fs.ReadFile(root.FS(), filepath.Base(name))
		if got, _ := deskFiles.ReadFile(name); err != nil || !bytes.Equal(want, got) {
			t.Errorf("%s is not as it is saved: %v", name, err)
		}
	}
}

func TestStories(t *testing.T) {
	t.Parallel()
	all, err := readStories()
	if err != nil {
		t.Fatal(err)
	}
	keys, subjects, n := articles(t), map[string]bool{}, 0
	desk, err := setup()
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, tag := range desk.Tags {
		known = append(known, tag.Name)
	}
	f := &filler{random: rand.New(rand.NewPCG(1, 2)), members: staff()}
	for locale, stories := range all {
		n += len(stories)
		for _, s := range stories {
			if subjects[s.subject] {
				t.Errorf("%q is told twice", s.subject)
			}
			subjects[s.subject] = true
			for _, tag := range s.tags {
				if !slices.Contains(known, tag) {
					t.Errorf("%s: there is no tag %q", s.subject, tag)
				}
			}
			if s.mailbox != "support" && s.mailbox != "orders" || s.lastAnswer() < 0 {
				t.Errorf("%s: mailbox %q, answered in %d", s.subject, s.mailbox, s.lastAnswer())
			}
			if _, err := photos.ReadFile("stories/" + s.photo); s.photo != "" && err != nil {
				t.Error(err)
			}
			told := f.newTalk(s, &customer{first: "Ada", last: "Fairweather", city: "London", locale: locale})
			for _, l := range append(slices.Clone(s.lines), line{text: s.subject}) {
				for _, found := range helpLink.FindAllStringSubmatch(l.text, -1) {
					if !slices.Contains(keys, found[1]) {
						t.Errorf("%s: there is no article %s", s.subject, found[1])
					}
				}
				if text := told.details.Replace(helpLink.ReplaceAllString(l.text, "")); strings.ContainsAny(text, "{}") {
					t.Errorf("%s: %q", s.subject, text)
				}
			}
		}
	}
	if n < 60 {
		t.Errorf("there are %d stories", n)
	}
}

// Everybody lives through a story once only, and nothing happens before something that it follows from.
func TestTalks(t *testing.T) {
	t.Parallel()
	stories, err := readStories()
	if err != nil {
		t.Fatal(err)
	}
	// A Monday morning, after a weekend without anybody at work.
	now := time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC)
	f := &filler{now: now, random: rand.New(rand.NewPCG(1, 2)), members: staff(), customers: clientele()}
	talks := f.talks(stories)
	lived := map[string]bool{}
	for _, one := range talks {
		if key := one.who.email + one.subject; lived[key] {
			t.Errorf("%s lives through %q twice", one.who.email, one.subject)
		} else {
			lived[key] = true
		}
		if one.begin.After(now) || one.begin.Before(now.AddDate(0, 0, -days-1)) {
			t.Errorf("%q begins at %v", one.subject, one.begin)
		}
		steps := one.plan()
		if !slices.IsSortedFunc(steps, func(a, b step) int { return a.at.Compare(b.at) }) {
			t.Errorf("%q does not happen in order", one.subject)
		}
	}
	if len(talks) != conversations {
		t.Errorf("there are %d conversations", len(talks))
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	var c Clock
	past := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c.tick(past, time.Hour)
	if first, second := c.Now(), c.Now(); !first.Equal(past) || !second.Equal(past.Add(time.Hour)) {
		t.Errorf("it ticks from %v to %v", first, second)
	}
	c.Release()
	if now := c.Now(); time.Since(now) > time.Hour {
		t.Errorf("released it says %v", now)
	}
}

// A folder goes when its demo does, or with the next demo when that was killed.
func TestFolder(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	running, err := NewFolder()
	if err != nil {
		t.Fatal(err)
	}
	killed, err := NewFolder()
	if err != nil {
		t.Fatal(err)
	}
	_ = killed.lock.Close() // as the system does
	ended, err := NewFolder()
	if err != nil {
		t.Fatal(err)
	}
	if err := ended.Remove(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(temp, "*")); !slices.Equal(left, []string{running.Path}) {
		t.Errorf("left are %v of %s, %s and %s", left, running.Path, killed.Path, ended.Path)
	}
}
