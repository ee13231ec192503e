package helpdesk

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage/plain"
)

// ReplyAddress selects the address that replies are directed to, and the envelope sender. A tagged address is useful only if
// mail to it arrives.
type ReplyAddress string

// The kinds of reply addresses.
const (
	// ReplyPlain is the mailbox's own address. Replies are threaded by References only.
	ReplyPlain ReplyAddress = "plain"
	// ReplySubaddress is the mailbox's own address with a reply token after a plus sign (RFC 5233).
	ReplySubaddress ReplyAddress = "subaddress"
	// ReplyIntake is the mailbox's internal address with a reply token.
	ReplyIntake ReplyAddress = "intake"
)

// repliesTo returns the effective kind of reply address of a mailbox: the configured one, or what is known to work. A mail
// server is not known to accept tagged addresses until a probe has arrived, nor is the intake known to be reached before it
// has a domain.
func (s *Service) repliesTo(m Mailbox) ReplyAddress {
	switch {
	case m.ReplyAddress != "":
		return m.ReplyAddress
	case m.Inbound.Type == ledger.InboundForward && (s.hasIntake || m.Email == ""):
		return ReplyIntake
	case m.Probe.works(s.now()):
		return ReplySubaddress
	}
	return ReplyPlain
}

// An addressTag is the kind of a signed detail of a local part (RFC 5233). Whoever has such an address got it, directly or
// indirectly, from one of our messages:
//
//	support+r-<token>@example.org
type addressTag string

const (
	// replyTag marks a conversation's Reply-To address.
	replyTag addressTag = "r-"
	// bounceTag marks a delivery's envelope sender, so that a bounce identifies its recipient reliably.
	bounceTag addressTag = "b-"
	// probeTag marks a mailbox's probe.
	probeTag addressTag = "p-"
)

var addressTags = []addressTag{replyTag, bounceTag, probeTag, memberTag}

// Lower-case base32 survives systems that fold the case of local parts.
var tokenEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

const tokenMACLength = 10 // 80 bits; each guess takes a message

// sign returns the detail of a tagged address with some numbers.
func (s *Service) sign(t addressTag, numbers ...int64) string {
	var b []byte
	for _, n := range numbers {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return string(t) + tokenEncoding.EncodeToString(append(b, tagMAC(s.cfg.SigningKey, t, b)...))
}

func tagMAC(key []byte, t addressTag, b []byte) []byte {
	use := map[addressTag]string{replyTag: "reply address v1", bounceTag: "bounce address v1", probeTag: "probe address v1", memberTag: "member address v1"}[t]
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(use + "\x00"))
	mac.Write(b)
	return mac.Sum(nil)[:tokenMACLength]
}

// signed returns the numbers of a genuine detail with that count of numbers.
func (s *Service) signed(t addressTag, detail string, count int) (numbers []int64, ok bool) {
	encoded, found := strings.CutPrefix(mailaddr.Fold(detail), string(t))
	if !found {
		return nil, false
	}
	b, err := tokenEncoding.DecodeString(encoded)
	if err != nil || len(b) <= tokenMACLength {
		return nil, false
	}
	body, mac := b[:len(b)-tokenMACLength], b[len(b)-tokenMACLength:]
	if !s.signedBy(func(key []byte) bool { return hmac.Equal(mac, tagMAC(key, t, body)) }) {
		return nil, false
	}
	for range count {
		n, size := binary.Uvarint(body)
		if size <= 0 {
			return nil, false
		}
		numbers, body = append(numbers, int64(n)), body[size:]
	}
	return numbers, len(body) == 0
}

// tagged returns an address with a tag; "" if its local part would exceed 64 octets (RFC 5321 section 4.5.3.1.1).
func tagged(address, detail string) string {
	local, domain, found := plain.CutLast(address, "@")
	if !found || len(local)+1+len(detail) > 64 {
		return ""
	}
	return local + "+" + detail + "@" + domain
}

// replyAddress returns an address with a conversation's token, or without it if it would be too long.
func (s *Service) replyAddress(address string, accountID, conversationID int64) string {
	if with := tagged(address, s.sign(replyTag, accountID, conversationID)); with != "" {
		return with
	}
	return address
}

// tokenConversation returns the conversation of an address with a genuine token of this account.
func (s *Service) tokenConversation(accountID int64, address string) (conversationID int64, ok bool) {
	n, ok := s.signed(replyTag, detailOf(address), 2)
	if !ok || n[0] != accountID {
		return 0, false
	}
	return n[1], true
}

// returned is the delivery of a tagged address.
type returned struct{ interactionID, deliveryID int64 }

// returnPath returns the envelope sender of one delivery's message; "" if it would be too long.
func (s *Service) returnPath(address string, accountID int64, d sending.Delivery) string {
	return tagged(address, s.sign(bounceTag, accountID, d.InteractionID, d.ID))
}

// tokenDelivery returns the delivery of an address with a genuine tag of this account.
func (s *Service) tokenDelivery(accountID int64, address string) (returned, bool) {
	n, ok := s.signed(bounceTag, detailOf(address), 3)
	if !ok || n[0] != accountID {
		return returned{}, false
	}
	return returned{interactionID: n[1], deliveryID: n[2]}, true
}

// isOurs reports whether an address is one of this account's tagged addresses.
func (s *Service) isOurs(accountID int64, address string) bool {
	detail := detailOf(address)
	for t, count := range map[addressTag]int{replyTag: 2, bounceTag: 3, probeTag: 3, memberTag: memberNumbers} {
		if n, ok := s.signed(t, detail, count); ok && n[0] == accountID {
			return true
		}
	}
	return false
}

// returnsTo returns the address whose tagged forms a mailbox's replies use as envelope senders; "" if the mailbox's plain
// address must be used. Bounces must not go to an address that does not exist, and a message must not fail SPF or DMARC (RFC
// 7489 section 3.1) for the sake of its bounces: if the domain differs from that of From, a DKIM signature is required.
func (s *Service) returnsTo(m Mailbox, from string, signed bool) string {
	switch s.repliesTo(m) {
	case ReplySubaddress:
		return from
	case ReplyIntake:
		_, domain, _ := plain.CutLast(mailaddr.Key(from), "@")
		intake := organization(mailaddr.Key(s.cfg.IntakeDomain))
		if intake == "" || !signed && organization(domain) != intake {
			return ""
		}
		return s.InternalAddress(m)
	}
	return ""
}

// detailOf returns the detail of an address's local part.
func detailOf(address string) string {
	local, _, _ := plain.CutLast(address, "@")
	_, detail := splitDetail(mailaddr.Fold(local))
	return detail
}

// splitDetail splits a local part at its last tag, or at its first plus sign.
func splitDetail(local string) (base, detail string) {
	last := -1
	for _, t := range addressTags {
		last = max(last, strings.LastIndex(local, "+"+string(t)))
	}
	if last >= 0 {
		return local[:last], local[last+1:]
	}
	base, detail, _ = strings.Cut(local, "+")
	return base, detail
}
