package desk

import (
	"strings"

	"github.com/helpwright/helpwright/helpdesk/report"
)

// measureTexts are the names of measures, by their keys, or by what is before one of measureForms.
var measureTexts = map[string]string{
	"created": say("New conversations"), "resolved": say("Resolved"), "replied": say("Replied to"), "reopened": say("Opened again"), "one_reply": say("Solved with one reply"),
	"replies": say("Replies"), "touches": say("Replies and notes"), "first_reply": say("First reply"), "next_reply": say("Next reply"),
	"business_reply": say("First reply in business hours"), "resolution": say("Resolution"), "wait": say("Waiting in total"), "open": say("Open"),
	"rated": say("Ratings"), "good": say("Good"), "neutral": say("Neutral"), "bad": say("Bad"), "satisfaction": say("Satisfied customers"),
	"views": say("Articles viewed"), "searches": say("Searches"), "unanswered": say("Found nothing"), "clicks": say("Articles opened from a search"),
	"contacts": say("Messages from the form"), "deflection": say("Helped without a message"),
}

// measureForms are what measures say about the same thing, by the ends of their keys.
var measureForms = []struct{ end, text string }{
	{"_median", say("%s (median)")}, {"_p90", say("%s (90%)")}, {"_mean", say("%s (mean)")},
	{"_met", say("%s: met")}, {"_breached", say("%s: missed")}, {"_kept", say("%s: in time")},
}

// lessIsBetter are the measures of which less is better, beside durations.
var lessIsBetter = map[string]bool{"open": true, "reopened": true, "bad": true, "first_reply_breached": true, "next_reply_breached": true, "resolution_breached": true, "unanswered": true, "contacts": true}

// measureTitle names a measure.
func (w words) measureTitle(m report.Measure) string {
	if m.Key == "good" && m.Unit == report.Percent {
		return w.T(measureTexts["satisfaction"])
	}
	if text, known := measureTexts[m.Key]; known {
		return w.T(text)
	}
	for _, f := range measureForms {
		if base, found := strings.CutSuffix(m.Key, f.end); found && measureTexts[base] != "" {
			return w.T(f.text, w.T(measureTexts[base]))
		}
	}
	return strings.ReplaceAll(m.Key, "_", " ")
}
