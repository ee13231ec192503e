package report

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// factColumns are the columns of a table of facts, with what they say: a number, a text, ids, or nil for what there is not.
var factColumns = []struct {
	name string
	of   func(f *Fact) any
}{
	{"conversation_id", func(f *Fact) any { return f.ConversationID }},
	{"number", func(f *Fact) any { return f.Number }},
	{"created_at", func(f *Fact) any { return momentOf(f.CreatedAt) }},
	{"mailbox_id", func(f *Fact) any { return f.MailboxID }},
	{"team_id", func(f *Fact) any { return idOf(f.TeamID) }},
	{"user_id", func(f *Fact) any { return idOf(f.UserID) }},
	{"sla_id", func(f *Fact) any { return idOf(f.SLAID) }},
	{"channel", func(f *Fact) any { return f.Channel }},
	{"tag_ids", func(f *Fact) any { return f.Tags }},
	{"first_reply_at", func(f *Fact) any { return momentOf(f.FirstReplyAt) }},
	{"first_reply_user_id", func(f *Fact) any { return idOf(f.FirstReplyBy) }},
	{"first_reply_seconds", func(f *Fact) any { return secondsOf(f.FirstReply()) }},
	{"business_reply_seconds", func(f *Fact) any { return secondsOf(f.BusinessReply) }},
	{"replies", func(f *Fact) any { return f.Replies }},
	{"touches", func(f *Fact) any { return f.Touches }},
	{"received", func(f *Fact) any { return f.Received }},
	{"reopened", func(f *Fact) any { return f.Reopened }},
	{"wait_seconds", func(f *Fact) any { return f.Wait }},
	{"resolved_at", func(f *Fact) any { return momentOf(f.ResolvedAt) }},
	{"resolution_seconds", func(f *Fact) any { return secondsOf(f.Resolution()) }},
	{"rating", func(f *Fact) any { return textOf(f.Verdict) }},
	{"rated_at", func(f *Fact) any { return momentOf(f.RatedAt) }},
	{"rated_user_id", func(f *Fact) any { return idOf(f.RatedID) }},
	{"first_reply_sla", func(f *Fact) any { return textOf(string(f.FirstReplySLA)) }},
	{"next_reply_sla", func(f *Fact) any { return textOf(string(f.NextReplySLA)) }},
	{"resolution_sla", func(f *Fact) any { return textOf(string(f.ResolutionSLA)) }},
	{"member_ids", func(f *Fact) any { return f.Members() }},
}

func momentOf(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339)
}

func idOf(id int64) any {
	if id == 0 {
		return nil
	}
	return id
}

func secondsOf(n int64) any {
	if n == None {
		return nil
	}
	return n
}

func textOf(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// Columns lists the columns of [WriteCSV], which are the keys of [WriteJSONLines].
func Columns() []string {
	names := make([]string, len(factColumns))
	for i, c := range factColumns {
		names[i] = c.name
	}
	return names
}

// WriteCSV writes a table of facts, one in a line, with a header: in UTF-8 with a byte order mark, which Excel needs. Times are
// RFC 3339 in UTC, durations are seconds, several ids are parted by spaces, and a cell is empty if there is no such thing. each
// passes the facts; its error ends the table.
func WriteCSV(to io.Writer, each func(fn func(Fact) error) error) error {
	buffer := bufio.NewWriter(to)
	w := csv.NewWriter(buffer)
	w.UseCRLF = true
	begun := false
	begin := func() error {
		if begun {
			return nil
		}
		begun = true
		if _, err := buffer.WriteString("\uFEFF"); err != nil {
			return err
		}
		return w.Write(Columns())
	}
	err := each(func(f Fact) error {
		if err := begin(); err != nil {
			return err
		}
		cells := make([]string, len(factColumns))
		for i, c := range factColumns {
			cells[i] = cellOf(c.of(&f))
		}
		return w.Write(cells)
	})
	if err == nil {
		err = begin()
	}
	if err != nil {
		return err
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return err
	}
	return buffer.Flush()
}

func cellOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case []int64:
		texts := make([]string, len(v))
		for i, id := range v {
			texts[i] = strconv.FormatInt(id, 10)
		}
		return strings.Join(texts, " ")
	}
	return fmt.Sprint(v)
}

// WriteJSONLines writes facts as JSON objects, one in a line, with the keys of [Columns]: null is what there is not. each passes the
// facts; its error ends the lines.
func WriteJSONLines(to io.Writer, each func(fn func(Fact) error) error) error {
	w := bufio.NewWriter(to)
	err := each(func(f Fact) error {
		sign := byte('{')
		for _, c := range factColumns {
			v := c.of(&f)
			if ids, ok := v.([]int64); ok && ids == nil {
				v = []int64{}
			}
			text, err := json.Marshal(v)
			if err != nil {
				return err
			}
			if err := w.WriteByte(sign); err != nil {
				return err
			}
			fmt.Fprintf(w, "%q:%s", c.name, text)
			sign = ','
		}
		_, err := w.WriteString("}\n")
		return err
	})
	if err != nil {
		return err
	}
	return w.Flush()
}
