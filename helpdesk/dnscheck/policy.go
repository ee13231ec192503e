package dnscheck

import (
	"slices"
	"strings"
)

// tags parses a tag-list (RFC 6376 section 3.2), with names in lower case and white space removed around and inside values.
// ok is false for an invalid list or duplicate tags.
func tags(s string) (list map[string]string, ok bool) {
	list = map[string]string{}
	parts := strings.Split(s, ";")
	if len(parts) > maxTags {
		return nil, false
	}
	for _, part := range parts {
		if strings.TrimSpace(part) == "" {
			continue
		}
		name, value, found := strings.Cut(part, "=")
		name = strings.ToLower(strings.TrimSpace(name))
		if _, twice := list[name]; !found || name == "" || twice {
			return nil, false
		}
		list[name] = strings.Join(strings.Fields(value), "")
	}
	return list, true
}

// dkim checks the key. Other tags are ignored, as long as the key can be used for mail and with SHA-256. It returns the
// problem, or "".
func dkim(want string, answers []string) string {
	wanted, _ := tags(want)
	problem := "There is no DKIM key among the TXT records with this name."
	for _, answer := range answers {
		got, ok := tags(answer)
		if _, key := got["p"]; !ok || !key {
			continue
		}
		listed := func(tag, value string) bool {
			list, given := got[tag]
			return !given || slices.Contains(strings.Split(strings.ToLower(list), ":"), value)
		}
		switch version, given := got["v"]; {
		case given && !strings.EqualFold(version, "DKIM1"):
			problem = "The DKIM key has a version other than DKIM1."
		case got["p"] == "":
			problem = "The DKIM key is revoked: its p is empty."
		case got["p"] != wanted["p"]:
			problem = "The DKIM key is another one, or not complete."
		case !listed("k", wanted["k"]):
			problem = "The DKIM key's type (k) is not that of the key."
		case !listed("h", "sha256"):
			problem = "The DKIM key does not allow SHA-256 (h)."
		case !listed("s", "*") && !listed("s", "email"):
			problem = "The DKIM key is not for mail (s)."
		default:
			return ""
		}
	}
	return problem
}

func isSPF(s string) bool {
	version, _, _ := strings.Cut(strings.TrimSpace(s), " ")
	return strings.EqualFold(version, "v=spf1")
}

// spf checks that there is one SPF record with the mechanisms of want. What it specifies for other senders ("all") is up to
// the owner. It returns the problem, or "".
func spf(want string, answers []string) string {
	var records []string
	for _, answer := range answers {
		if isSPF(answer) {
			records = append(records, answer)
		}
	}
	switch {
	case len(records) == 0:
		return "There is no SPF record among the TXT records with this name."
	case len(records) > 1: // RFC 7208 section 4.5: a permanent error
		return "There is more than one SPF record: make one of them."
	}
	got := mechanisms(records[0])
	var missing []string
	for _, m := range mechanisms(want) {
		if !slices.Contains(got, m) {
			missing = append(missing, m)
		}
	}
	if len(missing) > 0 {
		return "The SPF record lacks " + strings.Join(missing, " ") + "."
	}
	return ""
}

// mechanisms returns the terms of an SPF record that authorize senders.
func mechanisms(record string) []string {
	fields := strings.Fields(strings.ToLower(record))
	var all []string
	for _, term := range fields[1:min(len(fields), maxTags)] {
		term = strings.TrimPrefix(term, "+")
		if term == "all" {
			continue
		}
		if first := term[:min(1, len(term))]; first != "" && !strings.Contains("-~?", first) {
			all = append(all, term)
		}
	}
	return all
}

// dmarc checks that there is one DMARC record; its policy is up to the owner. It returns the problem, or "".
func dmarc(_ string, answers []string) string {
	var records []map[string]string
	for _, answer := range answers {
		first, _, _ := strings.Cut(answer, ";")
		name, value, _ := strings.Cut(first, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "v") || !strings.EqualFold(strings.TrimSpace(value), "DMARC1") {
			continue
		}
		list, _ := tags(answer)
		records = append(records, list)
	}
	switch {
	case len(records) == 0:
		return "There is no DMARC record among the TXT records with this name."
	case len(records) > 1: // RFC 7489 section 6.6.3: as if there were none
		return "There is more than one DMARC record: leave one of them."
	case !slices.Contains([]string{"none", "quarantine", "reject"}, strings.ToLower(records[0]["p"])):
		return "The DMARC record has no policy (p) of none, quarantine or reject."
	}
	return ""
}
