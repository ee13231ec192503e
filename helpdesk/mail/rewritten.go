package mail

import (
	"github.com/helpwright/helpwright/helpdesk/internal/lazyregexp"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"strings"
)

// viaName matches the name that lists and groups give to an author whose address they remove from From, so that their copy
// passes DMARC: "'Ada' via Support".
var viaName = lazyregexp.New(`(?i)\S\s+via\s+\S`)

// Rewritten reports whether a mailing list or a group has put its own address into From, and the original author if the mail
// names one. All of that comes from the header and proves nothing.
func (m *Message) Rewritten() (author mailaddr.Address, rewritten bool) {
	if len(m.From) != 1 {
		return mailaddr.Address{}, false
	}
	from := m.From[0]
	other := func(a mailaddr.Address) bool { return a.Email != "" && !strings.EqualFold(a.Email, from.Email) }
	byList := m.ListPost != "" && !other(mailaddr.Address{Email: m.ListPost})
	if !byList && !viaName().MatchString(from.Name) {
		return mailaddr.Address{}, false
	}
	for _, field := range []string{"X-Original-From", "X-Original-Sender"} {
		if list, _ := ParseAddresses(m.Header.Raw(field), m.Header.charset); len(list) == 1 && other(list[0]) {
			return list[0], true
		}
	}
	for _, a := range m.ReplyTo {
		if other(a) {
			return mailaddr.Address{}, true
		}
	}
	return mailaddr.Address{}, byList
}

// listAddress returns the address in a field such as List-Post: <mailto:list@example.org>.
func listAddress(field string) string {
	_, rest, found := strings.Cut(strings.ToLower(field), "<mailto:")
	end := strings.IndexAny(rest, "?>")
	if !found || end < 0 {
		return ""
	}
	return rest[:end]
}
