// Package backup writes and reads archives of a whole help desk: a copy of its database, its blobs, and the few files that a
// server keeps beside them, such as the key that encrypts stored passwords.
//
// An archive is a tar file compressed with zstd. Its entries are in a fixed order, so that it is written and read in one
// pass with constant memory:
//
//	helpwright.json     what it is a backup of, see Info
//	database.sqlite     a copy of the database; absent where PostgreSQL keeps the rows
//	data/NAME           files of the server's own folder
//	blobs/KEY           blobs, by their keys; missing/KEY instead, empty, of one that was not there
//	sums/000001         after a thousand entries and at the end: their SHA-256, as sha256sum -c takes them
//	end.json            how much there is, and the SHA-256 of all sums
//
// [Write] and [Read] handle the format and do not need a database. [Verify] and [Restore] check a whole archive and restore
// it.
package backup
