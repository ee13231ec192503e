package demo

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

//go:embed stories
var storyFiles embed.FS

// story is a correspondence between a customer and the company.
type story struct {
	locale  string
	mailbox string   // "support" or "orders"
	tags    []string // names
	photo   string   // file attached to the first mail; "" for none
	copied  string   // address in Cc of the customer's mails; "" for none
	subject string
	lines   []line
}

// line is one message of a story.
type line struct {
	by   byte // one of the constants below
	text string
}

// Authors of lines.
const (
	byCustomer = '>'
	byMember   = '<'
	byNote     = '!'
)

// readStories reads the stories of all languages.
func readStories() (map[string][]story, error) {
	all := map[string][]story{}
	names, err := fs.Glob(storyFiles, "stories/*.txt")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := storyFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		locale := strings.TrimSuffix(path.Base(name), ".txt")
		for i, part := range strings.Split("\n"+string(text), "\n## ")[1:] {
			s, err := parseStory(part)
			if err != nil {
				return nil, fmt.Errorf("%s, story %d: %w", name, i+1, err)
			}
			s.locale = locale
			all[locale] = append(all[locale], s)
		}
	}
	return all, nil
}

// parseStory parses "mailbox | tags | subject", a photo and an address in copy if there are any, and the messages below, each of which begins with its author.
func parseStory(text string) (story, error) {
	head, body, _ := strings.Cut(text, "\n")
	fields := strings.Split(head, " | ")
	if len(fields) < 3 || len(fields) > 5 {
		return story{}, fmt.Errorf("the head is %q", head)
	}
	s := story{mailbox: fields[0], tags: strings.Split(fields[1], ", "), subject: fields[2]}
	for _, more := range fields[3:] {
		if strings.Contains(more, "@") {
			s.copied = more
		} else {
			s.photo = more
		}
	}
	for row := range strings.Lines(body) {
		row = strings.TrimRight(row, "\n")
		by, said, begins := strings.Cut(row, " ")
		switch {
		case begins && len(by) == 1 && strings.Contains("><!", by):
			s.lines = append(s.lines, line{by: by[0], text: said})
		case len(s.lines) > 0:
			s.lines[len(s.lines)-1].text += "\n" + row
		}
	}
	for i := range s.lines {
		s.lines[i].text = strings.TrimSpace(s.lines[i].text)
	}
	if len(s.lines) == 0 || s.lines[0].by != byCustomer {
		return story{}, errors.New("a customer begins it")
	}
	return s, nil
}

// lastAnswer returns the index of a member's last message.
func (s story) lastAnswer() int {
	for i, l := range slices.Backward(s.lines) {
		if l.by == byMember {
			return i
		}
	}
	return -1
}
