// Package helpwright is the map of the module: a help desk with a multilingual
// knowledge base, to be embedded in Go programs or run as a server.
//
// To embed all of it in your program, with mail in and out, API and help centres:
//   - transport/server: one Config, a http.Handler, and Run
//
// To embed the help desk in your program, part by part:
//   - helpdesk: conversations, customers, mailboxes; begin with helpdesk.New
//   - storage/bunstore: keeps them in SQLite or PostgreSQL, in your transaction if you like;
//     bunstore/sqlite and bunstore/postgres open them, and link one driver each
//   - storage/fileblob: keeps raw mails and attachments in a folder
//   - storage/s3blob: keeps them in a bucket of an S3 server
//   - transport: the HTTP API as a http.Handler
//
// To embed the knowledge base, alone or beside it:
//   - kb: sites, collections, categories, articles, search; begin with kb.New
//   - transport/site: the help centres that readers see, as a http.Handler
//   - kb/exchange: a site as a folder of Markdown, fit for git, and back
//   - kb/contenthtml, kb/theme: article HTML made safe, and templates in a sandbox, of
//     use on their own
//   - storage/bunstore: its method KB keeps it in the same database
//
// To let mail in and out:
//   - helpdesk/ingest: fetches mailboxes (ingest/imap, ingest/pop3), takes forwarded
//     mail (ingest/smtpin), files it
//   - helpdesk/mailauth: SPF, DKIM and DMARC of what comes in
//   - helpdesk/outbound: sends answers through a relay or into a spool folder
//   - helpdesk/webhook: sends events to webhooks, signed; receivers verify with
//     helpdesk/webhook/signature, which links nothing else
//   - helpdesk/netguard: connects to what others have named, at public addresses only
//   - storage/jobs: runs the jobs that these leave behind
//   - storage/backup: archives of a whole help desk, written while it is used, checked and restored
//   - storage/blobs: removes the files that no row names, ties a database to its files, and copies
//     them to another store while they are used
//   - helpdesk/mail, helpdesk/mailhtml: RFC 5322 messages and their HTML, of use on
//     their own
//   - helpdesk/dnscheck, helpdesk/pgp: look up the DNS records of domains, read and
//     use PGP keys; join them with helpdesk.Config's DNS and ParseKey
//
// To bring your own database or file store:
//   - storage: the contract, standard library only
//   - storage/storagetest: the suite that proves your implementation
//   - storage/memstore, storage/memblob: the models it is compared with
//   - storage/guard: how the handles of both domains hold a store
//
// To run it: cmd/helpwright is the reference server. The folder examples holds
// small complete programs.
package helpwright
