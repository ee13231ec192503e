// Package ingest connects the sources of raw mail with the help desk. [Fetcher] runs a source for every mailbox that is
// fetched, [Servers] connects to mail servers, and [Filer] parses and files received messages. The sources themselves (imap,
// pop3, smtpin) are leaf packages.
package ingest
