package mail

import (
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Bounds of the id lists of a parsed message and of [BoundReferences].
const (
	maxReferences   = 100
	maxInReplyTo    = 20
	maxIDBytes      = 512
	boundReferences = 20
	boundRefBytes   = 900
)

// messageIDs returns the ids in a field value, without angle brackets. If some ids lack their brackets, the words between
// the others count, too, provided that all of them contain an at sign: otherwise they are text.
func messageIDs(s string) []string {
	var out []string
	s = brackets.Replace(s)
	for rest := s; ; {
		i := strings.IndexByte(rest, '<')
		if i < 0 {
			return append(out, bareIDs(rest)...)
		}
		out = append(out, bareIDs(rest[:i])...)
		rest = rest[i+1:]
		end := strings.IndexAny(rest, "<>")
		if end < 0 {
			return append(out, bareIDs(rest)...)
		}
		if rest[end] == '>' {
			if id := cleanID(rest[:end]); id != "" {
				out = append(out, id)
			}
			rest = rest[end+1:]
			continue
		}
		out = append(out, bareIDs(rest[:end])...)
		rest = rest[end:]
	}
}

// brackets undoes how some programs write angle brackets.
var brackets = strings.NewReplacer("&lt;", "<", "&gt;", ">")

// bareIDs returns the ids in a text that consists of ids only.
func bareIDs(s string) []string {
	var out []string
	for _, word := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ';' || unicode.IsSpace(r) }) {
		word = strings.Trim(word, "<>")
		if word == "" {
			continue
		}
		at := strings.IndexByte(word, '@')
		if at <= 0 || at == len(word)-1 || strings.Contains(word, `"`) || cleanID(word) == "" {
			return nil
		}
		out = append(out, word)
	}
	return out
}

// cleanID removes white space that folding has added to an id. An id with other invalid characters is refused.
func cleanID(s string) string {
	s = strings.Join(strings.Fields(s), "")
	if s == "" || len(s) > maxIDBytes || strings.ContainsFunc(s, func(r rune) bool {
		return r == unicode.ReplacementChar || unicode.IsControl(r) || r == '<' || r == '>'
	}) {
		return ""
	}
	return s
}

// idList collects the ids of fields, without duplicates; beyond limit it keeps the first and the latest.
func idList(fields []string, limit int) []string {
	var out []string
	seen := map[string]bool{}
	for _, f := range fields {
		for _, id := range messageIDs(f) {
			if !seen[id] {
				seen[id] = true
				out = append(out, id)
			}
		}
	}
	if len(out) > limit {
		out = append(out[:1:1], out[len(out)-limit+1:]...)
	}
	return out
}

// BoundReferences bounds a References list for sending: it leaves out duplicates and ids that cannot be written, and keeps
// the first id (the root of the thread) and the most recent ones, 20 ids and about 900 bytes at most (RFC 5322 section
// 3.6.4; unbounded lists exceed the limits of servers).
func BoundReferences(refs []string) []string {
	var ids []string
	seen := map[string]bool{}
	for i := len(refs) - 1; i >= 0; i-- { // of duplicates the latest counts
		id := strings.Trim(refs[i], "<> \t")
		if cleanID(id) != id || strings.ContainsFunc(id, func(r rune) bool { return r > unicode.MaxASCII }) || seen[id] || id == "" {
			continue
		}
		seen[id] = true
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return nil
	}
	first := ids[len(ids)-1]
	size := len(first) + 5
	out := []string{first}
	var latest []string
	for _, id := range ids[:len(ids)-1] {
		if size += len(id) + 5; size > boundRefBytes || len(latest) == boundReferences-1 {
			break
		}
		latest = append(latest, id)
	}
	for i := len(latest) - 1; i >= 0; i-- {
		out = append(out, latest[i])
	}
	return out
}

// NewMessageID makes a Message-ID without angle brackets: 128 random bits at domain, of which only the characters of a host
// name are kept ("localhost" if none are left). The error is that of the random source.
func NewMessageID(random io.Reader, domain string) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("message id: %w", err)
	}
	host := strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '.':
			return r
		}
		return -1
	}, domain)
	host = strings.Trim(host, ".-")
	for strings.Contains(host, "..") {
		host = strings.ReplaceAll(host, "..", ".")
	}
	if len(host) > 200 {
		host = strings.Trim(host[len(host)-200:], ".-")
	}
	if host == "" {
		host = "localhost"
	}
	return hex.EncodeToString(b[:]) + "@" + host, nil
}

// Prefixes of answers and of forwarded mail in the languages of common mailers.
var (
	replyPrefixes = map[string]bool{
		"re": true, "aw": true, "antw": true, "antwort": true, "sv": true, "vs": true, "ynt": true, "odp": true,
		"ref": true, "rif": true, "r": true, "res": true, "resp": true, "rv": true, "atb": true, "ats": true, "bls": true, "ss": true,
		"回复": true, "回覆": true, "答复": true, "返信": true, "답장": true, "отв": true, "на": true, "απ": true, "σχετ": true,
	}
	forwardPrefixes = map[string]bool{
		"fw": true, "fwd": true, "wg": true, "tr": true, "i": true, "enc": true, "doorst": true, "vb": true, "vl": true,
		"videre": true, "pd": true, "rtr": true, "转发": true, "轉寄": true, "転送": true, "전달": true, "пер": true, "πρθ": true,
	}
)

// cutPrefix removes one answer or forward prefix ("Re:", "RE[2]:", "AW :", "回复：").
func cutPrefix(s string, forwards bool) (rest string, ok bool) {
	i := strings.IndexAny(s, ":：")
	if i <= 0 || i > 24 {
		return s, false
	}
	word := strings.ToLower(strings.TrimSpace(s[:i]))
	if j := strings.IndexAny(word, "[(^*"); j > 0 {
		if strings.Trim(word[j:], "[](){}^*0123456789") != "" {
			return s, false
		}
		word = strings.TrimSpace(word[:j])
	}
	if !replyPrefixes[word] && !(forwards && forwardPrefixes[word]) {
		return s, false
	}
	rest = strings.TrimPrefix(strings.TrimPrefix(s[i:], ":"), "：")
	return strings.TrimSpace(rest), true
}

// BaseSubject returns the subject without the prefixes of answers and forwards, for comparing and for naming a conversation.
// A subject that consists of prefixes becomes "".
func BaseSubject(subject string) string {
	s := oneLine(subject)
	for {
		rest, ok := cutPrefix(s, true)
		if !ok {
			return s
		}
		s = rest
	}
}

// ReplySubject returns the subject of an answer: "Re: " once, however often and in whatever language the subject has the
// prefix already. A forward's prefix is kept.
func ReplySubject(subject string) string {
	s := oneLine(subject)
	for {
		rest, ok := cutPrefix(s, false)
		if !ok {
			return strings.TrimSpace("Re: " + s)
		}
		s = rest
	}
}
