package report

import (
	"encoding/json"
	"time"
)

// Replies, gaps and steps are stored as JSON, with times as databases have them: microseconds since 1970 in UTC.

type storedReply struct {
	At     int64 `json:"at"`
	UserID int64 `json:"by"`
}

// MarshalJSON implements [json.Marshaler].
func (r Reply) MarshalJSON() ([]byte, error) {
	return json.Marshal(storedReply{r.At.UnixMicro(), r.UserID})
}

// UnmarshalJSON implements [json.Unmarshaler].
func (r *Reply) UnmarshalJSON(text []byte) error {
	var s storedReply
	err := json.Unmarshal(text, &s)
	*r = Reply{time.UnixMicro(s.At).UTC(), s.UserID}
	return err
}

type storedGap struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// MarshalJSON implements [json.Marshaler].
func (g Gap) MarshalJSON() ([]byte, error) {
	return json.Marshal(storedGap{g.From.UnixMicro(), g.To.UnixMicro()})
}

// UnmarshalJSON implements [json.Unmarshaler].
func (g *Gap) UnmarshalJSON(text []byte) error {
	var s storedGap
	err := json.Unmarshal(text, &s)
	*g = Gap{time.UnixMicro(s.From).UTC(), time.UnixMicro(s.To).UTC()}
	return err
}

type storedStep struct {
	At   int64 `json:"at"`
	What What  `json:"what"`
}

// MarshalJSON implements [json.Marshaler].
func (s Step) MarshalJSON() ([]byte, error) {
	return json.Marshal(storedStep{s.At.UnixMicro(), s.What})
}

// UnmarshalJSON implements [json.Unmarshaler].
func (s *Step) UnmarshalJSON(text []byte) error {
	var stored storedStep
	err := json.Unmarshal(text, &stored)
	*s = Step{time.UnixMicro(stored.At).UTC(), stored.What}
	return err
}
