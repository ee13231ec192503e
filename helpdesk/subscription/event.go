package subscription

import (
	"encoding/json"
)

// CloudEvent is an event in the JSON form of CloudEvents 1.0 (section 3 of its JSON format), for json.Marshal. Source is the
// account, and ID is the event's position in the account's log.
type CloudEvent struct {
	SpecVersion     string          `json:"specversion"`
	ID              string          `json:"id"`
	Source          string          `json:"source"`
	Type            string          `json:"type"`
	Subject         string          `json:"subject"`
	Time            string          `json:"time"`
	DataContentType string          `json:"datacontenttype"`
	Data            json.RawMessage `json:"data"`
}

// EventQuery narrows a list of events.
type EventQuery struct {
	Types          []string // any of these; empty: all; at most 50
	ConversationID int64    // 0: all
	After          int64    // only events after the one with this Seq
}

// EventsLost is the code of the Invalid fault about pruned events.
const EventsLost = "events_lost"
