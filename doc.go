// Package helpwright is an overview of the module: a help desk with a multilingual knowledge base, to embed in Go programs
// or to run as a server.
//
// To embed everything in your program, with inbound and outbound mail, API and help centres:
//
//   - transport/server: one Config, a http.Handler, and Run
//
// To embed the help desk in your program, part by part:
//
//   - helpdesk: conversations, customers, mailboxes; start with helpdesk.New. Its rooms are
//     helpdesk/identity (accounts, users, roles), helpdesk/ledger (inbound mail), helpdesk/sending
//     (outbound mail) and helpdesk/mailaddr (email addresses)
//   - storage/bunstore: stores them in SQLite or PostgreSQL, in your own transaction if you like;
//     bunstore/sqlite and bunstore/postgres open them, and link one driver each
//   - storage/fileblob: stores raw mails and attachments in a folder
//   - storage/s3blob: stores them in a bucket of an S3 server
//   - transport/api: the HTTP API as a http.Handler; transport is the engine below it, which can
//     serve an application's own operations too
//
// To embed the knowledge base, alone or beside the help desk:
//
//   - kb: sites, collections, categories, articles, search; start with kb.New
//   - transport/site: the public help centres, as a http.Handler
//   - kb/exchange: imports and exports a site as a folder of Markdown, fit for git
//   - kb/contenthtml, kb/theme: safe article HTML, and sandboxed templates; also useful on
//     their own
//   - storage/bunstore: its method KB returns the store in the same database
//
// For inbound and outbound mail:
//
//   - helpdesk/ingest: fetches mailboxes (ingest/imap, ingest/pop3), receives forwarded
//     mail (ingest/smtpin) and files it
//   - helpdesk/movein: imports an account of another help desk, read by movein/zendesk,
//     movein/helpscout and movein/freescout
//   - helpdesk/mailauth: SPF, DKIM and DMARC of inbound mail
//   - helpdesk/outbound: sends replies through a relay or into a spool folder
//   - helpdesk/webhook: sends events to webhooks, signed; receivers verify with
//     helpdesk/webhook/signature, which links nothing else
//   - helpdesk/netguard: connects to addresses given by others, only if they are public
//   - storage/jobs: runs the jobs that these packages enqueue
//   - storage/backup: writes archives of a whole help desk while it is in use, checks and restores them
//   - storage/transfer, helpdesk/transfer, kb/transfer: archives of a whole account, for any store
//   - storage/blobs: removes files that no row refers to, ties a database to its files, and copies
//     them to another store while they are in use
//   - helpdesk/mail, helpdesk/mailhtml: RFC 5322 messages and their HTML; also useful on
//     their own
//   - helpdesk/dnscheck, helpdesk/pgp: look up the DNS records of domains, and read and
//     use PGP keys; connect them through helpdesk.Config's DNS and ParseKey
//
// To add your own database or file store:
//
//   - storage: the contract; it imports the standard library only
//   - storage/storagetest: the suite that checks your implementation
//   - storage/memstore, storage/memblob: the models that it is compared with
//   - storage/plain: cleans plain text for storage
//   - storage/guard: how the handles of both domains access a store
//   - examples/customstore: a store and a file store from scratch; examples/auditstore: a wrapper
//
// To run it: cmd/helpwright is the reference server. The folder examples contains small complete programs.
package helpwright
