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

// Format is the version of the archives that [Write] makes. [Read] takes no later one.
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

// Limits of what an archive from elsewhere may hold. A blob and a database may be of any size: whoever reads an archive
// gives them to a disk only when there is room.
const (
	maxJSON   = 64 << 10
	maxFile   = 1 << 20
	maxFiles  = 10_000 // of data/
	maxNamed  = 600    // bytes of a name
	sumsEach  = 1000   // entries
	maxWindow = 8 << 20
)

// The codes of the faults that tell what is wrong with an archive.
const (
	CodeDamaged  = "backup_damaged"   // it is cut short, changed, or none: Invalid
	CodeNewer    = "backup_newer"     // a later release has made it: Conflict
	CodeNotEmpty = "restore_not_here" // something is where it is to be restored: Conflict
)

// Info says what an archive is a backup of.
type Info struct {
	Format   int       `json:"format"`
	Program  string    `json:"program"`  // version of what has written it
	Created  time.Time `json:"created"`  // when the database was copied
	Database string    `json:"database"` // "sqlite", or "postgres" whose rows are not in the archive
	Schema   string    `json:"schema"`   // the last migration of the database
	Mark     string    `json:"mark"`     // that the database and its blobs have in common, see storage/blobs
	// Key tells which secret key stored passwords are sealed with, see [Fingerprint].
	Key string `json:"key"`
	// KeyInside says that the file secret.key of the server's folder is in the archive. Otherwise the key was given to the
	// server by its settings, and has to be given to the next one.
	KeyInside bool `json:"key_inside"`
	// Settings are those that were in force, by name: without secrets, and for people to compare.
	Settings map[string]string `json:"settings,omitempty"`
}

// Totals is how much there is in an archive.
type Totals struct {
	Entries int64 `json:"entries"` // but for sums and the end
	Bytes   int64 `json:"bytes"`   // of them
	Blobs   int64 `json:"blobs"`
	Missing int64 `json:"missing"` // blobs that the database names and that were not there
}

// end is the last entry.
type end struct {
	Totals
	Sums string `json:"sums"`
}

// Fingerprint tells keys apart and nothing else about them: 16 bytes of a hash, in hexadecimal digits.
func Fingerprint(key []byte) string {
	sum := sha256.Sum256(append([]byte("helpwright backup key v1\x00"), key...))
	return hex.EncodeToString(sum[:16])
}

// damaged is the fault of an archive that is not what Write makes.
func damaged(format string, args ...any) error {
	f := fault.Newf(fault.Invalid, "The archive is damaged, or no backup: "+format+".", args...)
	f.Code = CodeDamaged
	return f
}

// sums keeps account of the entries of an archive.
type sums struct {
	lines bytes.Buffer // since the last entry of sums
	count int          // of lines
	files int          // entries of sums
	all   hash.Hash    // of their contents
	Totals
}

func newSums() *sums { return &sums{all: sha256.New()} }

// add notes an entry.
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

// next is the name and the content of the entry of sums that is due.
func (s *sums) next() (name string, content []byte) {
	s.files++
	return fmt.Sprintf("%s%06d", dirSums, s.files), s.lines.Bytes()
}

// taken begins anew after an entry of sums.
func (s *sums) taken() {
	_, _ = s.all.Write(s.lines.Bytes())
	s.lines.Reset()
	s.count = 0
}

func (s *sums) end() end { return end{Totals: s.Totals, Sums: hex.EncodeToString(s.all.Sum(nil))} }

// place is where an entry stands in the order of an archive: its part, and what orders it there. ok is false for a name
// that none has.
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

// validFile reports whether a name is one of a file in the server's folder, or in a folder there.
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

// source is where bytes come from: it ends when a context does, and remembers why it has failed.
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
