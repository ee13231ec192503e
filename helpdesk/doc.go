// Package helpdesk is the help desk as a library: mails become conversations of
// customers, answers of agents leave as mail.
//
// [New] makes a [Service] over a [Store], which bunstore (SQLite, PostgreSQL) or
// memstore implement. A caller works through a handle, and the handle's type says
// what can be done with it:
//
//   - [Desk]: a member at work in one account ([Service.Desk])
//   - [Admin]: accounts, users and tokens ([Service.Admin], [Service.Operator])
//   - [Intake]: can only receive mail; helpdesk/ingest holds it
//   - [Outgoing]: can only take mail to send and report on it; helpdesk/outbound holds it
//   - [Dispatch]: can only send events to webhooks; helpdesk/webhook holds it
//
// Making a handle checks the membership once and fixes the account and the
// mailboxes that it reaches: a stranger gets not-found. Every method of a handle
// first asks for a permission, then validates its input, then touches data, and
// returns faults (package storage/fault).
package helpdesk
