package mail

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/message"
)

// longestCalendar bounds the text of one value, in bytes.
const longestCalendar = 10_000

// calendar is the first event or task of an iCalendar object (RFC 5545), as far as it is said in words.
type calendar struct {
	method    string
	values    map[string]calendarValue
	comments  []string
	attendees []attendee
}

type calendarValue struct {
	text   string
	params map[string]string
}

// attendee is a person who was invited, with the answer.
type attendee struct{ name, address, status, delegate string }

// answers reports whether the object says something that the mail's text need not say: an answer, or a change (RFC 5546).
func (c *calendar) answers() bool {
	return slices.Contains([]string{"REPLY", "COUNTER", "DECLINECOUNTER", "CANCEL", "REFRESH"}, c.method)
}

// calendarIn returns the first iCalendar object among the parts of a mail.
func calendarIn(parts []message.Part) *calendar {
	for _, ctype := range []string{"text/calendar", "application/ics"} {
		for _, a := range parts {
			if a.ContentType != ctype {
				continue
			}
			s, _ := decodeCharset(a.Body, a.Charset)
			if c := parseCalendar(cleanText(s)); c != nil {
				return c
			}
		}
	}
	return nil
}

// parseCalendar reads the first event or task; nil if there is none.
func parseCalendar(ics string) *calendar {
	ics = strings.NewReplacer("\n ", "", "\n\t", "").Replace(ics) // unfolded
	c := &calendar{values: map[string]calendarValue{}}
	inside := ""
	depth := 0 // in components inside the event, such as alarms
	for line := range strings.Lines(ics) {
		name, params, value := calendarLine(strings.TrimRight(line, "\r\n"))
		switch {
		case name == "BEGIN" && inside == "":
			if kind := strings.ToUpper(value); kind == "VEVENT" || kind == "VTODO" {
				inside = kind
			}
		case name == "BEGIN":
			depth++
		case name == "END" && depth > 0:
			depth--
		case name == "END" && strings.EqualFold(value, inside):
			return c
		case name == "METHOD" && c.method == "":
			c.method = strings.ToUpper(strings.TrimSpace(value))
		case inside != "" && depth == 0:
			c.add(name, params, value)
		}
	}
	return nil
}

func (c *calendar) add(name string, params map[string]string, value string) {
	if len(value) > longestCalendar {
		value = strings.ToValidUTF8(value[:longestCalendar], "") + " …"
	}
	switch name {
	case "ATTENDEE":
		if len(c.attendees) < 100 {
			c.attendees = append(c.attendees, attendee{
				name: params["CN"], address: calendarAddress(value), status: strings.ToUpper(params["PARTSTAT"]), delegate: calendarAddress(params["DELEGATED-TO"]),
			})
		}
	case "COMMENT":
		if text := strings.TrimSpace(unescapeCalendar(value)); text != "" && len(c.comments) < 20 {
			c.comments = append(c.comments, text)
		}
	default:
		if _, has := c.values[name]; !has {
			c.values[name] = calendarValue{strings.TrimSpace(unescapeCalendar(value)), params}
		}
	}
}

// calendarLine splits a content line (RFC 5545 section 3.1). Quoted parameters may contain colons and semicolons.
func calendarLine(line string) (name string, params map[string]string, value string) {
	quoted, begin := false, 0
	params = map[string]string{}
	piece := func(end int) {
		if begin == 0 {
			name = strings.ToUpper(strings.TrimSpace(line[:end]))
		} else if key, of, found := strings.Cut(line[begin:end], "="); found {
			params[strings.ToUpper(key)] = strings.Trim(of, `"`)
		}
	}
	for i := range len(line) {
		switch {
		case line[i] == '"':
			quoted = !quoted
		case line[i] == ';' && !quoted:
			piece(i)
			begin = i + 1
		case line[i] == ':' && !quoted:
			piece(i)
			return name, params, line[i+1:]
		}
	}
	return "", nil, ""
}

