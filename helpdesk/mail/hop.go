package mail

import (
	"strings"
	"time"
)

// LastHop returns when the last server received the mail, according to the topmost Received field; zero without a usable
// one.
func (m *Message) LastHop() time.Time {
	raw := m.Header.RawValues("Received")
	if len(raw) == 0 {
		return time.Time{}
	}
	at := strings.LastIndexByte(raw[0], ';')
	if at < 0 {
		return time.Time{}
	}
	return parseDate(raw[0][at+1:])
}
