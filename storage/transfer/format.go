package transfer

import (
	"fmt"
	"hash"
	"time"

	"github.com/helpwright/helpwright/storage/fault"
)

// Version is that of the archives that a [Writer] makes. A [Reader] takes no later one.
const Version = 1

// Limits of an archive. Files that rows name may be of any size.
const (
	MaxRows  = 500      // in one file
	maxChunk = 64 << 20 // bytes of a file of rows
	fullAt   = 1 << 20  // bytes at which a writer begins another one
	maxJSON  = 64 << 10 // of the manifest and of the end
	maxNotes = 1000
	maxNoun  = 40 // bytes of a name
)

const (
	format       = "helpwright account"
	nameManifest = "manifest.json"
	nameEnd      = "end.json"
	maxWindow    = 8 << 20
)

// The codes of the faults that tell what is wrong with an archive.
const (
	CodeDamaged = "archive_damaged" // it is cut short, changed, or none: Invalid
	CodeNewer   = "archive_newer"   // a later release has made it: Conflict
	CodeBusy    = "archive_busy"    // it is being imported by another process: Conflict
)

// Manifest says what an archive is of.
type Manifest struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	ID      string    `json:"id"`      // of this archive, no other has it
	Program string    `json:"program"` // version of what has written it
	Created time.Time `json:"created"`
	Account int64     `json:"account"` // its id where it came from
	Name    string    `json:"name"`    // of the account
	// Salt is set when secrets are in the archive, sealed under a passphrase, see [NewSecrets].
	Salt []byte `json:"salt,omitempty"`
	// Proof tells whether a passphrase is the right one.
	Proof []byte `json:"proof,omitempty"`
}

// End is the last file of an archive.
type End struct {
	Rows    map[string]int64 `json:"rows"`    // by noun
	Files   int64            `json:"files"`   // that rows name
	Bytes   int64            `json:"bytes"`   // of all files before this one
	Missing int64            `json:"missing"` // files that rows name and that were not there
	// Notes are what is not in the archive and somebody has to see to, such as passwords.
	Notes []string `json:"notes"`
	Sum   string   `json:"sha256"` // over name, size and content of all files before this one
}

// damaged is the fault of an archive that is not what a Writer makes.
func damaged(text string, args ...any) error {
	f := fault.Newf(fault.Invalid, "The archive is damaged, or none of an account: "+text+".", args...)
	f.Code = CodeDamaged
	return f
}

// rowsName is the name of a file of rows, blobName that of a file that rows name.
func rowsName(n int64, noun string) string {
	return fmt.Sprintf("%05d/%08d-%s.jsonl", n/1000, n, noun)
}

func blobName(n int64) string    { return fmt.Sprintf("%08d.blob", n) }
func missingName(n int64) string { return fmt.Sprintf("%05d/%08d.missing", n/1000, n) }
func pathOf(n int64) string      { return fmt.Sprintf("%05d/%s", n/1000, blobName(n)) }

// validNoun reports whether a name can be one of a noun.
func validNoun(s string) bool {
	if s == "" || len(s) > maxNoun {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && c != '_' {
			return false
		}
	}
	return true
}

// account notes a file in the sum.
func account(sum hash.Hash, name string, size int64) { fmt.Fprintf(sum, "%s\n%d\n", name, size) }
