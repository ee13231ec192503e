package identity

import (
	"slices"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Preferences are how a user wants to work. They follow the user into every account and every browser.
type Preferences struct {
	Language     string       // of the desk, BCP 47; "": the browser's
	TimeZone     string       // of dates in the desk, an IANA name; "": the browser's
	AfterSending AfterSending // "": only closing leads on
	// LeaveUnassigned says that replying in a conversation that nobody has does not assign it to the user.
	LeaveUnassigned bool
}

// AfterSending is where the desk leads after a reply was sent.
type AfterSending string

// Where the desk leads.
const (
	AfterSendingStay AfterSending = "stay" // the same conversation
	AfterSendingNext AfterSending = "next" // the next one of the list
	AfterSendingList AfterSending = "list" // the list
)

// AfterSendings lists all choices, in the order in which settings show them.
func AfterSendings() []AfterSending {
	return []AfterSending{AfterSendingStay, AfterSendingNext, AfterSendingList}
}

// PreferencesUpdate changes preferences. Absent fields are unchanged; null is the default.
type PreferencesUpdate struct {
	Language      storage.Opt[string]
	TimeZone      storage.Opt[string]
	AfterSending  storage.Opt[AfterSending]
	AssignOnReply storage.Opt[bool] // null: true
}

// IsSet reports whether the update changes anything.
func (u PreferencesUpdate) IsSet() bool {
	return u.Language.IsSet() || u.TimeZone.IsSet() || u.AfterSending.IsSet() || u.AssignOnReply.IsSet()
}

// Check adds problems for invalid values, except of the language, which the caller checks.
func (u PreferencesUpdate) Check(problems *fault.Collector) {
	problems.Check(validZone(u.TimeZone.Or("")), "time_zone", "must be the name of a time zone, such as Europe/Berlin")
	after := u.AfterSending.Or("")
	problems.Check(after == "" || slices.Contains(AfterSendings(), after), "after_sending", "must be stay, next or list")
}

// validZone reports whether a time zone is known; "" is.
func validZone(name string) bool {
	if name == "" {
		return true
	}
	_, err := time.LoadLocation(name)
	return err == nil && name != "Local" && len(name) <= 64
}

// Apply changes preferences as the update says.
func (u PreferencesUpdate) Apply(p *Preferences) {
	if u.Language.IsSet() {
		p.Language = u.Language.Or("")
	}
	if u.TimeZone.IsSet() {
		p.TimeZone = u.TimeZone.Or("")
	}
	if u.AfterSending.IsSet() {
		p.AfterSending = u.AfterSending.Or("")
	}
	if u.AssignOnReply.IsSet() {
		p.LeaveUnassigned = !u.AssignOnReply.Or(true)
	}
}
