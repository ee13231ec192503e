package helpdesk

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"strings"
)

// A reply token names a conversation and proves that we named it: who holds it was
// sent a mail of that conversation, or was given it by somebody who was. It is the
// detail of the local part of the Reply-To address (RFC 5233 subaddressing):
//
//	support+r-<token>@example.org
const tokenMark = "r-"

// Lower-case base32 survives systems that fold the case of local parts.
var tokenEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

const tokenMACLength = 10 // 80 bits; guessing means sending that many mails

// replyAddress puts a conversation's token into an address. An address whose local
// part would grow beyond 64 octets (RFC 5321 section 4.5.3.1.1) stays as it is.
func (s *Service) replyAddress(address string, accountID, conversationID int64) string {
	local, domain, found := cutLast(address, "@")
	token := s.replyToken(accountID, conversationID)
	if !found || len(local)+1+len(token) > 64 {
		return address
	}
	return local + "+" + token + "@" + domain
}

func (s *Service) replyToken(accountID, conversationID int64) string {
	b := binary.AppendUvarint(nil, uint64(accountID))
	b = binary.AppendUvarint(b, uint64(conversationID))
	return tokenMark + tokenEncoding.EncodeToString(append(b, replyMAC(s.cfg.SigningKey, b)...))
}

func replyMAC(key, b []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("reply address v1\x00"))
	mac.Write(b)
	return mac.Sum(nil)[:tokenMACLength]
}

// tokenConversation returns the conversation that an address names, when its token
// is genuine and of this account.
func (s *Service) tokenConversation(accountID int64, address string) (conversationID int64, ok bool) {
	local, _, _ := cutLast(foldCase(address), "@")
	_, detail := splitDetail(local)
	encoded, found := strings.CutPrefix(detail, tokenMark)
	if !found {
		return 0, false
	}
	b, err := tokenEncoding.DecodeString(encoded)
	if err != nil || len(b) <= tokenMACLength {
		return 0, false
	}
	body, mac := b[:len(b)-tokenMACLength], b[len(b)-tokenMACLength:]
	if !s.signedBy(func(key []byte) bool { return hmac.Equal(mac, replyMAC(key, body)) }) {
		return 0, false
	}
	account, n := binary.Uvarint(body)
	if n <= 0 || int64(account) != accountID {
		return 0, false
	}
	conversation, m := binary.Uvarint(body[n:])
	if m <= 0 || n+m != len(body) {
		return 0, false
	}
	return int64(conversation), true
}

// splitDetail cuts a local part at its last token, or at its first plus sign.
func splitDetail(local string) (base, detail string) {
	if i := strings.LastIndex(local, "+"+tokenMark); i >= 0 {
		return local[:i], local[i+1:]
	}
	base, detail, _ = strings.Cut(local, "+")
	return base, detail
}
