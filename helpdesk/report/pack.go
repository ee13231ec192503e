package report

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A database reads a short text in an index many times faster than twenty columns of a row. Figures is therefore what figures
// need of a fact, as one text: numbers with the base 36 between commas, an empty one for 0, and lists between pluses.

// Figures returns the fact as a text, but for what was said and its steps. It is one line.
func (f *Fact) Figures() string {
	p := packer{make([]byte, 0, 96)}
	created := f.CreatedAt.Unix()
	p.number(f.ConversationID)
	p.number(f.Number)
	p.number(created)
	p.number(f.MailboxID)
	p.number(f.TeamID)
	p.number(f.UserID)
	p.number(f.SLAID)
	p.after(created, f.AskedAt)
	p.after(created, f.FirstReplyAt)
	p.number(f.FirstReplyBy)
	p.number(f.BusinessReply + 1)
	p.number(int64(f.Replies))
	p.number(int64(f.Touches))
	p.number(int64(f.Received))
	p.number(int64(f.Reopened))
	p.number(f.Wait)
	p.after(created, f.ResolvedAt)
	p.after(created, f.RatedAt)
	p.number(f.RatedID)
	p.number(int64(slices.Index(verdicts(), f.Verdict)))
	p.number(int64(slices.Index(outcomes(), f.FirstReplySLA)*9 + slices.Index(outcomes(), f.NextReplySLA)*3 + slices.Index(outcomes(), f.ResolutionSLA)))
	p.text = append(append(p.text, channelText(f.Channel)...), ',')
	for n, tag := range f.Tags {
		p.item(n, tag)
	}
	p.text = append(p.text, ',')
	for n, gap := range f.Closed {
		p.item(n, gap.From.Unix()-created)
		p.item(1, gap.To.Unix()-gap.From.Unix())
	}
	return string(p.text)
}

func verdicts() []string { return []string{"", verdictGood, verdictNeutral, verdictBad} }

func outcomes() []Outcome { return []Outcome{NoTarget, Met, Breached} }

// channelText is the name of a channel without what separates.
func channelText(channel string) string {
	return strings.Map(func(r rune) rune {
		if r == ',' || r == '+' || r == '|' || r < ' ' {
			return -1
		}
		return r
	}, channel)
}

type packer struct{ text []byte }

func (p *packer) number(v int64) {
	if v != 0 {
		p.text = strconv.AppendInt(p.text, v, 36)
	}
	p.text = append(p.text, ',')
}

// after writes a time as one more than the seconds since another one; nothing if there is none.
func (p *packer) after(since int64, t time.Time) {
	v := int64(0)
	if !t.IsZero() {
		v = max(0, t.Unix()-since) + 1
	}
	p.number(v)
}

func (p *packer) item(n int, v int64) {
	if n > 0 {
		p.text = append(p.text, '+')
	}
	p.text = strconv.AppendInt(p.text, v, 36)
}

// ParseFigures reads what [Fact.Figures] returned into a fact, whose lists it uses again.
func ParseFigures(text string, f *Fact) error {
	u := unpacker{text: text}
	*f = Fact{Tags: f.Tags[:0], Closed: f.Closed[:0]}
	f.ConversationID, f.Number = u.number(), u.number()
	created := u.number()
	f.CreatedAt = at(created)
	f.MailboxID, f.TeamID, f.UserID, f.SLAID = u.number(), u.number(), u.number(), u.number()
	f.AskedAt, f.FirstReplyAt = u.after(created), u.after(created)
	f.FirstReplyBy, f.BusinessReply = u.number(), u.number()-1
	f.Replies, f.Touches, f.Received, f.Reopened = int(u.number()), int(u.number()), int(u.number()), int(u.number())
	f.Wait = u.number()
	f.ResolvedAt, f.RatedAt = u.after(created), u.after(created)
	f.RatedID = u.number()
	if v := u.number(); v >= 0 && v < 4 {
		f.Verdict = verdicts()[v]
	}
	if v := u.number(); v > 0 && v < 27 {
		f.FirstReplySLA, f.NextReplySLA, f.ResolutionSLA = outcomes()[v/9], outcomes()[v/3%3], outcomes()[v%3]
	}
	f.Channel = u.field()
	for list := u.field(); list != ""; {
		var tag int64
		tag, list = u.item(list)
		f.Tags = append(f.Tags, tag)
	}
	for list := u.field(); list != ""; {
		var from, length int64
		from, list = u.item(list)
		length, list = u.item(list)
		f.Closed = append(f.Closed, Gap{at(created + from), at(created + from + length)})
	}
	if u.wrong || u.text != "" {
		return errors.New("the figures of a conversation cannot be read")
	}
	return nil
}

func at(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }

type unpacker struct {
	text  string
	wrong bool
}

// field returns what is before the next comma.
func (u *unpacker) field() string {
	field, rest, _ := strings.Cut(u.text, ",")
	u.text = rest
	return field
}

// number reads the next field.
func (u *unpacker) number() int64 {
	for i := range len(u.text) {
		if u.text[i] == ',' {
			v := u.parse(u.text[:i])
			u.text = u.text[i+1:]
			return v
		}
	}
	u.wrong = true
	return 0
}

func (u *unpacker) parse(text string) (v int64) {
	negative := text != "" && text[0] == '-'
	if negative {
		text = text[1:]
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9':
			v = v*36 + int64(c-'0')
		case c >= 'a' && c <= 'z':
			v = v*36 + int64(c-'a') + 10
		default:
			u.wrong = true
		}
	}
	if negative {
		return -v
	}
	return v
}

func (u *unpacker) after(since int64) time.Time {
	v := u.number()
	if v == 0 {
		return time.Time{}
	}
	return at(since + v - 1)
}

// item reads the next number of a list.
func (u *unpacker) item(list string) (v int64, rest string) {
	item, rest, _ := strings.Cut(list, "+")
	return u.parse(item), rest
}

// SaidText returns the replies as a text: for each the seconds since the one before and who wrote it.
func SaidText(said []Reply) string {
	var p packer
	before := int64(0)
	for n, r := range said {
		p.item(n, r.At.Unix()-before)
		p.item(1, r.UserID)
		before = r.At.Unix()
	}
	return string(p.text)
}

// ParseSaid reads what [SaidText] returned, and appends it to a list.
func ParseSaid(text string, said []Reply) ([]Reply, error) {
	var u unpacker
	before := int64(0)
	for text != "" {
		var since, user int64
		since, text = u.item(text)
		user, text = u.item(text)
		before += since
		said = append(said, Reply{at(before), user})
	}
	if u.wrong {
		return nil, errors.New("the replies of a conversation cannot be read")
	}
	return said, nil
}

// StepsText returns steps as a text: for each the microseconds and what happened.
func StepsText(steps []Step) string {
	var p packer
	for n, s := range steps {
		p.item(n, s.At.UnixMicro())
		p.text = append(append(p.text, ':'), s.What...)
	}
	return string(p.text)
}

// ParseSteps reads what [StepsText] returned.
func ParseSteps(text string) ([]Step, error) {
	var steps []Step
	var u unpacker
	for text != "" {
		var step string
		step, text, _ = strings.Cut(text, "+")
		micros, what, found := strings.Cut(step, ":")
		u.wrong = u.wrong || !found
		steps = append(steps, Step{time.UnixMicro(u.parse(micros)).UTC(), What(what)})
	}
	if u.wrong {
		return nil, errors.New("the steps of a conversation cannot be read")
	}
	return steps, nil
}
