// Package ingest joins the sources of raw mail with the help desk: [Fetcher] runs
// a source for every mailbox that is fetched, [Filer] parses what was received
// and files it. The sources themselves (imap, smtpin) are leaves of their own.
package ingest
