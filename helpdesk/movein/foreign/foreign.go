// Package foreign models what all other help desks have in common: people, conversations with messages, and saved
// replies. Packages zendesk, helpscout and freescout each read the files of one product and yield these. They do not depend
// on this help desk.
//
// Files may be of any size: they are read record by record, and only the position of each person is kept in memory.
package foreign

import (
	"context"
	"io/fs"
	"time"
)

// Format describes what a [Source] reads.
type Format struct {
	Name     string // "zendesk"
	Title    string // "Zendesk"
	Document string // where the format is documented, and which version of it
	What     string // the product's word for a conversation, such as "ticket"
}

// Source is the exported data of another help desk's account. Methods that yield call fn for each item in turn and
// stop at its first error. A Source skips what it cannot read and notes it in its report; it only returns file system errors.
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
	// Report lists what has no counterpart here and what could not be read. It grows while the other methods run.
	Report() *Report
}

// Person is a customer or an agent.
type Person struct {
	ID               string
	Name             string
	Emails           []string // the preferred one first
	Phones, Websites []string
	Company, Note    string
	Organization     Organization // more about Company
	Agent            bool         // works at the help desk
	Deleted          bool
	Values           []Value
	Extra            []Field
}

// Email returns the preferred address, or "".
func (p Person) Email() string {
	if len(p.Emails) == 0 {
		return ""
	}
	return p.Emails[0]
}

// Organization is what is known of a company beside its name.
type Organization struct {
	Domains          []string // of mail addresses
	Note, ExternalID string
}

// Field is data without a counterpart here.
type Field struct{ Name, Value string }

// PropertyType is the type of a property's values.
type PropertyType string

// The types of properties.
const (
	PropertyText    PropertyType = "text"
	PropertyNumber  PropertyType = "number"
	PropertyBoolean PropertyType = "boolean"
	PropertyDate    PropertyType = "date"
	PropertyOneOf   PropertyType = "select"
	PropertySomeOf  PropertyType = "multiselect"
)

// Property is a field that people have defined for their customers or conversations.
type Property struct {
	ID         string
	Name       string
	OfCustomer bool // otherwise of conversations
	Type       PropertyType
	Options    []Option // of PropertyOneOf and PropertySomeOf
	Required   bool     // to close a conversation
	Public     bool     // customers see it
}

// Option is a value of a property that can be chosen.
type Option struct{ Value, Name string }

// Value is the value of a property: several texts for PropertySomeOf, otherwise one.
type Value struct {
	Of    *Property
	Texts []string
}

// State is the state of a conversation.
type State int

// The states.
const (
	Open State = iota
	Pending
	Closed
)

// String returns this help desk's name for it.
func (s State) String() string { return [...]string{"open", "pending", "closed"}[s] }

// Conversation is one conversation with a customer.
type Conversation struct {
	ID       string
	Number   string // the number that people see
	Subject  string
	State    State
	Status   string // in the product's words
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
	Values   []Value
	Rating   Rating // zero: none
	Extra    []Field
	Place    string
}

// Rating is how a customer rated the answers.
type Rating struct {
	Good    bool
	Bad     bool
	Comment string
}

// Kind says who wrote a message.
type Kind int

// The kinds of messages.
const (
	FromCustomer Kind = iota
	FromAgent
	Note // seen by agents only
)

// Message is one message in a conversation.
type Message struct {
	ID          string
	Kind        Kind
	Author      Person
	To, Cc, Bcc []string
	HTML, Text  string // HTML takes precedence
	MessageID   string
	At          time.Time
	Files       []File
	Extra       []Field
}

// File is a file of a message.
type File struct {
	ID, Name, Type string
	ContentID      string // HTML refers to it as cid:...
	Inline         bool
	Path           string // within the folder; "": the file is missing
}

// Reply is a saved reply. HTML may be empty if it does something.
type Reply struct {
	ID, Name string
	HTML     string
	Does     Does
	Place    string
}

// Does is what a saved reply does besides writing to the customer.
type Does struct {
	Sets                bool // sets State
	State               State
	Priority            string // "": none
	AddTags, RemoveTags []string
	Assignee            Person // without an address: none
	Unassigns           bool
	Team                string // its name; "": none
	Values              []Value
	Note                string // HTML of a note; "": none
}

// Nothing reports whether it does nothing.
func (d Does) Nothing() bool {
	return !d.Sets && d.Priority == "" && len(d.AddTags)+len(d.RemoveTags)+len(d.Values) == 0 && d.Assignee.Email() == "" && !d.Unassigns && d.Team == "" && d.Note == ""
}

// Config configures a source.
type Config struct {
	// Files is the folder; required. Use [os.Root.FS] to stay within it, whatever links it contains.
	Files fs.FS
	// MaxRecord limits a record, in bytes; larger ones are skipped. 0: 32 MiB.
	MaxRecord int
}
