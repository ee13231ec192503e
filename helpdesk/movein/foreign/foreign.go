// Package foreign is what the data of other help desks have in common: people, conversations with messages, and saved
// replies. Packages zendesk, helpscout and freescout read the files of one help desk each and yield these. None of them
// knows this help desk.
//
// Files may be of any size: they are read record by record, and what is kept in memory is where each person lies.
package foreign

import (
	"context"
	"io/fs"
	"time"
)

// Format says what a [Source] reads.
type Format struct {
	Name     string // "zendesk"
	Title    string // "Zendesk"
	Document string // where the format is documented, and which version of it
	What     string // what a conversation is called there: "ticket"
}

// Source is the data of an account of another help desk, in files. Methods that yield call fn for one after the other, and
// end with its first error. What a Source cannot read it skips, and notes in its report; an error is one of the file system.
type Source interface {
	Format() Format
	// People yields customers and agents.
	People(ctx context.Context, fn func(Person) error) error
	// Conversations yields conversations with their messages, oldest message first.
	Conversations(ctx context.Context, fn func(Conversation) error) error
	// Replies yields saved replies.
	Replies(ctx context.Context, fn func(Reply) error) error
	// Open opens the file of a message.
	Open(f File) (fs.File, error)
	// Report is what was found that has no place, and what could not be read. It grows while the others run.
	Report() *Report
}

// Person is a customer or an agent.
type Person struct {
	ID               string
	Name             string
	Emails           []string // the one to write to first
	Phones, Websites []string
	Company, Note    string
	Agent            bool // works there
	Deleted          bool
	Extra            []Field
}

// Email is the address to write to, "" if there is none.
func (p Person) Email() string {
	if len(p.Emails) == 0 {
		return ""
	}
	return p.Emails[0]
}

// Field is something that was found and has no other place.
type Field struct{ Name, Value string }

// State is how far a conversation is.
type State int

// The states.
const (
	Open State = iota
	Pending
	Closed
)

// String is what this help desk calls it.
func (s State) String() string { return [...]string{"open", "pending", "closed"}[s] }

// Conversation is what was said about one matter.
type Conversation struct {
	ID       string
	Number   string // what people call it by
	Subject  string
	State    State
	Status   string // as it is called there
	Spam     bool
	Priority string // low, normal, high or urgent; "": none
	Customer Person
	Cc       []Person
	Assignee Person // zero: nobody
	Team     string
	Tags     []string
	Created  time.Time
	Updated  time.Time
	Messages []Message
	Extra    []Field
	Place    string
}

// Kind says who speaks.
type Kind int

// The kinds of messages.
const (
	FromCustomer Kind = iota
	FromAgent
	Note // seen by agents only
)

// Message is one contribution to a conversation.
type Message struct {
	ID          string
	Kind        Kind
	Author      Person
	To, Cc, Bcc []string
	HTML, Text  string // HTML is preferred
	MessageID   string
	At          time.Time
	Files       []File
	Extra       []Field
}

// File is a file of a message.
type File struct {
	ID, Name, Type string
	ContentID      string // by which HTML shows it, as cid:...
	Inline         bool
	Path           string // within the folder; "": its bytes are not there
}

// Reply is a text that is answered with again and again.
type Reply struct {
	ID, Name string
	HTML     string
	Place    string
}

// Config says what to read, and how much.
type Config struct {
	// Files is the folder; required. To stay within it whatever links it has, use [os.Root.FS].
	Files fs.FS
	// MaxRecord is the largest record, in bytes; larger ones are left out. 0: 32 MiB.
	MaxRecord int
}
