package mailauth

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxField   = 16 << 10 // bytes read of an Authentication-Results header field
	maxResults = 100
)

// ReadResults reads a server's results from a message's header: from the topmost Authentication-Results header field (RFC
// 8601) whose authserv-id is in trusted. fields are all header fields of the message, from the top, unfolded. ok is false if
// none comes from a trusted server.
//
// A trusted server must add the field to every message, or remove existing ones with its id, as RFC 8601 section 5 requires.
// Further fields with the same id are ignored, since the sender may have added them. fromDomain is the domain of the only
// address of the only From header field, "" if there is not exactly one.
func ReadResults(fields, trusted []string, fromDomain string) (r Report, ok bool) {
	for _, field := range fields {
		server, results := parseResults(field)
		known := slices.ContainsFunc(trusted, func(id string) bool { return server != "" && sameID(id, server) })
		if known {
			return report(server, results, cleanDomain(fromDomain)), true
		}
	}
	return Report{}, false
}

// sameID compares authserv-ids, ignoring only the case of ASCII letters, as servers that remove forged fields do.
func sameID(a, b string) bool {
	for i := range len(a) {
		if a[i] >= utf8.RuneSelf {
			return a == b
		}
	}
	return len(a) == len(b) && strings.EqualFold(a, b)
}

func report(server string, results []result, from string) Report {
	r := Report{Server: server, SPF: SPF{Result: None}, DMARC: DMARC{Result: None, Domain: from}}
	for _, one := range results {
		switch one.method {
		case "spf":
			r.SPF = SPF{Result: one.value, Domain: domainOf(one.first("smtp.mailfrom", "smtp.mail", "smtp.helo"))}
		case "dkim":
			if len(r.DKIM) < maxSignatures && one.value != None {
				r.DKIM = append(r.DKIM, DKIM{Result: one.value, Domain: domainOf(one.first("header.d", "header.i"))})
			}
		case "dmarc":
			r.addDMARC(one, from)
		}
	}
	if from == "" {
		r.DMARC = DMARC{Result: PermError}
	}
	r.Aligned = r.DMARC.Domain != "" && (r.DMARC.Result == Pass || r.alignedWith(from, Pass, false, false))
	return r
}

// addDMARC adopts a server's result for the domain that it took From to be. If that differs from ours, the message can be
// read in two ways, and the result does not apply to our author.
func (r *Report) addDMARC(one result, from string) {
	header := one.properties["header.from"]
	switch {
	case header != "" && domainOf(header) != from:
		r.DMARC = DMARC{Result: PermError}
	case r.DMARC.Domain == "", header == "" && one.value == Pass:
	default:
		r.DMARC = DMARC{Result: one.value, Domain: from, Policy: one.policy}
	}
}

// result is one method's result in a field.
type result struct {
	method     string
	value      Result
	properties map[string]string // keys in lower case
	policy     string            // of DMARC, from a comment such as "(p=REJECT dis=NONE)"
}

func (r result) first(names ...string) string {
	for _, name := range names {
		if v := r.properties[name]; v != "" {
			return v
		}
	}
	return ""
}

// values are the accepted results; any other counts as PermError.
var values = []Result{None, Pass, Fail, SoftFail, Neutral, Policy, TempError, PermError} // a constant list

// parseResults parses a field. It first separates comments and quoted strings from the results, because the sender controls
// their content, such as the local part of an address.
func parseResults(field string) (server string, results []result) {
	tokens := lex(field[:min(len(field), maxField)])
	segments := [][]token{nil}
	for _, t := range tokens {
		if t.kind == ';' {
			segments = append(segments, nil)
			continue
		}
		segments[len(segments)-1] = append(segments[len(segments)-1], t)
	}
	for n, segment := range segments {
		words := slices.DeleteFunc(slices.Clone(segment), func(t token) bool { return t.kind == '(' })
		if n == 0 {
			if len(words) == 0 || len(words) > 2 || len(words) == 2 && words[1].text != "1" || words[0].kind != 'w' {
				return "", nil // no authserv-id, or an unknown version
			}
			server = words[0].text
			continue
		}
		if r, ok := parseResult(words); ok && len(results) < maxResults {
			r.policy = policyOf(segment, r)
			results = append(results, r)
		}
	}
	return server, results
}

// parseResult parses "method[/version] = value" and the properties after it.
func parseResult(words []token) (result, bool) {
	if len(words) < 3 || words[0].kind != 'w' || words[1].kind != '=' {
		return result{}, false
	}
	method, version, _ := strings.Cut(strings.ToLower(words[0].text), "/")
	if version != "" && version != "1" {
		return result{}, false
	}
	r := result{method: method, value: Result(strings.ToLower(words[2].text)), properties: map[string]string{}}
	if r.value == "hardfail" { // its old name
		r.value = Fail
	}
	if !slices.Contains(values, r.value) || words[2].kind != 'w' {
		r.value = PermError
	}
	for n := 3; n+2 < len(words); {
		if words[n].kind != 'w' || words[n+1].kind != '=' {
			n++
			continue
		}
		key, value := strings.ToLower(words[n].text), words[n+2].text
		for n += 3; n < len(words) && words[n].glued && words[n].kind != '='; n++ {
			value += words[n].text // "a b"@example.com
		}
		if _, double := r.properties[key]; !double {
			r.properties[key] = value
		}
	}
	return r, true
}

// policyOf finds a domain's policy, which has no property of its own.
func policyOf(segment []token, r result) string {
	texts := []string{"p=" + r.properties["policy.dmarc"], "p=" + r.properties["policy.published-domain-policy"]}
	for _, t := range segment {
		if t.kind == '(' {
			texts = append(texts, strings.FieldsFunc(t.text, func(c rune) bool { return strings.ContainsRune(" \t;,", c) })...)
		}
	}
	for _, text := range texts {
		switch p := strings.ToLower(text); p {
		case "p=none", "p=quarantine", "p=reject":
			return p[2:]
		}
	}
	return ""
}

// token is a token of a field: 'w' a word, 'q' a quoted string, '(' a comment, '=' and ';' themselves.
type token struct {
	kind  byte
	text  string
	glued bool // directly after the previous token
}

// lex splits a field into tokens (RFC 5322 section 3.2): comments nest, and a backslash quotes the next character.
func lex(s string) []token {
	var out []token
	add := func(t token) { out = append(out, t) }
	glued := false
	for len(s) > 0 {
		before := glued
		glued = true
		switch c := s[0]; c {
		case ' ', '\t', '\r', '\n':
			s, glued = s[1:], false
		case ';', '=':
			add(token{kind: c, glued: before})
			s = s[1:]
		case '(':
			text, rest := enclosed(s)
			add(token{kind: '(', text: text})
			s, glued = rest, false // a comment separates
		case '"':
			text, rest := enclosed(s)
			add(token{'q', text, before})
			s = rest
		default:
			end := strings.IndexAny(s, " \t\r\n;=(\"")
			if end < 0 {
				end = len(s)
			}
			add(token{'w', s[:end], before})
			s = s[end:]
		}
	}
	return out
}

// enclosed reads a comment or a quoted string at the start of s. One without an end extends to the end of s.
func enclosed(s string) (text, rest string) {
	var b strings.Builder
	depth := 1
	comment := s[0] == '('
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
			continue
		case !comment && c == '"':
			return b.String(), s[i+1:]
		case comment && c == '(':
			depth++
		case comment && c == ')':
			if depth--; depth == 0 {
				return b.String(), s[i+1:]
			}
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}
