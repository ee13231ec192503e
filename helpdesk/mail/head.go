package mail

import (
	"bytes"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
)

// maxHead is the maximum number of bytes that Head examines.
const maxHead = 64 << 10

// Head returns subject and author of a mail, even if [Parse] refuses it or only its beginning is available. Unreadable
// values are empty.
func Head(raw []byte) (subject string, from mailaddr.Address) {
	raw = Tidy(raw[:min(len(raw), maxHead)])
	for _, end := range []string{"\n\n", "\n\r\n", "\n\r\r\n"} {
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
