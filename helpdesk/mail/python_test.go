package mail_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/storage/testenv"
)

const differences = "testdata/python/differences.txt"

// TestPython compares the results of Parse with those of Python's email package. Each difference must be in differences.txt,
// which explains for each class which one is right and why. The mails are those of testdata and, if available, of the
// corpus.
func TestPython(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		testenv.Skip(t, "no python3")
	}
	listed := readDifferences(t)
	t.Run("testdata", func(t *testing.T) {
		t.Parallel()
		compareWithPython(t, ".", listed)
	})
	t.Run("corpus", func(t *testing.T) {
		t.Parallel()
		compareWithPython(t, testenv.Corpus(t), listed)
	})
}

// readDifferences gives the class of each difference that is listed, by file and field.
func readDifferences(t *testing.T) map[string]string {
	t.Helper()
	content, err := os.ReadFile(differences)
	if err != nil {
		t.Fatal(err)
	}
	classes, used, listed := map[string]bool{}, map[string]bool{}, map[string]string{}
	for n, line := range strings.Split(string(content), "\n") {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || f[0] == "#":
		case f[0] == "class" && len(f) > 5 && (f[2] == "ours" || f[2] == "python" || f[2] == "both"):
			classes[f[1]] = true
		case f[0] == "diff" && len(f) == 4 && classes[f[2]]:
			listed[f[3]+" "+f[1]] = f[2]
			used[f[2]] = true
		default:
			t.Errorf("%s:%d: neither a class with its reason nor a difference of a class above", differences, n+1)
		}
	}
	for class := range classes {
		if !used[class] {
			t.Errorf("%s: no difference is of class %s", differences, class)
		}
	}
	return listed
}

// pythonMail is the output of testdata/python/read.py for a mail. A field that Python could not read is an object with the
// error's name.
type pythonMail struct {
	File                                         string
	Subject, From, Date, Text, HTML, Attachments json.RawMessage
}

func compareWithPython(t *testing.T, root string, listed map[string]string) {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".eml") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "python3", "testdata/python/read.py")
	cmd.Stdin = strings.NewReader(strings.Join(files, "\n"))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	seen, found := map[string]bool{}, map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var python pythonMail
		if err := d.Decode(&python); err != nil {
			t.Fatal(err)
		}
		name, _ := filepath.Rel(root, python.File)
		seen[name] = true
		for field, text := range differ(t, python) {
			found[name+" "+field] = text
		}
	}
	if len(seen) != len(files) {
		t.Errorf("Python read %d mails of %d", len(seen), len(files))
	}
	for _, at := range slices.Sorted(maps.Keys(found)) {
		if listed[at] == "" {
			t.Errorf("not listed: %s\n%s", at, found[at])
		}
	}
	for at, class := range listed {
		if file, _, _ := strings.Cut(at, " "); seen[file] && found[at] == "" {
			t.Errorf("no difference any more: %s (%s)", at, class)
		}
	}
	t.Logf("%d mails, %d differences", len(seen), len(found))
}

// differ returns the fields of a mail that differ, and how.
func differ(t *testing.T, python pythonMail) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(python.File)
	if err != nil {
		t.Fatal(err)
	}
	m, err := mail.Parse(raw, mail.Limits{})
	if err != nil {
		return map[string]string{"all": err.Error()}
	}
	out := map[string]string{}
	compare := func(field, ours string, theirs json.RawMessage, say func() (string, error)) {
		text, err := say()
		if err != nil {
			text = "cannot be compared: " + string(theirs)
		}
		if text != ours {
			from := 0
			for from < min(len(ours), len(text)) && ours[from] == text[from] {
				from++
			}
			from = max(0, from-40)
			out[field] = fmt.Sprintf("\tours:   ...%.200q\n\tPython: ...%.200q", ours[from:], text[from:])
		}
	}
	compare("subject", squash(m.Subject), python.Subject, func() (string, error) {
		var s string
		err := json.Unmarshal(python.Subject, &s)
		return squash(s), err
	})
	from := ""
	for _, a := range m.From {
		from += fmt.Sprintf("%s <%s> ", squash(a.Name), strings.ToLower(a.Email))
	}
	compare("from", from, python.From, func() (s string, err error) {
		var list [][2]string
		err = json.Unmarshal(python.From, &list)
		for _, a := range list {
			s += fmt.Sprintf("%s <%s> ", squash(a[0]), strings.ToLower(a[1]))
		}
		return s, err
	})
	date := ""
	if !m.Date.IsZero() {
		date = fmt.Sprint(m.Date.Unix())
	}
	compare("date", date, python.Date, func() (string, error) {
		var n *int64
		if err := json.Unmarshal(python.Date, &n); n == nil || err != nil {
			return "", err
		}
		return fmt.Sprint(*n), nil
	})
	compare("text", squash(m.Text), python.Text, func() (string, error) { return joined(python.Text) })
	compare("html", squash(m.HTML), python.HTML, func() (string, error) { return joined(python.HTML) })
	var names []string
	for _, a := range m.Attachments {
		names = append(names, a.Filename)
	}
	compare("attachments", strings.Join(names, "|"), python.Attachments, func() (string, error) {
		var list []*string
		err := json.Unmarshal(python.Attachments, &list)
		var theirs []string
		for i, name := range list {
			switch {
			case name != nil:
				theirs = append(theirs, *name)
			case i < len(names):
				theirs = append(theirs, names[i]) // it has no name: ours is made up
			default:
				theirs = append(theirs, "")
			}
		}
		return strings.Join(theirs, "|"), err
	})
	return out
}

func joined(list json.RawMessage) (string, error) {
	var texts []string
	err := json.Unmarshal(list, &texts)
	return squash(strings.Join(texts, "\n")), err
}

// squash makes texts that differ in white space alone the same.
func squash(s string) string {
	return strings.Join(strings.Fields(strings.TrimPrefix(s, "\uFEFF")), " ")
}
