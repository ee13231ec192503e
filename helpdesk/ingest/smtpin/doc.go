// Package smtpin is the SMTP server (RFC 5321) for mail that is forwarded to the internal addresses of mailboxes.
//
// It replies 250 to a message only after [helpdesk.Intake.Take] made it durable in every mailbox it was sent to. Any earlier
// failure is a 451, so that the sender keeps the message and retries. It relays nothing: a recipient is accepted if it is
// the internal address of a mailbox, with or without a reply token.
//
// The raw mail is the received message with the header fields of final delivery prepended (RFC 5321 section 4.4):
// Return-Path, a Delivered-To for each recipient of the mailbox as the sender wrote it, and Received.
//
// Data ends only at CRLF "." CRLF, so that another server's idea of a line ending cannot smuggle a second message into it
// (CVE-2023-51764). Line endings within a message are kept. CHUNKING (RFC 3030) is not offered.
package smtpin
