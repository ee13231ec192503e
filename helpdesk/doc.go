// Package helpdesk is the help desk as a library. Incoming mail becomes conversations with customers, and agents' replies
// leave as mail.
//
// [New] makes a [Service] over a [Store]. Packages bunstore (SQLite, PostgreSQL) and memstore implement one. A caller works
// through a handle, whose type determines the available operations:
//
//   - [Desk]: a member at work in one account ([Service.Desk])
//   - [Admin]: accounts, users and tokens ([Service.Admin], [Service.Operator])
//   - [Intake]: can only receive mail; used by helpdesk/ingest
//   - [MoveIn]: can only file another help desk's history; used by helpdesk/movein
//   - [Outgoing]: can only take mail to send and report on it; used by helpdesk/outbound
//   - [Dispatch]: can only send events to webhooks; used by helpdesk/webhook
//
// Opening a handle checks the membership once and binds the handle to the account and the mailboxes that the member may
// reach. A caller who is not a member gets a NotFound fault. Every method of a handle checks a permission, then validates
// its input, then touches data. Errors are faults (package storage/fault).
package helpdesk
