package deskfolder

import "fmt"

// Setup is how a desk is set up. A nil list says nothing about its kind; an empty one says that there is none.
type Setup struct {
	Tags         []Tag
	Fields       []Field
	Calendars    []Calendar
	Teams        []Team
	SavedReplies []SavedReply
	Views        []View
	AutoReplies  []AutoReply
	Surveys      []Survey
	SLAs         []SLA  // in order
	Rules        []Rule // in order
}

// Tag is a tag of conversations.
type Tag struct {
	Name  string `yaml:"name"`
	Color string `yaml:"color,omitempty"` // "#rrggbb"; "": from the palette
}

// Field is a field of conversations, customers or companies. Its key and what it applies to name it.
type Field struct {
	Key             string   `yaml:"key"`
	AppliesTo       string   `yaml:"applies_to"`
	Label           string   `yaml:"label"`
	Type            string   `yaml:"type"`
	Options         []Option `yaml:"options,omitempty"`
	RequiredToClose bool     `yaml:"required_to_close,omitempty"`
	CustomerVisible bool     `yaml:"customer_visible,omitempty"`
	SortOrder       int64    `yaml:"sort_order,omitempty"`
}

// Option is an option of a field.
type Option struct {
	Value    string `yaml:"value"`
	Label    string `yaml:"label"`
	Archived bool   `yaml:"archived,omitempty"`
}

// Calendar is business hours.
type Calendar struct {
	Name     string    `yaml:"name"`
	Timezone string    `yaml:"timezone"`
	Week     Week      `yaml:"week"`
	Holidays []Holiday `yaml:"holidays,omitempty"`
}

// Week has the hours of each day, such as "09:00-12:00, 13:00-17:30"; "": closed.
type Week struct {
	Mon string `yaml:"mon,omitempty"`
	Tue string `yaml:"tue,omitempty"`
	Wed string `yaml:"wed,omitempty"`
	Thu string `yaml:"thu,omitempty"`
	Fri string `yaml:"fri,omitempty"`
	Sat string `yaml:"sat,omitempty"`
	Sun string `yaml:"sun,omitempty"`
}

// Holiday closes some dates, both included.
type Holiday struct {
	From string `yaml:"from"`         // yyyy-mm-dd
	To   string `yaml:"to,omitempty"` // "": From
	Name string `yaml:"name,omitempty"`
}

// Team is a team without its members, who belong to the account.
type Team struct {
	Name       string     `yaml:"name"`
	Assignment Assignment `yaml:"assignment"`
}

// Assignment is how a team hands out its conversations. Absent fields are the defaults of package assign.
type Assignment struct {
	Strategy        string `yaml:"strategy,omitempty"`
	Capacity        int    `yaml:"capacity,omitempty"`
	Who             string `yaml:"who,omitempty"`
	WhenUnavailable string `yaml:"when_unavailable,omitempty"`
	ReturnAfter     int    `yaml:"return_after,omitempty"` // hours
	Sticky          bool   `yaml:"sticky,omitempty"`
}

// SavedReply is a saved reply that all members see. With actions, it is a macro. Its files are not in the folder.
type SavedReply struct {
	Name    string   `yaml:"name"`
	Body    string   `yaml:"body,omitempty"` // HTML
	Actions []Action `yaml:"actions,omitempty"`
}

// Action is what a rule or a macro does; its values are names.
type Action struct {
	Type  string `yaml:"type"`
	Field string `yaml:"field,omitempty"`
	Value Values `yaml:"value,omitempty"`
}

// Condition is a condition of a rule; its values are names where the field is about something that has one.
type Condition struct {
	Field string `yaml:"field"`
	Op    string `yaml:"op"`
	Value Values `yaml:"value,omitempty"`
}

// View is a view that all members or those of a team see.
type View struct {
	Name    string   `yaml:"name"`
	Team    string   `yaml:"team,omitempty"` // whose members see it; "": all members
	Filter  Filter   `yaml:"filter"`
	Columns []string `yaml:"columns,omitempty,flow"`
}

