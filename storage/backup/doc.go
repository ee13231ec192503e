// Package backup writes and reads archives that hold a whole help desk: a copy of its database, its blobs, and the few
// files that a server keeps beside them, such as the key that opens stored passwords.
//
// An archive is a tar, compressed by zstd. Its entries stand in one order, so that it is written and read in one go, in
// memory that does not grow with it:
//
//	helpwright.json     what it is a backup of, see Info
//	database.sqlite     a copy of the database; absent where PostgreSQL keeps the rows
//	data/NAME           files of the server's own folder
//	blobs/KEY           blobs, by their keys; missing/KEY instead, empty, of one that was not there
//	sums/000001         after a thousand entries and at the end: their SHA-256, as sha256sum -c takes them
//	end.json            how much there is, and the SHA-256 of all sums
//
// [Write] and [Read] do that and know no database; [Verify] and [Restore] check an archive as a whole and put it in place.
package backup
