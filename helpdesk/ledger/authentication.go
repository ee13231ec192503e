package ledger

// Authentication contains the results of checking that a message comes from the domain of its From header field. The zero
// value means unchecked.
type Authentication struct {
	Source string      `json:"source,omitempty"` // "intake" or "header"; "" if unchecked
	Server string      `json:"server,omitempty"` // that added the header field
	SPF    AuthCheck   `json:"spf,omitzero"`
	DKIM   []AuthCheck `json:"dkim,omitempty"` // of each signature
	DMARC  AuthPolicy  `json:"dmarc,omitzero"`
	// FromAligned reports that SPF or a DKIM signature of the domain of From, or of the same organization, authenticates the
	// message. It requires a single From header field with a single address, the one that is displayed.
	FromAligned bool `json:"from_aligned,omitempty"`
	// FromGuessed reports that the message's author is ambiguous.
	FromGuessed bool `json:"from_guessed,omitempty"`
	// Relayed reports that our intake received the message from one of our relays, so that header fields added by a trusted
	// server count.
	Relayed bool `json:"relayed,omitempty"`
}

// Refused reports whether the domain of From disowns the message: DMARC fails, and the domain's policy is not to accept such
// messages anyway.
func (a Authentication) Refused() bool {
	return a.DMARC.Result == AuthFail && a.DMARC.Policy != "none"
}

// AuthCheck is the result of SPF, or of one DKIM signature.
type AuthCheck struct {
	Result string `json:"result"`
	Domain string `json:"domain,omitempty"` // that it authenticates
}

// AuthPolicy is the result of DMARC.
type AuthPolicy struct {
	Result string `json:"result"`
	Domain string `json:"domain,omitempty"` // of From
	// Policy is what the domain requests for failing messages: "none", "quarantine" or "reject"; "" if unknown.
	Policy string `json:"policy,omitempty"`
}

// Results of SPF, DKIM and DMARC as named in RFC 8601 section 2.7, which has others, too. AuthUnknown is our own: the
// message came through a relay, and only that relay knows its client.
const (
	AuthPass      = "pass"
	AuthFail      = "fail"
	AuthNone      = "none"
	AuthTempError = "temperror"
	AuthPermError = "permerror"
	AuthUnknown   = "unknown"
)

// Sources of an [Authentication].
const (
	AuthSourceIntake = "intake" // evaluated here while the mail was received
	AuthSourceHeader = "header" // read from what a trusted server wrote into the mail
)
