package mail

import (
	"github.com/helpwright/helpwright/helpdesk/internal/quote"
)

// SplitQuote separates the new text of a plain-text message from the mail quoted below it, for display: reply+quoted is
// always text. Recognised are lines of ">", the line that introduces a quote ("On ... wrote:"), separators ("-----Original
// Message-----") and header blocks ("From: ... Sent: ..."), in the languages of common mailers. A message that is not an
// answer (isReply false) may have lines that only look like a header.
//
// Answers between the lines of a quote are left whole: a quote is only split off if nothing but a signature follows.
// Signatures above the quote stay in the reply. If the whole text is a quote, it is all reply.
func SplitQuote(text string, isReply bool) (reply, quoted string) {
	return quote.Text(text, quote.Message{Reply: isReply})
}
