// Package helpwright is the map of the module: a help desk with a multilingual knowledge base, to embed in Go programs or to
// run as a server. There are three doors.
//
//   - You want everything in your program: transport/server has one Config, a http.Handler and Run.
//   - You want a part of it: helpdesk.New is the help desk, kb.New the knowledge base. Both work on any store, such as
//     storage/bunstore/sqlite or storage/bunstore/postgres, also in your own pool and transactions.
//   - You want it on your own database or file store: storage is the contract, storage/storagetest the suite that proves yours.
//
// The folder examples has small complete programs for each. cmd/helpwright is the server, whose manual is in
// cmd/helpwright/manual.
//
// # The help desk
//
//   - helpdesk: accounts, mailboxes, customers, conversations, interactions; all rules and permissions. Service.Desk opens a
//     member's desk, which has a handle for each kind of resource
//   - helpdesk/identity, helpdesk/ledger, helpdesk/sending, helpdesk/subscription: its nouns with their part of the store:
//     users and roles; received mail; deliveries and domains; events and webhooks
//   - helpdesk/rules, helpdesk/assign, helpdesk/hours, helpdesk/sla: conditions and actions of rules, the choice of a member, business
//     hours, what is due;
//     pure functions of plain values
//   - helpdesk/message, helpdesk/mailaddr, helpdesk/mailserver: the words that parsers, mail servers and the help desk share
//   - helpdesk/ingest: fetches mailboxes and files mail. Its sources are ingest/imap, ingest/pop3 and ingest/smtpin (SMTP and
//     LMTP); ingest/archive reads mbox files and Maildirs
//   - helpdesk/outbound: composes and sends answers, through a relay or into a spool folder
//   - helpdesk/mail, helpdesk/mailhtml: RFC 5322 messages and their HTML, made safe; useful on their own
//   - helpdesk/mailauth, helpdesk/dnscheck, helpdesk/pgp: SPF, DKIM and DMARC; the DNS records of domains; OpenPGP keys
//   - helpdesk/mailsignin, helpdesk/oidc, helpdesk/passkey: mailboxes of Google and Microsoft; members who sign in elsewhere
//   - helpdesk/webhook, helpdesk/imageproxy: sends events, signed; fetches the images of mails. Receivers verify events with
//     helpdesk/webhook/signature, which needs the standard library only
//   - helpdesk/netguard: connects to addresses that others have named, only if they are public
//   - helpdesk/movein: imports an account of another help desk, read by movein/zendesk, movein/helpscout, movein/freescout
//
// # The knowledge base
//
//   - kb: sites, collections, categories, articles with revisions, search, feedback, files, themes; all rules and permissions
//   - kb/exchange: a site as a folder of Markdown, and back
//   - kb/contenthtml, kb/theme: HTML and Markdown of articles made safe; templates in a sandbox; useful on their own
//
// # Storage
//
//   - storage, storage/fault: paging, optional values, jobs, events, files, sealed secrets; the error type
//   - storage/bunstore: SQLite and PostgreSQL; storage/memstore: in memory
//   - storage/fileblob, storage/s3blob, storage/memblob: files in a folder, a bucket, in memory
//   - storage/jobs, storage/events: runs jobs, with leases, on several processes; follows event logs as they grow
//   - storage/backup; storage/transfer, helpdesk/transfer, kb/transfer: archives of a whole help desk; of one account
//   - storage/blobs: removes files that no row names, ties a database to its files, copies them to another store
//   - storage/guard, storage/gather, storage/search, storage/plain, storage/filetype, storage/openelements: what both domains
//     share: permissions before each access, observations that are written later, terms of texts, plain text, types of files,
//     the balance of HTML
//
// # Transport
//
//   - transport/api: the operations of the HTTP API, a file for each noun; transport is the engine below: one route table makes
//     the routes, the OpenAPI document and the tests, for an application's own operations, too
//   - transport/site: the help centres that readers see; transport/desk: the pages that agents work in
//   - transport/mcp: lets assistants work in a help desk, by the Model Context Protocol
package helpwright
