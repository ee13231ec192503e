package mailauth

import (
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// Result is the result of a method, as named in RFC 8601 section 2.7.
type Result string

// The results of the methods.
const (
	None      Result = "none" // nothing to check: no record, no signature
	Pass      Result = "pass"
	Fail      Result = "fail"
	SoftFail  Result = "softfail"  // of SPF
	Neutral   Result = "neutral"   // of SPF, or a signature that cannot be judged
	Policy    Result = "policy"    // of DKIM: a valid signature that is not accepted
	TempError Result = "temperror" // the name servers did not answer
	PermError Result = "permerror" // a record or a signature is invalid
	// Unknown is not in RFC 8601: the message came through a relay that hides the sender, so that the method could not be
	// evaluated here.
	Unknown Result = "unknown"
)

// SPF is the result of SPF.
type SPF struct {
	Result Result
	Domain string // of MAIL FROM, or of HELO if that is empty; "" if none
}

// DKIM is the result of one signature.
type DKIM struct {
	Result Result
	Domain string // d=
}

// DMARC is the result of DMARC.
type DMARC struct {
	Result Result
	Domain string // of From
	Policy string // for failing messages: "none", "quarantine" or "reject"; "" if unknown
}

// Report contains all results for a message.
type Report struct {
	Server string // that added Authentication-Results; "" if evaluated here
	SPF    SPF
	DKIM   []DKIM // at most 5
	DMARC  DMARC
	// Aligned reports that the domain of From authenticates the message, with or without a DMARC record: SPF or a signature
	// passes for it or for one of the same organization (RFC 7489 section 3.1).
	Aligned bool
}

// cleanDomain normalises a domain for comparison and look-up; "" if invalid.
func cleanDomain(s string) string {
	s = strings.TrimSuffix(strings.ToLower(strings.TrimSpace(s)), ".")
	// Underscores are used in practice, although host names cannot contain them.
	profile := idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false))
	ascii, err := profile.ToASCII(s)
	if err != nil || len(ascii) > 253 || !strings.Contains(ascii, ".") || strings.ContainsAny(ascii, " \t/:;=[]@<>()\\\"") {
		return ""
	}
	return ascii
}

// domainOf returns the domain of an email address.
func domainOf(address string) string {
	return cleanDomain(address[strings.LastIndexByte(address, '@')+1:])
}

// organization returns the registered domain, below which everything has one owner (RFC 7489 section 3.2).
func organization(domain string) string {
	if org, err := publicsuffix.EffectiveTLDPlusOne(domain); err == nil {
		return org
	}
	return domain
}

// aligned reports whether a domain that passed is aligned with the domain of From.
func aligned(passed, from string, strict bool) bool {
	if passed == "" || from == "" {
		return false
	}
	if strict {
		return passed == from
	}
	return organization(passed) == organization(from)
}
