package helpdesk

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage/plain"
)

// mailCommands are the commands in the first lines of a member's mail.
type mailCommands struct {
	Forward  bool // the message forwards another one
	Note     bool // the text is for members only
	Status   Status
	Assign   string // an address, or "me"
	Team     string // a team's name, in addition to Assign
	Unassign bool
	Tags     []string
	Snooze   time.Time
	Text     string // text after @note or @fwd on the same line
}

const (
	maxCommands = 20
	// mailMorning is the time of day at which a conversation snoozed until a day wakes.
	mailMorning = 8 * time.Hour
)

// commandLine normalises the variants of a line that mail clients and keyboards produce.
func commandLine(line string) string {
	line = strings.Map(func(r rune) rune {
		switch {
		case r == '＠':
			return '@'
		case unicode.IsSpace(r):
			return ' '
		case unicode.Is(unicode.Cf, r), unicode.IsControl(r):
			return -1
		}
		return r
	}, line)
	return strings.TrimSpace(line)
}

// isCommand reports whether a line is a command.
func isCommand(line string) bool { return strings.HasPrefix(commandLine(line), "@") }

// readCommands parses the lines above a text. Its error describes the problem to people. If any part is not understood,
// nothing of the mail is done.
func readCommands(lines []string, now time.Time) (mailCommands, error) {
	var c mailCommands
	if len(lines) > maxCommands {
		return mailCommands{}, fmt.Errorf("it has more than %d commands", maxCommands)
	}
	for _, line := range lines {
		line = commandLine(line)
		name, rest, _ := strings.Cut(strings.TrimPrefix(line, "@"), " ")
		if err := c.read(strings.ToLower(name), strings.TrimSpace(rest), now); err != nil {
			return mailCommands{}, fmt.Errorf("%q: %w", plain.Cut(line, 100), err)
		}
	}
	if c.Status == StatusClosed && !c.Snooze.IsZero() {
		return mailCommands{}, fmt.Errorf("@close and @snooze contradict each other")
	}
	return c, nil
}

func (c *mailCommands) read(name, rest string, now time.Time) error {
	switch name {
	case "note", "fwd":
		return c.readText(name, rest)
	case "close", "reopen":
		status := map[string]Status{"close": StatusClosed, "reopen": StatusPosted}[name]
		switch {
		case rest != "":
			return fmt.Errorf("the text has to begin on a line of its own")
		case c.Status != "" && c.Status != status:
			return fmt.Errorf("@close and @reopen contradict each other")
		}
		c.Status = status
	case "assign":
		return c.readAssign(strings.Trim(rest, "<> "))
	case "unassign":
		if rest != "" || c.Assign != "" {
			return fmt.Errorf("the conversation can be assigned to one only, or to nobody")
		}
		c.Unassign = true
	case "tag":
		return c.readTags(rest)
	case "snooze":
		until, err := readSnooze(rest, now)
		if err != nil {
			return err
		}
		if !c.Snooze.IsZero() && !c.Snooze.Equal(until) {
			return fmt.Errorf("it can be put off until one time only")
		}
		c.Snooze = until
	default:
		return fmt.Errorf("there is no such command; there are @note, @close, @reopen, @assign, @unassign, @tag and @snooze")
	}
	return nil
}

// readAssign parses an assignee. Anything that is not an address names a team.
func (c *mailCommands) readAssign(rest string) error {
	who := strings.ToLower(rest)
	if who != "me" && rest != "" && len(rest) <= 400 && !strings.Contains(rest, "@") {
		if c.Team != "" && tagKey(c.Team) != tagKey(rest) {
			return fmt.Errorf("the conversation can be assigned to one team only")
		}
		c.Team = rest
		return nil
	}
	if who != "me" && !mailaddr.Valid(rest) {
		return fmt.Errorf("say whom: @assign me, or @assign and the address of a colleague, or the name of a team")
	}
	if c.Unassign || c.Assign != "" && c.Assign != who {
		return fmt.Errorf("the conversation can be assigned to one only")
	}
	c.Assign = who
	return nil
}

// readText parses a command that text may follow.
func (c *mailCommands) readText(name, rest string) error {
	if rest != "" && c.Text != "" {
		return fmt.Errorf("the text begins twice")
	}
	if rest != "" {
		c.Text = rest
	}
	if name == "note" {
		c.Note = true
	} else {
		c.Forward = true
	}
	return nil
}

func (c *mailCommands) readTags(rest string) error {
	before := len(c.Tags)
	for _, tag := range strings.FieldsFunc(rest, func(r rune) bool { return r == ',' || r == '，' || r == ';' }) {
		if tag = strings.TrimPrefix(strings.TrimSpace(tag), "#"); tag != "" && !slices.Contains(c.Tags, tag) {
			c.Tags = append(c.Tags, tag)
		}
	}
	if rest == "" || len(c.Tags) == before && before == 0 {
		return fmt.Errorf("say which tags, with commas between them")
	}
	if len(c.Tags) > MaxTags {
		return fmt.Errorf("these are more than %d tags", MaxTags)
	}
	return nil
}

var snoozeFor = regexp.MustCompile(`^(?i)(?:for )?(\d{1,4}) ?(h|hours?|d|days?|w|weeks?)$`)

// readSnooze parses how long, or until when, a conversation is snoozed. Times are in UTC.
func readSnooze(rest string, now time.Time) (time.Time, error) {
	rest = strings.TrimPrefix(strings.ToLower(rest), "until ")
	if found := snoozeFor.FindStringSubmatch(rest); found != nil {
		n, _ := strconv.Atoi(found[1]) // only digits
		unit := map[byte]time.Duration{'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}[strings.ToLower(found[2])[0]]
		if n > 0 {
			return now.Add(time.Duration(n) * unit), nil
		}
	}
	if rest == "tomorrow" {
		return now.Truncate(24 * time.Hour).Add(24*time.Hour + mailMorning), nil
	}
	if at, err := time.Parse("2006-01-02 15:04", strings.Replace(rest, "t", " ", 1)); err == nil {
		return at, nil
	}
	if day, err := time.Parse(time.DateOnly, rest); err == nil {
		return day.Add(mailMorning), nil
	}
	return time.Time{}, fmt.Errorf("say how long or until when: @snooze 4h, 2d, 1w, tomorrow or 2030-12-31")
}

// acts reports whether the commands change the conversation.
func (c mailCommands) acts() bool {
	return c.Status != "" || c.Assign != "" || c.Team != "" || c.Unassign || len(c.Tags) > 0 || !c.Snooze.IsZero()
}

// String names the commands, for the ledger.
func (c mailCommands) String() string {
	var all []string
	add := func(given bool, name string) {
		if given {
			all = append(all, name)
		}
	}
	add(c.Note, "@note")
	add(c.Status == StatusClosed, "@close")
	add(c.Status == StatusPosted, "@reopen")
	add(c.Assign != "", "@assign "+c.Assign)
	add(c.Team != "", "@assign "+c.Team)
	add(c.Unassign, "@unassign")
	add(len(c.Tags) > 0, "@tag "+strings.Join(c.Tags, ", "))
	add(!c.Snooze.IsZero(), "@snooze "+c.Snooze.UTC().Format("2006-01-02 15:04"))
	return strings.Join(all, ", ")
}
