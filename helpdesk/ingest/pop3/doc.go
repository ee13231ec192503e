// Package pop3 is a source of raw mail: it reads the maildrop of a mailbox on a POP3 server (RFC 1939) and hands every
// mail, as bytes, to a [Sink]. It knows neither storage nor help desk.
//
// What it promises:
//   - Every mail of the maildrop reaches the sink at least once. A mail is known by its unique id (UIDL), never by its
//     number, and is not fetched again when the sink knows it. One that the server lists and does not hand out is asked
//     for again, alone and over another connection; when all fails it is delivered as a [Mail] with a Problem, and the
//     next one goes on.
//   - Nothing is deleted on the server. Where it says that it deletes what was read by itself (EXPIRE 0, RFC 2449), the
//     connection is closed without QUIT, so that it does not.
//   - A mail has the bytes that it has on the server, without what the protocol puts before dots, and it is whole or it
//     is not delivered.
//   - Every network step has a deadline and a limit of bytes, and ends when its context ends, whatever the server does.
//   - Mails are asked for ahead (PIPELINING, RFC 2449) where the server has it, within the limits of one batch.
package pop3
