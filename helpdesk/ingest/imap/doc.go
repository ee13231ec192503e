// Package imap is a source of raw mail: it reads the folders of a mailbox on an IMAP server (RFC 9051, RFC 3501) and passes
// every message, as bytes, to a [Sink] together with the position after it. It does not depend on storage or the help desk.
//
// Guarantees:
//   - Every message of a folder reaches the sink, in ascending order of UID, at least once. The position is the
//     UID under its UIDVALIDITY, never a flag or a date; it moves only after the sink has made the messages before
//     it durable. A message that the server lists but does not send is requested again, alone and then by its
//     sequence number; if all attempts fail it is delivered as a [Mail] with a Problem, and the next one follows.
//   - Nothing changes on the server: folders are opened with EXAMINE, bodies are read with BODY.PEEK.
//   - A message is delivered completely or not at all: a connection lost in the middle is never taken for its end.
//   - Every network step has a deadline and a byte limit, and ends when its context ends, whatever the server
//     does.
//   - New mail is announced by IDLE (RFC 2177) if the server supports it. Polling continues as well, because a
//     dead connection looks like an idle one.
package imap
