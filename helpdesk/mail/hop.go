package mail

import (
	"strings"
	"time"
)

// LastHop is when the last server on the way of the mail received it, by the topmost
// Received field; zero without one that says so.
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
