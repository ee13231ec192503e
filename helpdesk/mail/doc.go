// Package mail reads and writes Internet mail: RFC 5322 messages in MIME
// (RFC 2045 to 2049, 2231), as they are sent and not only as they ought to be.
//
// [Parse] turns raw bytes into a [Message] and never fails on a broken header,
// charset or part: what could not be read is named in [Message.Warnings]. Only a
// broken limit ([LimitError]) or an empty input ([ErrEmpty]) is an error.
//
// [Outgoing] writes a message, byte for byte the same each time, streaming its
// attachments. [NewMessageID], [BoundReferences], [ReplySubject] and [BaseSubject]
// serve threading; [SplitQuote] separates an answer from the mail it quotes.
//
// The package knows no help desk, no storage and no network.
package mail

import ()
