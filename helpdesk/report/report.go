// Package report holds what reports know of conversations, and computes figures from it. Its functions are pure: they know no
// store and no clock. See section 9 of the specification of automation.
package report

import (
	"slices"
	"time"
)

// Name is a report.
type Name string

// The reports.
const (
	Volume     Name = "volume"      // conversations created and resolved
	BusyHours  Name = "busy_hours"  // conversations created, by hour of the week
	FirstReply Name = "first_reply" // how long customers wait for the first reply
	Resolution Name = "resolution"  // how long it takes until a conversation is resolved
	Replies    Name = "replies"     // replies until a conversation is resolved, and what took one
	Backlog    Name = "backlog"     // open conversations at the end of each day
	Team       Name = "team"        // what each member did
	Tags       Name = "tags"        // what conversations are about
	Ratings    Name = "ratings"     // how customers found the answers
	SLA        Name = "sla"         // targets that were met and breached
	Channels   Name = "channels"    // how conversations came

	// HelpCentre says what readers of help centres did. It is no report on conversations: see [HelpCentreFigures].
	HelpCentre Name = "help_centre"
)

// Names lists the reports on conversations.
func Names() []Name {
	return []Name{Volume, BusyHours, FirstReply, Resolution, Replies, Backlog, Team, Tags, Ratings, SLA, Channels}
}

// Group is what the lines of a report are.
type Group string

// The groups. Not every report has lines of every group.
const (
	ByNothing    Group = ""        // no lines, the total alone
	ByHour       Group = "hour"    // of the week, from "mon 00" to "sun 23"
	ByDay        Group = "day"     // "2026-11-30", in the time zone of the query
	ByWeek       Group = "week"    // the Monday that it begins with
	ByMonth      Group = "month"   // "2026-11"
	ByMailbox    Group = "mailbox" // the id, as are the following
	ByTeam       Group = "team"    // "0": none
	ByUser       Group = "user"    // "0": nobody
	ByTag        Group = "tag"     // a conversation counts with each of its tags
	ByChannel    Group = "channel"
	BySLA        Group = "sla"
	ByStatistics Group = "bucket" // how many lie between two durations, such as "0-900"
)

// Query says what a report is about.
type Query struct {
	From, To   time.Time // the first moment, and the first one after; beginnings of days in the time zone
	Timezone   string    // IANA; "": UTC
	GroupBy    Group
	MailboxID  int64 // only conversations of this mailbox; 0: all, as below
	TeamID     int64
	UserID     int64
	TagID      int64
	CalendarID int64 // durations count its business hours; 0: all hours
	SiteID     int64 // of HelpCentre alone
}

// Unit is the unit of a measure.
type Unit string

// The units.
const (
	Count   Unit = "count"
	Seconds Unit = "seconds"
	Percent Unit = "percent" // 0 to 100
)

// Statistic is how a figure follows from the values of its conversations.
type Statistic string

// The statistics.
const (
	Sum    Statistic = "sum"    // of the values; of conversations that count once, their number
	Median Statistic = "median" // the lower one of two in the middle
	P90    Statistic = "p90"    // the 90th percentile, nearest rank
	Mean   Statistic = "mean"
	Share  Statistic = "share" // of the conversations whose value is 1 among all, in percent
)

// Measure is what a figure says.
type Measure struct {
	Key       string // such as "created", "first_reply_median"
	Unit      Unit
	Statistic Statistic
}

// Figure is a number of a report.
type Figure struct {
	Value float64
	None  bool  // nothing to compute it from
	Of    int64 // the conversations that it rests on: exactly those of its rows
}

// Line is the figures of a group, in the order of the report's measures.
type Line struct {
	Key      string    // see the groups; "" of a total
	From, To time.Time // of a span of time; zero otherwise
	Figures  []Figure
}

// Report is the figures of a query.
type Report struct {
	Name     Name
	Query    Query
	Measures []Measure
	Total    Line
	Before   Line      // the total of the period of the same length that ends at Query.From
	Lines    []Line    // by time, or by key
	FoldedAt time.Time // until when facts are known: what happened later may be missing
}

// Row is a conversation that a figure counts, with the value that it adds.
type Row struct {
	Fact  Fact
	Value float64
}

// None is a duration that a conversation does not have.
const None = -1

