// Package mail reads and writes Internet mail: RFC 5322 messages in MIME (RFC 2045 to 2049, 2231), as they occur in practice
// and not only as specified.
//
// [Parse] parses raw bytes to a [Message] and never fails because of a broken header, charset or part: everything that it
// could not read is named in [Message.Warnings]. Only an exceeded limit ([LimitError]) or an empty input ([ErrEmpty]) is an
// error.
//
// [Outgoing] writes a message, byte for byte the same each time, streaming its attachments. [NewMessageID],
// [BoundReferences], [ReplySubject] and [BaseSubject] serve threading; [SplitQuote] separates an answer from the mail it
// quotes.
//
// The package is independent of the help desk, storage and network.
package mail
