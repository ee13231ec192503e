// Package transfer writes and reads archives of whole accounts, and takes their rows into another store. What the rows are,
// helpdesk/transfer and kb/transfer know; transport/server puts the two together.
//
// # The archive
//
// An archive is a tar file (POSIX pax) that is compressed by Zstandard, or a folder with the same files. Its files, in their
// order, are:
//
//	manifest.json               what it is an archive of, see [Manifest]
//	00000/00000001-account.jsonl rows of a noun, one JSON object a line
//	00000/00000002-users.jsonl
//	00000/00000003-attachments.jsonl
//	00000/00000004.blob         a file that a row names
//	00000/00000005.missing      empty: a file that a row names, and that was not there any more
//	...
//	end.json                    counts, and the SHA-256 of all before it, see [End]
//
// Files are numbered without gaps; the folder is the number divided by 1,000. A file of rows has at most [MaxRows] rows and
// is followed by the files that these rows name, by the rest of their names ("00000004.blob"). Each file of rows is taken in
// one transaction. A row refers to others by the ids that they had, and only to such as came before.
//
// The fields of rows are those of the Go types that the packages of the nouns document: helpdesk.Conversation and so on. The
// version is raised whenever a field or a noun is added; a reader refuses what it does not know, and never skips it.
//
// # Hostile archives
//
// A reader takes nothing but what a [Writer] makes. Names are the ones that come next, so that no path is ever made of what
// an archive says; files of rows, lines and the window of the compression are limited. Whether an archive is whole and
// unchanged is known at its end: [Check] reads all of it, and [Apply] follows.
package transfer
