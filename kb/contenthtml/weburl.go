package contenthtml

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// maxURL is the maximum length of an address, in bytes.
const maxURL = 4096

// cleanURL returns an address that is relative or has one of the schemes. It reads addresses as browsers do (WHATWG URL
// Standard): blanks around them and line breaks in them do not count, other blanks are encoded, and a percent sign may stand
// for itself.
func cleanURL(s string, schemes ...string) (string, bool) {
	s = webURL(s)
	if strings.HasPrefix(s, "//") {
		s = "https:" + s
	}
	if s == "" || len(s) > maxURL || strings.ContainsFunc(s, unicode.IsControl) {
		return "", false
	}
	u, err := url.Parse(markPercents(s))
	if err != nil {
		return "", false
	}
	out := u.String()
	if strings.ContainsFunc(u.Host, func(r rune) bool { return r > unicode.MaxASCII }) { // browsers show these names as they are
		out = strings.Replace(out, (&url.URL{Host: u.Host}).String(), "//"+u.Host, 1)
	}
	out = strings.ReplaceAll(out, percentCode, "%")
	if out == "" || strings.Contains(u.Host, percentSign) || len(out) > maxURL || strings.ContainsAny(out, " \\") {
		return "", false
	}
	switch u.Scheme {
	case "":
		return out, u.Host == "" && !strings.HasPrefix(out, "//")
	case "http", "https":
		return out, u.Host != ""
	}
	return out, slices.Contains(schemes, u.Scheme) && u.Opaque != ""
}

var (
	encoded   = regexp.MustCompile(`^%[0-9A-Fa-f]{2}`)
	authority = regexp.MustCompile(`(?i)^https?:[/\\]{2,}[^/?#\\]*[^?#]*`)
)

// percentSign is a private character that stands, encoded, for percent signs that encode nothing, which Go refuses.
const (
	percentSign = "\uE0FF"
	percentCode = "%EE%83%BF"
)

func markPercents(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if s[i] == '%' && !encoded.MatchString(s[i:min(len(s), i+3)]) {
			b.WriteString(percentCode)
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// webURL returns an address without what browsers ignore, and with what they read differently in its usual form.
func webURL(s string) string {
	s = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	s = strings.NewReplacer("\t", "", "\n", "", "\r", "", percentSign, "", percentCode, "").Replace(s)
	s = strings.ReplaceAll(s, " ", "%20")
	if at := authority.FindString(s); at != "" {
		s = strings.ReplaceAll(at, `\`, "/") + s[len(at):]
	}
	return s
}

// dataImage matches an image in an address.
var dataImage = regexp.MustCompile(`(?i)^data:image/(?:png|jpe?g|gif|webp);base64,([a-z0-9+/]+=*)$`)

func cleanDataImage(s string) (string, bool) {
	s = strings.Join(strings.Fields(s), "")
	found := dataImage.FindStringSubmatch(s)
	if found == nil {
		return "", false
	}
	_, err := base64.StdEncoding.DecodeString(found[1])
	return "data:" + s[5:], err == nil
}
