package mailauth

import (
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// Result is what a method says, in the words of RFC 8601 section 2.7.
type Result string

// The results of the methods.
const (
	None      Result = "none" // nothing to check: no record, no signature
	Pass      Result = "pass"
	Fail      Result = "fail"
	SoftFail  Result = "softfail"  // of SPF
	Neutral   Result = "neutral"   // of SPF, or a signature that cannot be judged
	Policy    Result = "policy"    // of DKIM: a signature that is right and not accepted
	TempError Result = "temperror" // the name servers did not answer
	PermError Result = "permerror" // a record or a signature is broken
	// Unknown is no result of RFC 8601: it could not be evaluated here, because the
	// mail came through a relay that alone knows its sender.
	Unknown Result = "unknown"
)

// SPF is the result of SPF.
type SPF struct {
	Result Result
	Domain string // of MAIL FROM, or of HELO when that is empty; "" when there is none
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
	Policy string // for what fails: "none", "quarantine" or "reject"; "" when it is not known
}

// Report is what was found out about a mail.
type Report struct {
	Server string // that wrote Authentication-Results; "" when it was evaluated here
	SPF    SPF
	DKIM   []DKIM // at most 5
	DMARC  DMARC
	// Aligned: the domain of From stands behind the mail, whether it has a DMARC record
	// or not. SPF or a signature passes for it or for one of the same organization
	// (RFC 7489 section 3.1).
	Aligned bool
}

// cleanDomain gives a domain in the form in which it is compared and looked up; ""
// for what is none.
func cleanDomain(s string) string {
	s = strings.TrimSuffix(strings.ToLower(strings.TrimSpace(s)), ".")
	// Underscores are in use, though no host name has them.
	profile := idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false))
	ascii, err := profile.ToASCII(s)
	if err != nil || len(ascii) > 253 || !strings.Contains(ascii, ".") || strings.ContainsAny(ascii, " \t/:;=[]@<>()\\\"") {
		return ""
	}
	return ascii
}

// domainOf is the domain of a mail address.
func domainOf(address string) string {
	return cleanDomain(address[strings.LastIndexByte(address, '@')+1:])
}

// organization is the domain that was registered, below which all belongs to one
// (RFC 7489 section 3.2).
func organization(domain string) string {
	if org, err := publicsuffix.EffectiveTLDPlusOne(domain); err == nil {
		return org
	}
	return domain
}

// aligned reports whether a domain that passed stands for the domain of From.
func aligned(passed, from string, strict bool) bool {
	if passed == "" || from == "" {
		return false
	}
	if strict {
		return passed == from
	}
	return organization(passed) == organization(from)
}
