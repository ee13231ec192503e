// Package ingest joins the sources of raw mail with the help desk: [Fetcher] runs
// a source for every mailbox that is fetched, [Servers] reaches the servers that
// the sources read from, [Filer] parses what was received and files it. The sources
// themselves (imap, pop3, smtpin) are leaves of their own.
package ingest
