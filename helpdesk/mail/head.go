package mail

import (
	"bytes"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
)

// maxHead is the part of a mail that Head looks at.
const maxHead = 64 << 10

// Head reads subject and author of a mail, also of one that [Parse] refuses or of which
// only the beginning is there. What cannot be read is empty.
func Head(raw []byte) (subject string, from mailaddr.Address) {
	raw = Tidy(raw[:min(len(raw), maxHead)])
	for _, end := range []string{"\n\n", "\n\r\n"} {
		if i := bytes.Index(raw, []byte(end)); i >= 0 {
			raw = raw[:i+1]
		}
	}
	m, err := Parse(raw, Limits{})
	if err != nil {
		return "", mailaddr.Address{}
	}
	for _, list := range [][]mailaddr.Address{m.From, m.Sender, m.ReplyTo} {
		if len(list) > 0 {
			return m.Subject, list[0]
		}
	}
	return m.Subject, mailaddr.Address{}
}
