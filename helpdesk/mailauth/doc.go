// Package mailauth checks whether a message comes from the domain in its From header field, by SPF (RFC 7208), DKIM (RFC
// 6376) and DMARC (RFC 7489). [Checker] evaluates them during receipt; [ReadResults] reads what a trusted server added in
// Authentication-Results (RFC 8601). It does not depend on the help desk.
package mailauth
