// Package outbound sends agents' replies. It takes them from [helpdesk.Outgoing], composes the message, hands it to a
// [Transport], and reports the outcome for each recipient.
//
// [Sender.Handle] handles jobs of kind [helpdesk.JobSendMail]. [Relay] is the transport for production, an SMTP server that
// relays mail to any destination. [Failover] is a transport over several relays. [Spool] writes files instead, for trials
// and for tests.
//
// Messages are signed with the DKIM keys from [helpdesk.Outgoing].
//
// A message is sent at least once. Every attempt sends the same bytes, except for the time of a signature, with the same
// Message-ID, so that a receiver can recognize a duplicate. Duplicates occur when a connection or the program ends between
// the last byte and the relay's reply.
package outbound
