package mail

import (
	"strings"
	"time"
)

// calendarText summarizes an invitation (RFC 5545) in a few lines: the first event's summary, time, place and organizer. It
// is "" if there is none.
func calendarText(ics string) string {
	ics = strings.NewReplacer("\n ", "", "\n\t", "").Replace(ics) // unfolded
	values := map[string]string{}
	inside := false
	for line := range strings.Lines(ics) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		name, params, _ := strings.Cut(name, ";")
		name = strings.ToUpper(name)
		switch {
		case name == "BEGIN" && strings.EqualFold(value, "VEVENT"):
			inside = true
		case name == "END" && inside && strings.EqualFold(value, "VEVENT"):
			return summary(values)
		case inside || name == "METHOD":
			if _, has := values[name]; !has && len(value) < 2000 {
				values[name] = strings.NewReplacer(`\n`, " ", `\N`, " ", `\,`, ",", `\;`, ";", `\\`, `\`).Replace(value)
				values[name+" zone"] = params
			}
		}
	}
	return ""
}

func summary(v map[string]string) string {
	kind := map[string]string{"CANCEL": "Cancelled", "REPLY": "Reply to the invitation", "REQUEST": "Invitation"}[strings.ToUpper(v["METHOD"])]
	if kind == "" {
		kind = "Event"
	}
	lines := []string{kind + ": " + v["SUMMARY"]}
	if from := eventTime(v["DTSTART"], v["DTSTART zone"]); from != "" {
		when := "When: " + from
		if to := eventTime(v["DTEND"], v["DTEND zone"]); to != "" {
			when += " to " + to
		}
		lines = append(lines, when)
	}
	if where := v["LOCATION"]; where != "" {
		lines = append(lines, "Where: "+where)
	}
	if who := v["ORGANIZER"]; len(who) > 7 && strings.EqualFold(who[:7], "mailto:") {
		lines = append(lines, "Organizer: "+who[7:])
	}
	return strings.Join(lines, "\n") + "\n"
}

// eventTime formats a DATE or DATE-TIME with its original zone.
func eventTime(value, params string) string {
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
	zone := ""
	if _, after, found := strings.Cut(params, "TZID="); found {
		zone, _, _ = strings.Cut(after, ";")
		zone = " (" + strings.Trim(zone, `"`) + ")"
	}
	return t.Format("2006-01-02 15:04") + zone
}