// Filter is what a view selects and how it is sorted.
type Filter struct {
	Agent        string               `yaml:"agent,omitempty"` // me, unassigned or a member's address
	Status       []string             `yaml:"status,omitempty,flow"`
	Mailbox      string               `yaml:"mailbox,omitempty"`
	Customer     string               `yaml:"customer,omitempty"` // address
	Company      string               `yaml:"company,omitempty"`
	Team         string               `yaml:"team,omitempty"`
	Tags         []string             `yaml:"tags,omitempty,flow"`
	UpdatedSince string               `yaml:"updated_since,omitempty"` // RFC 3339
	Query        string               `yaml:"query,omitempty"`
	Awaiting     *bool                `yaml:"awaiting,omitempty"`
	Draft        string               `yaml:"draft,omitempty"`
	Undelivered  bool                 `yaml:"undelivered,omitempty"`
	Snoozed      *bool                `yaml:"snoozed,omitempty"`
	Priority     []string             `yaml:"priority,omitempty,flow"`
	Spam         *bool                `yaml:"spam,omitempty"`
	Fields       map[string]FieldTerm `yaml:"fields,omitempty"`
	Due          string               `yaml:"due,omitempty"`
	Rating       []string             `yaml:"rating,omitempty,flow"`
	SortBy       string               `yaml:"sort_by,omitempty"`
	Ascending    bool                 `yaml:"ascending,omitempty"`
}

// FieldTerm is what a view asks of a field.
type FieldTerm struct {
	Value Values `yaml:"value,omitempty"`
	From  string `yaml:"from,omitempty"`
	To    string `yaml:"to,omitempty"`
	Empty *bool  `yaml:"empty,omitempty"`
}

// AutoReply is an automatic reply.
type AutoReply struct {
	Name         string          `yaml:"name"`
	State        string          `yaml:"state,omitempty"` // active or off; default: active
	Mailboxes    []string        `yaml:"mailboxes,omitempty,flow"`
	Calendar     string          `yaml:"calendar,omitempty"`
	When         string          `yaml:"when,omitempty"`
	Every        bool            `yaml:"every_message,omitempty"`  // not only those that begin a conversation
	OncePer      *int            `yaml:"once_per_hours,omitempty"` // default: 24; 0: no limit
	Translations map[string]Text `yaml:"translations"`             // by locale
}

// Text is the text of a mail in a language.
type Text struct {
	Subject  string `yaml:"subject,omitempty"`
	Body     string `yaml:"body"`               // HTML
	Question string `yaml:"question,omitempty"` // of surveys
	Thanks   string `yaml:"thanks,omitempty"`   // of surveys
}

// Survey asks customers how they found the answers.
type Survey struct {
	Name         string          `yaml:"name"`
	State        string          `yaml:"state,omitempty"` // active or off; default: active
	Mailboxes    []string        `yaml:"mailboxes,omitempty,flow"`
	Scale        int             `yaml:"scale,omitempty"`
	Mail         string          `yaml:"mail,omitempty"`          // after_closing, or never: only under replies; default: after_closing
	Delay        *int            `yaml:"delay_hours,omitempty"`   // after closing; default: 24
	OncePer      *int            `yaml:"once_per_days,omitempty"` // default: 30; 0: no limit
	All          []Condition     `yaml:"all,omitempty"`           // all of these
	Any          []Condition     `yaml:"any,omitempty"`           // and any of these
	Translations map[string]Text `yaml:"translations"`            // by locale
}

// SLA is a promise.
type SLA struct {
	Name       string      `yaml:"name"`
	All        []Condition `yaml:"all,omitempty"`
	Any        []Condition `yaml:"any,omitempty"`
	Calendar   string      `yaml:"calendar,omitempty"`    // "": all hours
	FirstReply int         `yaml:"first_reply,omitempty"` // minutes, also below; 0: not promised
	NextReply  int         `yaml:"next_reply,omitempty"`
	Resolution int         `yaml:"resolution,omitempty"`
	Pauses     []string    `yaml:"pauses,omitempty,flow"`
	DueSoon    int         `yaml:"due_soon,omitempty"` // percent; default: 80
}

// Rule acts by itself.
type Rule struct {
	Name    string      `yaml:"name"`
	State   string      `yaml:"state,omitempty"` // active, dry or off; default: active
	Events  []string    `yaml:"events,flow"`
	After   *After      `yaml:"after,omitempty"`
	All     []Condition `yaml:"all,omitempty"`
	Any     []Condition `yaml:"any,omitempty"`
	Actions []Action    `yaml:"actions"`
	Stop    bool        `yaml:"stop,omitempty"`
}

// After is when a rule acts that listens to time.
type After struct {
	Since    string `yaml:"since"`
	Hours    int    `yaml:"hours"`
	Calendar string `yaml:"calendar,omitempty"`
}

// The names by which items are found again.
func (t Tag) name() string        { return t.Name }
func (f Field) name() string      { return fmt.Sprintf("%s/%s", f.AppliesTo, f.Key) }
func (c Calendar) name() string   { return c.Name }
func (t Team) name() string       { return t.Name }
func (r SavedReply) name() string { return r.Name }
func (v View) name() string       { return v.Name }
func (r AutoReply) name() string  { return r.Name }
func (s Survey) name() string     { return s.Name }
func (s SLA) name() string        { return s.Name }
func (r Rule) name() string       { return r.Name }
