// Package outbound sends the answers of agents: it takes them from
// [helpdesk.Outgoing], composes the mail and hands it to a [Transport], and reports
// what became of each recipient.
//
// [Sender.Handle] is the handler of jobs of kind [helpdesk.JobSendMail]. A [Relay]
// is the transport for production, an SMTP server that takes mail for everywhere; a
// [Spool] writes files instead, for trying things out and for tests.
//
// Mail is signed with the DKIM keys that [helpdesk.Outgoing] gives. A [Failover] is
// a transport over several relays.
//
// A mail is sent at least once. Every try sends the same bytes, but for the time of
// a signature, under the same Message-ID, so that a receiver can tell a repetition, which happens when a
// connection or the program ends between the last byte and the relay's answer.
package outbound
