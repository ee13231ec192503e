// Package imap is a source of raw mail: it reads the folders of a mailbox on an IMAP server (RFC 9051, RFC 3501) and
// hands every mail, as bytes, to a [Sink] together with the position after it. It knows neither storage nor help desk.
//
// What it promises:
//   - Every mail of a folder reaches the sink, in ascending order of UID, at least once. The position is the UID under
//     its UIDVALIDITY, never a flag and never a date; it moves only when the sink has made the mails before it durable.
//     A mail that the server lists but does not hand out is asked for again, alone and then by its sequence number;
//     when all fails it is delivered as a [Mail] with a Problem, and the next one goes on.
//   - Nothing is changed on the server: folders are opened with EXAMINE, bodies are read with BODY.PEEK.
//   - A mail is whole or it is not delivered: a connection cut in the middle of one never looks like its end.
//   - Every network step has a deadline and a limit of bytes, and ends when its context ends, whatever the server does.
//   - New mail is announced by IDLE (RFC 2177) where the server has it. Polling goes on beside it, because a connection
//     that has silently died looks like a quiet one.
package imap
