package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Format is the version of the archives that [Write] makes. [Read] refuses later versions.
const Format = 1

// The names of entries.
const (
	nameInfo     = "helpwright.json"
	nameDatabase = "database.sqlite"
	nameEnd      = "end.json"
	dirData      = "data/"
	dirBlobs     = "blobs/"
	dirMissing   = "missing/"
	dirSums      = "sums/"
)

// Limits on archives from elsewhere. Blobs and databases may have any size: readers write them to disk only if there is
// room.
const (
	maxJSON   = 64 << 10
	maxFile   = 1 << 20
	maxFiles  = 10_000 // of data/
	maxNamed  = 600    // bytes of a name
	sumsEach  = 1000   // entries
	maxWindow = 8 << 20
)

// The codes of the faults for unusable archives.
const (
	CodeDamaged  = "backup_damaged"   // truncated, modified, or not an archive: Invalid
	CodeNewer    = "backup_newer"     // made by a later release: Conflict
	CodeNotEmpty = "restore_not_here" // the restore target is not empty: Conflict
)

// Info describes what an archive is a backup of.
type Info struct {
	Format   int       `json:"format"`
	Program  string    `json:"program"`  // version of the program that wrote it
	Created  time.Time `json:"created"`  // when the database was copied
	Database string    `json:"database"` // "sqlite", or "postgres" whose rows are not in the archive
	Schema   string    `json:"schema"`   // the last migration of the database
	Mark     string    `json:"mark"`     // shared by the database and its blobs, see storage/blobs
	// Key identifies the secret key that encrypts stored passwords, see [Fingerprint].
	Key string `json:"key"`
	// KeyInside reports whether the archive includes the server's file secret.key. Otherwise the key came from the server's
	// settings, and must be in the settings of the next server.
	KeyInside bool `json:"key_inside"`
	// Settings are the settings in force, by name, without secrets. They are for people to compare.
	Settings map[string]string `json:"settings,omitempty"`
}

// Totals counts the contents of an archive.
type Totals struct {
	Entries int64 `json:"entries"` // except sums and the end
	Bytes   int64 `json:"bytes"`   // of these entries
	Blobs   int64 `json:"blobs"`
	Missing int64 `json:"missing"` // blobs that the database refers to but that did not exist
}

// end is the last entry.
type end struct {
	Totals
	Sums string `json:"sums"`
}

// Fingerprint distinguishes keys without revealing them: 16 bytes of a hash in hexadecimal.
func Fingerprint(key []byte) string {
	sum := sha256.Sum256(append([]byte("helpwright backup key v1\x00"), key...))
	return hex.EncodeToString(sum[:16])
}

// damaged returns the fault for an archive that Write cannot have made.
func damaged(format string, args ...any) error {
	f := fault.Newf(fault.Invalid, "The archive is damaged or is not a backup: "+format+".", args...)
	f.Code = CodeDamaged
	return f
}

// sums collects the checksums of an archive's entries.
type sums struct {
	lines bytes.Buffer // since the last sums entry
	count int          // of lines
	files int          // sums entries
	all   hash.Hash    // of their contents
	Totals
}

func newSums() *sums { return &sums{all: sha256.New()} }

// add records an entry.
func (s *sums) add(name string, size int64, sum []byte) {
	fmt.Fprintf(&s.lines, "%x  %s\n", sum, name)
	s.count++
	s.Entries++
	s.Bytes += size
	switch {
	case strings.HasPrefix(name, dirBlobs):
		s.Blobs++
	case strings.HasPrefix(name, dirMissing):
		s.Missing++
	}
}

// next returns the name and the content of the next sums entry.
func (s *sums) next() (name string, content []byte) {
	s.files++
	return fmt.Sprintf("%s%06d", dirSums, s.files), s.lines.Bytes()
}

// taken starts over after a sums entry.
func (s *sums) taken() {
	_, _ = s.all.Write(s.lines.Bytes())
	s.lines.Reset()
	s.count = 0
}

func (s *sums) end() end { return end{Totals: s.Totals, Sums: hex.EncodeToString(s.all.Sum(nil))} }

// place returns where an entry belongs in the order of an archive: its part, and its sort key within the part. ok is false
// for an invalid name.
func place(name string) (part int, within string, ok bool) {
	switch {
	case len(name) > maxNamed:
		return 0, "", false
	case name == nameInfo:
		return 1, "", true
	case name == nameDatabase:
		return 2, "", true
	case name == nameEnd:
		return 5, "", true
	}
	if file, is := strings.CutPrefix(name, dirData); is {
		return 3, file, validFile(file)
	}
	for _, dir := range []string{dirBlobs, dirMissing} {
		if key, is := strings.CutPrefix(name, dir); is {
			return 4, key, storage.ValidBlobKey(key)
		}
	}
	return 0, "", false
}

// validFile reports whether a name is that of a file in the server's folder or in a subfolder.
func validFile(name string) bool {
	dir, file, nested := strings.Cut(name, "/")
	return plainName(dir) && (!nested || plainName(file))
}

func plainName(name string) bool {
	strange := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-'
	}
	return name != "" && name[0] != '.' && len(name) <= 200 && !strings.ContainsFunc(name, strange)
}

// source is a reader that fails when a context ends, and remembers its error.
type source struct {
	ctx context.Context //nolint:containedctx // lives as long as one call
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	if s.err = s.ctx.Err(); s.err != nil {
		return 0, s.err
	}
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // as io.Copy compares it
		s.err = err
	}
	return n, err
}
