package helpdesk

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage/plain"
)

// memberTag marks the Reply-To address of notification mails, for members' replies.
const memberTag addressTag = "a-"

// mailWorkLife is how long a member may reply to a notification mail.
const mailWorkLife = 14 * 24 * time.Hour

// memberToken names the member and the conversation of a reply. It is no proof of authorship, since it is in the header of a
// mail that others may see.
type memberToken struct {
	account, user, conversation int64
	returned                    bool  // from a returned mail
	expires                     int64 // last day of validity, counted from tokenEpoch
	seen                        int64 // newest interaction in the mail
}

// tokenEpoch is the start of counting days, which keeps tokens short.
var tokenEpoch = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

func tokenDay(at time.Time) int64 { return max(0, int64(at.Sub(tokenEpoch)/(24*time.Hour))) }

func (t memberToken) numbers() []int64 {
	last := t.expires << 1
	if t.returned {
		last |= 1
	}
	return []int64{t.account, t.user, t.conversation, last, t.seen}
}

func (t memberToken) expired(at time.Time) bool { return tokenDay(at) > t.expires }

// memberNumbers is the number of numbers in a token.
const memberNumbers = 5

// memberDetail returns the detail of a tagged address.
func (s *Service) memberDetail(t memberToken) string { return s.sign(memberTag, t.numbers()...) }

// memberAddress returns the address for a member's reply, "" if tagged addresses of the mailbox are not known to work, or it
// would be too long.
func (s *Service) memberAddress(m Mailbox, t memberToken) string {
	switch s.repliesTo(m) {
	case ReplySubaddress:
		return tagged(m.Email, s.memberDetail(t))
	case ReplyIntake:
		return tagged(s.InternalAddress(m), s.memberDetail(t))
	}
	return ""
}

// mailWork returns the Reply-To and the footer that let a member reply to a mail. Both are "" if no such address is known to
// work.
func (s *Service) mailWork(m Mailbox, t memberToken) (replyTo, footer string) {
	if replyTo = s.memberAddress(m, t); replyTo == "" {
		return "", ""
	}
	return replyTo, mailWorkFooter
}

const mailWorkFooter = "Answer this mail to reply to the customer; with @note on the first line your text is for colleagues only.\n" +
	"@close, @reopen, @assign me, @assign colleague@example.org, @unassign, @tag name and @snooze 2d on the first lines do so. An empty line ends them."

// memberToken parses the token in an address or in our Message-ID. formal reports whether it has the form of a token,
// genuine or not.
func (s *Service) memberToken(detail string) (t memberToken, formal, genuine bool) {
	n, genuine := s.signed(memberTag, detail, memberNumbers)
	if !genuine {
		return memberToken{}, memberForm(detail), false
	}
	return memberToken{account: n[0], user: n[1], conversation: n[2], returned: n[3]&1 == 1, expires: n[3] >> 1, seen: n[4]}, true, true
}

// memberForm reports whether a detail looks like a token, even one that was signed with another key or changed.
func memberForm(detail string) bool {
	encoded, found := strings.CutPrefix(mailaddr.Fold(detail), string(memberTag))
	if !found {
		return false
	}
	b, err := tokenEncoding.DecodeString(encoded)
	if err != nil || len(b) < tokenMACLength+memberNumbers {
		return false
	}
	body := b[:len(b)-tokenMACLength]
	for range memberNumbers {
		_, size := binary.Uvarint(body)
		if size <= 0 {
			return false
		}
		body = body[size:]
	}
	return len(body) == 0
}

// memberTokens returns the distinct tokens in the message's recipients.
func (f *filing) memberTokens() (tokens []memberToken, formal bool) {
	for _, address := range slices.Concat(emails(f.mail.DeliveredTo), emails(f.mail.To), emails(f.mail.Cc)) {
		t, form, genuine := f.svc.memberToken(detailOf(address))
		formal = formal || form
		if genuine && !slices.Contains(tokens, t) {
			tokens = append(tokens, t)
		}
	}
	return tokens, formal
}

// aboutMemberMail reports whether the message is an automatic reply to, a report on, or a forward of a mail to a member.
func (f *filing) aboutMemberMail() bool {
	ids := append(f.candidates(), cleanIDs([]string{f.mail.MessageID})...)
	if f.mail.Report != nil {
		ids = append(ids, cleanIDs(f.mail.Report.MessageIDs)...)
		for _, address := range f.addressed() {
			if _, formal, _ := f.svc.memberToken(detailOf(address)); formal {
				return true
			}
		}
	}
	return slices.ContainsFunc(ids, func(id string) bool {
		_, _, genuine := f.svc.memberToken(memberIDDetail(id))
		return genuine
	})
}

// memberMessageID returns the Message-ID of a mail to a member. The serial distinguishes mails with the same token.
func (s *Service) memberMessageID(t memberToken, serial int64, from string) string {
	_, domain, _ := plain.CutLast(mailaddr.Key(from), "@") // in ASCII, as msg-id requires
	return fmt.Sprintf("%s.%d@%s", s.memberDetail(t), serial, domain)
}

// memberIDDetail returns the token in the Message-ID of a mail to a member.
func memberIDDetail(id string) string {
	detail, _, _ := strings.Cut(idLocal(id), ".")
	return detail
}
