package mail

import (
	"github.com/helpwright/helpwright/helpdesk/internal/quote"
)

// SplitQuote separates what somebody wrote in plain text from the mail quoted below
// it, for showing: reply+quoted is always text. Recognised are lines of ">", the line
// that introduces a quote ("On ... wrote:"), separators ("-----Original Message-----")
// and header blocks ("From: ... Sent: ..."), in the languages of common mailers. A
// message that answers none (isReply false) may have lines that only look like a header.
//
// Answers written between the lines of a quote are left whole: only a quote that
// nothing but a signature follows is split off. Signatures above the quote stay in
// the reply. When all of the text is a quote, it is all reply.
func SplitQuote(text string, isReply bool) (reply, quoted string) {
	return quote.Text(text, quote.Message{Reply: isReply})
}
