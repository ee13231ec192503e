package subscription

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/helpwright/helpwright/storage"
)

// ActorType says what kind of actor caused an event. Later versions may add types.
type ActorType string

// The types of actors.
const (
	ActorUser      ActorType = "user"             // a member, or the operator's user; ID is the user
	ActorCustomer  ActorType = "customer"         // a customer who wrote, by mail or in a portal; ID is the customer
	ActorToken     ActorType = "token"            // a program with a member's access token; ID is the token, and the event's ActorID the member
	ActorRule      ActorType = "rule"             // ID is the rule
	ActorSLA       ActorType = "sla"              // ID is the SLA
	ActorRetention ActorType = "retention_policy" // ID is the retention policy, and the event's ActorID the member with whose rights it acts
	ActorTeam      ActorType = "team"             // a team's assignment; ID is the team
	ActorMail      ActorType = "mail"             // a message without a customer, such as a delivery report; ID is its row in the ledger
	ActorSystem    ActorType = "system"           // the server itself, for example when a snooze ends; ID is 0
)

// Actor is who or what caused an event.
type Actor struct {
	Type ActorType `json:"type"`
	ID   int64     `json:"id,omitzero"` // absent in JSON for the server itself
}

// Change is what became of one field. From and To are the former and the new value: texts, booleans, ids as int64, times as
// RFC 3339 texts; null is no value. They are absent if the value is not told: because it is personal, a text of messages, or
// out of the reader's reach. Of tags only Added and Removed are set, in order.
type Change struct {
	From, To       storage.Opt[any]
	Added, Removed []int64
}

// Changes are the changes of a resource by the names of its fields in the API.
type Changes map[string]Change

// Changed is the part of an event's data that says what changed, and who or what caused it. Events about conversations,
// interactions and customers have it.
type Changed struct {
	Changes Changes `json:"changes"`
	Actor   Actor   `json:"actor"`
}

// ChangedBy returns what the event changed and its actor. Events that say neither, such as those of other areas and of former
// versions, return the zero value.
func ChangedBy(e storage.Event) Changed {
	var c Changed
	if json.Unmarshal(e.Data, &c) != nil {
		return Changed{}
	}
	return c
}

// changeJSON is a change in JSON.
type changeJSON struct {
	From    json.RawMessage `json:"from,omitempty"`
	To      json.RawMessage `json:"to,omitempty"`
	Added   []int64         `json:"added,omitzero"`
	Removed []int64         `json:"removed,omitzero"`
}

// MarshalJSON implements [json.Marshaler]: {"from": ..., "to": ...}, {"added": [...], "removed": [...]}, or {} if the values
// are not told.
func (c Change) MarshalJSON() ([]byte, error) {
	out := changeJSON{Added: c.Added, Removed: c.Removed}
	if len(c.Added)+len(c.Removed) > 0 { // both or none
		out.Added, out.Removed = append([]int64{}, c.Added...), append([]int64{}, c.Removed...)
	}
	var err error
	for _, side := range []struct {
		value storage.Opt[any]
		text  *json.RawMessage
	}{{c.From, &out.From}, {c.To, &out.To}} {
		if !side.value.IsSet() {
			continue
		}
		value, _ := side.value.Get()
		if at, ok := value.(time.Time); ok {
			value = at.UTC().Format(time.RFC3339)
		}
		if *side.text, err = json.Marshal(value); err != nil {
			return nil, fmt.Errorf("encoding a change: %w", err)
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *Change) UnmarshalJSON(text []byte) error {
	var in changeJSON
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	*c = Change{Added: in.Added, Removed: in.Removed}
	for _, side := range []struct {
		text  json.RawMessage
		value *storage.Opt[any]
	}{{in.From, &c.From}, {in.To, &c.To}} {
		if side.text == nil {
			continue
		}
		value, err := plainValue(side.text)
		if err != nil {
			return err
		}
		if *side.value = storage.Some(value); value == nil {
			side.value.SetNull()
		}
	}
	return nil
}

// plainValue decodes a value; whole numbers become int64.
func plainValue(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, fmt.Errorf("decoding a change: %w", err)
	}
	number, ok := value.(json.Number)
	if !ok {
		return value, nil
	}
	if n, err := number.Int64(); err == nil {
		return n, nil
	}
	return number.Float64()
}
