package mailhtml

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"github.com/helpwright/helpwright/helpdesk/internal/lazyregexp"
)

// A mention of a member is a link whose address names the member by id:
//
//	<a href="mailto:member-12@mention.invalid">@Ada Lovelace</a>
//
// It is plain HTML, which editors and [Clean] keep, and its address can receive no mail (RFC 6761 section 6.4). Regardless
// of its text, [ShowMentions] writes the member's current name. A mention can be typed as @ and a member's mail address.
const mentionHost = "@mention.invalid"

var (
	mentionForm = lazyregexp.New(`^mailto:member-([1-9][0-9]{0,17})@mention\.invalid$`)
	// typed matches @ and an address, unless the @ is inside a word.
	typed = lazyregexp.New(`(^|[^\pL\pN@._%+-])@([A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@[A-Za-z0-9][A-Za-z0-9-]{0,62}(?:\.[A-Za-z0-9][A-Za-z0-9-]{0,62}){0,8})`)
)

// Mention is a mention as it is stored.
func Mention(id int64, name string) string {
	return `<a href="` + mentionAddress(id) + `" rel="noopener noreferrer nofollow" target="_blank">@` + escapeText(name) + "</a>"
}

func mentionAddress(id int64) string { return fmt.Sprintf("mailto:member-%d%s", id, mentionHost) }

func mentionID(t html.Token) (int64, bool) {
	i := place(&t, "href")
	if t.Data != "a" || i < 0 {
		return 0, false
	}
	m := mentionForm().FindStringSubmatch(t.Attr[i].Val)
	if m == nil {
		return 0, false
	}
	id, err := strconv.ParseInt(m[1], 10, 64)
	return id, err == nil
}

// Mentions returns the ids of the members mentioned in cleaned HTML, without duplicates, in order, and the mail addresses
// typed in it after an @.
func Mentions(s string) (ids []int64, addresses []string) {
	if !strings.Contains(s, "@") {
		return nil, nil
	}
	editMentions(s, func(id int64, _ string) string {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
		return ""
	}, func(address string) string {
		if !slices.Contains(addresses, address) {
			addresses = append(addresses, address)
		}
		return ""
	})
	return ids, addresses
}

// LinkMentions converts addresses typed after an @ to mentions if find returns a member. Mentions of members that keep
// refuses become plain text.
func LinkMentions(s string, keep func(id int64) bool, find func(address string) (id int64, name string, ok bool)) string {
	return editMentions(s, func(id int64, text string) string {
		if keep(id) {
			return Mention(id, strings.TrimPrefix(text, "@"))
		}
		return escapeText(text)
	}, func(address string) string {
		if id, name, ok := find(address); ok {
			return Mention(id, name)
		}
		return escapeText("@" + address)
	})
}

// ShowMentions replaces mentions by the members' current names; show returns the HTML for a mention, or "" to keep the
// mention's text.
func ShowMentions(s string, show func(id int64) string) string {
	if !strings.Contains(s, mentionHost) {
		return s
	}
	return editMentions(s, func(id int64, text string) string {
		if shown := show(id); shown != "" {
			return shown
		}
		return escapeText(text)
	}, nil)
}

// editMentions replaces each mention by the result of link and, unless address is nil, each typed one by that of address.
// Everything else is unchanged, including the content of other links.
func editMentions(s string, link func(id int64, text string) string, address func(address string) string) string {
	z := html.NewTokenizer(strings.NewReader(s))
	var b strings.Builder
	inside, id, text := false, int64(0), "" // of a link; of a mention, and its text
	for {
		kind := z.Next()
		raw := string(z.Raw())
		switch kind {
		case html.ErrorToken:
			if id != 0 {
				b.WriteString(link(id, text))
			}
			b.WriteString(raw)
			return b.String()
		case html.StartTagToken:
			t := z.Token()
			if n, ok := mentionID(t); ok && !inside {
				inside, id, text = true, n, ""
				continue
			}
			inside = inside || t.Data == "a"
		case html.EndTagToken:
			if t := z.Token(); t.Data == "a" {
				inside = false
				if id != 0 {
					b.WriteString(link(id, text))
					id = 0
					continue
				}
			}
		case html.TextToken:
			if id != 0 {
				if room := 200 - len(text); room > 0 {
					said := z.Token().Data
					text += strings.ToValidUTF8(said[:min(len(said), room)], "")
				}
				continue
			}
			if !inside && address != nil {
				raw = editTyped(raw, address)
			}
		}
		if id == 0 {
			b.WriteString(raw)
		}
	}
}

// editTyped replaces the addresses after an @ by the results of address. A dot at the end belongs to the sentence.
func editTyped(raw string, address func(string) string) string {
	if !strings.Contains(raw, "@") {
		return raw
	}
	var b strings.Builder
	at := 0
	for _, m := range typed().FindAllStringSubmatchIndex(raw, -1) {
		if m[0] < at {
			continue
		}
		b.WriteString(raw[at:m[3]])
		b.WriteString(address(raw[m[4]:m[5]]))
		at = m[5]
	}
	b.WriteString(raw[at:])
	return b.String()
}

// MapMentions changes the members in mentions; if to returns no id for a member, the mention becomes plain text.
func MapMentions(s string, to func(id int64) int64) string {
	return editMentions(s, func(id int64, text string) string {
		if now := to(id); now > 0 {
			return Mention(now, strings.TrimPrefix(text, "@"))
		}
		return escapeText(text)
	}, nil)
}