// Fact is what reports know of a conversation. Its times are whole seconds in UTC, and zero if there is none; its durations are
// seconds. Spam and drafts have no facts. What was said counts once it was posted and sent: neither drafts nor replies that wait
// for their time do.
type Fact struct {
	ConversationID int64
	Number         int64
	CreatedAt      time.Time // when the first of its messages came: imported ones began there, and parted ones with the parted message
	MailboxID      int64
	TeamID         int64 // 0: none
	UserID         int64 // 0: nobody; a former member keeps what was theirs
	SLAID          int64 // 0: none
	Channel        string
	Tags           []int64 // sorted

	// AskedAt is when the customer first wrote by hand; zero: never, or a member wrote before. FirstReplyAt is when a member first
	// replied to that, unless the conversation was closed before: neither an automatic reply, a note nor a forward is a reply.
	AskedAt       time.Time
	FirstReplyAt  time.Time
	FirstReplyBy  int64 // 0: nobody who is known here
	BusinessReply int64 // FirstReplyAt - AskedAt in the business hours of its SLA, otherwise of the account's oldest calendar; or None

	Replies  int   // of members
	Touches  int   // what members contributed: replies, forwards and notes
	Received int   // messages of customers, also those that machines wrote
	Reopened int   // how often it was opened again after it was closed
	Wait     int64 // how long the customer waited in total for replies, or until it was closed without one

	ResolvedAt time.Time // when it was closed the last time; zero: it is open

	Verdict string    // of the last rating: "good", "neutral", "bad"; "": none
	RatedAt time.Time // when it was first given
	RatedID int64     // the member who had answered last; 0: nobody who is known

	FirstReplySLA, NextReplySLA, ResolutionSLA Outcome

	Said   []Reply // the replies, oldest first, at most MaxSaid: the last ones
	Closed []Gap   // when it was closed between openings, oldest first, at most MaxGaps: the last ones
	Steps  []Step  // what only events told, see Step
}

// FirstReply returns how long the customer waited for the first reply, or None.
func (f Fact) FirstReply() int64 { return between(f.AskedAt, f.FirstReplyAt) }

// Resolution returns how long it took until it was resolved, or None.
func (f Fact) Resolution() int64 { return between(f.CreatedAt, f.ResolvedAt) }

// Members returns who replied, sorted.
func (f Fact) Members() []int64 {
	var ids []int64
	for _, r := range f.Said {
		if r.UserID != 0 {
			ids = append(ids, r.UserID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func between(from, to time.Time) int64 {
	if from.IsZero() || to.IsZero() {
		return None
	}
	return max(0, to.Unix()-from.Unix())
}

// Outcome is what became of the targets of an SLA of one kind.
type Outcome string

// The outcomes.
const (
	NoTarget Outcome = ""         // there was none, or it still runs
	Met      Outcome = "met"      // all that ended were met
	Breached Outcome = "breached" // one was not
)

// Reply is a reply of a member.
type Reply struct {
	At     time.Time
	UserID int64 // 0: nobody who is known here
}

// Gap is a time in which a conversation was closed.
type Gap struct{ From, To time.Time }

// Limits of what a fact keeps.
const (
	MaxSaid  = 1000
	MaxGaps  = 20
	MaxSteps = 200
)

// Measures lists what the figures of a report say, in their order.
func (n Name) Measures() []Measure {
	var all []Measure
	for _, m := range measuresOf(n) {
		all = append(all, m.Measure)
	}
	return all
}

// Groups lists the groups that the lines of a report can be of, the usual one first. Every report also has [ByNothing].
func (n Name) Groups() []Group {
	things := []Group{ByMailbox, ByTeam, ByUser, ByTag, ByChannel, BySLA}
	spans := []Group{ByDay, ByWeek, ByMonth}
	switch n {
	case BusyHours:
		return []Group{ByHour}
	case HelpCentre:
		return spans
	case FirstReply, Resolution:
		return slices.Concat(spans, []Group{ByStatistics}, things)
	case Team:
		return slices.Concat([]Group{ByUser}, spans)
	case Tags:
		return slices.Concat([]Group{ByTag}, spans)
	case SLA:
		return slices.Concat([]Group{BySLA}, spans, things[:5])
	case Channels:
		return slices.Concat([]Group{ByChannel}, spans, things[:4])
	case Volume, Replies, Backlog, Ratings:
	}
	return slices.Concat(spans, things)
}
