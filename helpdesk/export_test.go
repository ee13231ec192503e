package helpdesk

import (
	"time"

	"github.com/helpwright/helpwright/storage"
)

// Sees reports whether a desk's member may view an event.
func Sees(d *Desk, e storage.Event) bool { return d.sees(e) }

// KnownArea reports whether events of a type are shown to somebody in particular.
func (s *Service) KnownArea(kind string) bool {
	_, known := s.registry.Views(areaOf(kind))
	return known && eventTypePattern.MatchString(kind)
}

// HashCheaply makes a service hash passwords without the cost, for tests that have many.
func (s *Service) HashCheaply() { s.gate.cost = passwordCost{time: 1, memory: 8, threads: 1} }

// MailWork has what is needed to answer a mail to a member.
func (s *Service) MailWork(m Mailbox, userID, conversationID, seen int64) (replyTo, footer string) {
	return s.mailWork(m, memberToken{
		account: m.AccountID, user: userID, conversation: conversationID, expires: tokenDay(s.now().Add(mailWorkLife)), seen: seen,
	})
}

// ReadCommands reads the lines above a text.
func ReadCommands(lines []string, now time.Time) (mailCommands, error) {
	return readCommands(lines, now)
}

// IsCommand reports whether a line is a command.
func IsCommand(line string) bool { return isCommand(line) }

// FromName returns the name under which a mailbox answers.
func FromName(m Mailbox, userName string) string { return fromName(m, userName) }

// RowsOf is rowsOf.
var RowsOf = rowsOf
