// Package pop3 is a source of raw mail: it reads the maildrop of a mailbox on a POP3 server (RFC 1939) and passes every
// message, as bytes, to a [Sink]. It does not depend on storage or the help desk.
//
// Guarantees:
//   - Every message of the maildrop reaches the sink at least once. A message is identified by its unique id
//     (UIDL), never by its number, and is not fetched again if the sink knows it. A message that the server lists
//     but does not send is requested again, alone and over another connection; if all attempts fail it is
//     delivered as a [Mail] with a Problem, and the next one follows.
//   - Nothing is deleted on the server. If the server announces that it deletes messages that were read (EXPIRE 0,
//     RFC 2449), the connection is closed without QUIT to prevent that.
//   - A message has exactly the bytes on the server, without dot-stuffing, and is delivered completely or not at
//     all.
//   - Every network step has a deadline and a byte limit, and ends when its context ends, whatever the server
//     does.
//   - Messages are requested ahead (PIPELINING, RFC 2449) if the server supports it, within the limits of one
//     batch.
package pop3
