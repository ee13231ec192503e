package sending

import (
	"regexp"
	"strings"
)

// MaxMessageID is the most bytes of a Message-ID that a relay gives a mail.
const MaxMessageID = 250

// sesAnswer is the answer of Amazon SES to a mail. The mail has this id as Message-ID, at a domain of the region.
var sesAnswer = regexp.MustCompile(`(?i)^ok ([0-9a-f]{8,16}(?:-[0-9a-f]{1,12}){1,5}-[0-9]{6})$`)

// messageID is a msg-id (RFC 5322 section 3.6.4) without quoted strings and comments. Its domain may be a literal.
var messageID = regexp.MustCompile("<([0-9A-Za-z!#$%&'*+/=?^_`{|}~.-]+@(?:[0-9A-Za-z._-]+|\\[[0-9A-Za-z.:_-]+\\]))>")

// RelayMessageID returns the Message-ID that the text of a relay's answer to a mail, without codes, says it gave the mail
// instead of own; "" if it names none. An id of Amazon SES is returned as [WithoutRegion] does. Queue ids, such as those of
// Postfix and Exim, are no Message-IDs.
func RelayMessageID(answer, own string) string {
	answer = strings.TrimSpace(answer[:min(len(answer), 2*MaxMessageID)])
	if ses := sesAnswer.FindStringSubmatch(answer); ses != nil {
		return ses[1] + "@" + sesDomain
	}
	for _, found := range messageID.FindAllStringSubmatch(answer, -1) {
		if id := found[1]; id != own && len(id) <= MaxMessageID {
			return WithoutRegion(id)
		}
	}
	return ""
}

const sesDomain = "amazonses.com"

// WithoutRegion returns a Message-ID of Amazon SES without the region in its domain, which the answer to the mail does not
// tell: email.amazonses.com and eu-west-1.amazonses.com become amazonses.com. Others are returned as they are.
func WithoutRegion(id string) string {
	local, domain, _ := strings.Cut(id, "@")
	if strings.HasSuffix(strings.ToLower(domain), "."+sesDomain) {
		return local + "@" + sesDomain
	}
	return id
}