var calendarEscapes = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\N`, "\n", `\,`, ",", `\;`, ";")

func unescapeCalendar(s string) string { return calendarEscapes.Replace(s) }

// calendarAddress returns the address in a mailto URI, and "" for others.
func calendarAddress(uri string) string {
	uri = strings.Trim(uri, `" `)
	if len(uri) > 7 && strings.EqualFold(uri[:7], "mailto:") {
		return cleanEmail(uri[7:])
	}
	return ""
}

func (a attendee) String() string {
	if a.name == "" || strings.EqualFold(a.name, a.address) {
		return a.address
	}
	if a.address == "" {
		return a.name
	}
	return a.name + " <" + a.address + ">"
}

// replies say what somebody answered (RFC 5545 section 3.2.12).
var replies = map[string]string{
	"ACCEPTED": "Accepted", "DECLINED": "Declined", "TENTATIVE": "Tentatively accepted", "DELEGATED": "Delegated",
	"NEEDS-ACTION": "Not answered yet", "COMPLETED": "Completed", "IN-PROCESS": "In progress",
}

// methods say what an object is for (RFC 5546).
var methods = map[string]string{
	"CANCEL": "Cancelled", "REPLY": "Reply to the invitation", "REQUEST": "Invitation", "COUNTER": "New time proposed",
	"DECLINECOUNTER": "Proposed time declined", "ADD": "Further date of an event", "REFRESH": "Asks for the latest version of the invitation",
}

// summary says the object in words: what it is, when and where, who answered, and what they wrote.
func (c *calendar) summary() string {
	kind := cmp.Or(methods[c.method], "Event")
	if c.method == "REPLY" && len(c.attendees) > 0 {
		kind = cmp.Or(replies[c.attendees[0].status], kind)
	}
	if c.method != "REPLY" && strings.EqualFold(c.values["STATUS"].text, "CANCELLED") {
		kind = methods["CANCEL"]
	}
	lines := []string{kind + ": " + oneLine(c.values["SUMMARY"].text)}
	if from := c.time("DTSTART"); from != "" {
		when := "When: " + from
		if to := c.time("DTEND"); to != "" {
			when += " to " + to
		}
		lines = append(lines, when)
	}
	if due := c.time("DUE"); due != "" {
		lines = append(lines, "Due: "+due)
	}
	if where := oneLine(c.values["LOCATION"].text); where != "" {
		lines = append(lines, "Where: "+where)
	}
	if who := calendarAddress(c.values["ORGANIZER"].text); who != "" {
		lines = append(lines, "Organizer: "+who)
	}
	lines = append(lines, c.answered()...)
	for _, text := range c.comments {
		lines = append(lines, "Comment: "+text)
	}
	text := strings.Join(lines, "\n") + "\n"
	if about := c.values["DESCRIPTION"].text; about != "" {
		text += "\n" + about + "\n"
	}
	return text
}

// answered says who answered, and what if that is not said yet.
func (c *calendar) answered() []string {
	var lines []string
	if c.method == "REQUEST" || c.method == "PUBLISH" || c.method == "CANCEL" || c.method == "" {
		return nil
	}
	for n, a := range c.attendees {
		line := "Attendee: " + oneLine(a.String())
		if said := replies[a.status]; said != "" && (c.method != "REPLY" || n > 0 && a.status != c.attendees[0].status) {
			line += " (" + strings.ToLower(said) + ")"
		}
		if a.delegate != "" {
			line += ", delegated to " + a.delegate
		}
		lines = append(lines, line)
	}
	return lines
}

func (c *calendar) time(name string) string {
	return eventTime(c.values[name].text, c.values[name].params["TZID"])
}

// eventTime formats a DATE or DATE-TIME with its original zone.
func eventTime(value, zone string) string {
	if t, err := time.Parse("20060102", value); err == nil {
		return t.Format("2006-01-02")
	}
	if t, err := time.Parse("20060102T150405Z", value); err == nil {
		return t.Format("2006-01-02 15:04 UTC")
	}
	t, err := time.Parse("20060102T150405", value)
	if err != nil {
		return ""
	}
	if zone = oneLine(zone); zone != "" {
		zone = " (" + zone + ")"
	}
	return t.Format("2006-01-02 15:04") + zone
}
