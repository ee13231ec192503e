package helpdesk

import (
	"time"

	"github.com/helpwright/helpwright/helpdesk/report"
	"github.com/helpwright/helpwright/storage"
)

// The lists of a fact are stored as JSON, with times as databases have them: microseconds since 1970 in UTC.

type storedReply struct {
	At     int64 `json:"at"`
	UserID int64 `json:"by"`
}

func storedReplies(field *[]report.Reply) storage.Value {
	return factList[report.Reply, storedReply]{field,
		func(r report.Reply) storedReply { return storedReply{r.At.UnixMicro(), r.UserID} },
		func(s storedReply) report.Reply {
			return report.Reply{At: time.UnixMicro(s.At).UTC(), UserID: s.UserID}
		},
		func(storedReply) []string { return nil }}
}

type storedGap struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

func storedGaps(field *[]report.Gap) storage.Value {
	return factList[report.Gap, storedGap]{field,
		func(g report.Gap) storedGap { return storedGap{g.From.UnixMicro(), g.To.UnixMicro()} },
		func(s storedGap) report.Gap {
			return report.Gap{From: time.UnixMicro(s.From).UTC(), To: time.UnixMicro(s.To).UTC()}
		},
		func(storedGap) []string { return nil }}
}

type storedStep struct {
	At   int64       `json:"at"`
	What report.What `json:"what"`
}

func storedSteps(field *[]report.Step) storage.Value {
	return factList[report.Step, storedStep]{field,
		func(s report.Step) storedStep { return storedStep{s.At.UnixMicro(), s.What} },
		func(s storedStep) report.Step { return report.Step{At: time.UnixMicro(s.At).UTC(), What: s.What} },
		func(s storedStep) []string { return []string{string(s.What)} }}
}

// factList is a list whose elements are stored in another form.
type factList[T, S any] struct {
	field *[]T
	to    func(T) S
	from  func(S) T
	texts func(S) []string
}

// Text implements [storage.Value].
func (l factList[T, S]) Text() (string, error) {
	stored := make([]S, len(*l.field))
	for i, one := range *l.field {
		stored[i] = l.to(one)
	}
	return storage.Objects(&stored, l.texts).Text()
}

// Read implements [storage.Value].
func (l factList[T, S]) Read(text string) error {
	var stored []S
	err := storage.Objects(&stored, l.texts).Read(text)
	*l.field = nil
	for _, one := range stored {
		*l.field = append(*l.field, l.from(one))
	}
	return err
}
