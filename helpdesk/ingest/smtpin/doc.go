// Package smtpin is the SMTP server (RFC 5321) for mail that is forwarded to the
// internal addresses of mailboxes.
//
// It answers 250 to a mail only after [helpdesk.Intake.Take] made it durable in
// every mailbox it was sent to; whatever goes wrong before is a 451, so that the
// sender keeps the mail and tries again. It relays nothing: a recipient is taken
// when it is the internal address of a mailbox, with or without a reply token.
//
// The raw mail is what was received with the fields of a final delivery in front
// (RFC 5321 section 4.4): Return-Path, a Delivered-To for each recipient of the
// mailbox as the sender wrote it, and Received.
//
// Data ends at CR LF "." CR LF and nowhere else, so that no other server's idea of
// a line can smuggle a second mail into it (CVE-2023-51764); newlines within a mail
// are kept as they are. CHUNKING (RFC 3030) is not offered.
package smtpin
