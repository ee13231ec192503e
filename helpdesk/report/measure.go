package report

// Clock is the moment that decides whether a conversation counts in a period.
type Clock string

// The clocks.
const (
	Created  Clock = "created"  // when it began
	Resolved Clock = "resolved" // when it was closed the last time
	Rated    Clock = "rated"    // when the customer rated
	Replied  Clock = "replied"  // each time that a member replied
	Open     Clock = "open"     // while it was open
)

// measured is a measure, and how it follows from facts.
type measured struct {
	Measure
	clock Clock
	value value
	user  owner
}

// owner is whose a measure is, in lines of users. The zero value is the member who is assigned.
type owner struct {
	column Column
	of     func(*Fact) int64
}

func assigned() owner { return owner{ColumnUser, func(f *Fact) int64 { return f.UserID }} }

// Column is a part of a fact, by the name that stores have for it. What was said, the gaps and the tags are one column each.
type Column string

// The columns that figures need.
const (
	ColumnConversation  Column = "conversation_id"
	ColumnCreated       Column = "created_at"
	ColumnResolved      Column = "resolved_at"
	ColumnMailbox       Column = "mailbox_id"
	ColumnTeam          Column = "team_id"
	ColumnUser          Column = "user_id"
	ColumnSLA           Column = "sla_id"
	ColumnChannel       Column = "channel"
	ColumnTags          Column = "tags"
	ColumnAsked         Column = "asked_at"
	ColumnFirstReply    Column = "first_reply_at"
	ColumnFirstReplyBy  Column = "first_reply_by"
	ColumnBusinessReply Column = "business_reply"
	ColumnReplies       Column = "replies"
	ColumnTouches       Column = "touches"
	ColumnReopened      Column = "reopened"
	ColumnWait          Column = "wait"
	ColumnVerdict       Column = "verdict"
	ColumnRated         Column = "rated_at"
	ColumnRatedBy       Column = "rated_by"
	ColumnFirstReplySLA Column = "first_reply_sla"
	ColumnNextReplySLA  Column = "next_reply_sla"
	ColumnResolutionSLA Column = "resolution_sla"
	ColumnSaid          Column = "said"
	ColumnClosed        Column = "closed"
)

// value is what a conversation adds to a figure; false: it does not count there. All measures of the same value share what is
// collected.
type value struct {
	key     string
	columns []Column // what it needs, beside what its clock needs
	of      func(f *Fact, d durations) (v int64, counts bool)
}

func one(key string, counts func(f *Fact) bool, columns ...Column) value {
	return value{key, columns, func(f *Fact, _ durations) (int64, bool) { return 1, counts(f) }}
}

// number is a number of each conversation.
func number(key string, of func(f *Fact) int64, column Column) value {
	return value{key, []Column{column}, func(f *Fact, _ durations) (int64, bool) { return of(f), true }}
}

// share is 1 or 0 among those that count.
func share(key string, of, counts func(f *Fact) bool, columns ...Column) value {
	return value{key, columns, func(f *Fact, _ durations) (int64, bool) {
		if of(f) {
			return 1, counts(f)
		}
		return 0, counts(f)
	}}
}

func all(*Fact) bool { return true }

func (f *Fact) good() bool { return f.Verdict == verdictGood }

func (f *Fact) rated() bool { return f.Verdict != "" }

// The verdicts of ratings.
const (
	verdictGood    = "good"
	verdictNeutral = "neutral"
	verdictBad     = "bad"
)

func counted(clock Clock, v value) measured {
	return measured{Measure: Measure{v.key, Count, Sum}, clock: clock, value: v}
}

func shared(key string, clock Clock, of, counts func(f *Fact) bool, columns ...Column) measured {
	return measured{Measure: Measure{key, Percent, Share}, clock: clock, value: share(key, of, counts, columns...)}
}

// spread are the median, the 90th percentile and the mean of a value.
func spread(unit Unit, clock Clock, v value, statistics ...Statistic) []measured {
	var all []measured
	for _, s := range statistics {
		all = append(all, measured{Measure: Measure{v.key + "_" + string(s), unit, s}, clock: clock, value: v})
	}
	return all
}

func firstReply() value {
	return value{"first_reply", []Column{ColumnAsked, ColumnFirstReply}, func(f *Fact, d durations) (int64, bool) {
		v := d.between(f.AskedAt, f.FirstReplyAt)
		return v, v != None
	}}
}

func resolution() value {
	return value{"resolution", []Column{ColumnCreated}, func(f *Fact, d durations) (int64, bool) {
		v := d.between(f.CreatedAt, f.ResolvedAt)
		return v, v != None
	}}
}

func measuresOf(n Name) []measured {
	created, resolved := counted(Created, one("created", all)), counted(Resolved, one("resolved", all))
	good := shared("good", Rated, (*Fact).good, (*Fact).rated, ColumnVerdict)
	replyMedian, resolutionMedian := spread(Seconds, Created, firstReply(), Median), spread(Seconds, Resolved, resolution(), Median)
	switch n {
	case Volume:
		return []measured{created, resolved}
	case BusyHours:
		return append([]measured{created}, replyMedian...)
	case FirstReply:
		business := value{"business_reply", []Column{ColumnBusinessReply}, func(f *Fact, _ durations) (int64, bool) { return f.BusinessReply, f.BusinessReply != None }}
		list := []measured{counted(Created, one("replied", func(f *Fact) bool { return f.FirstReply() != None }, ColumnAsked, ColumnFirstReply))}
		list = append(list, spread(Seconds, Created, firstReply(), Median, P90, Mean)...)
		return append(list, spread(Seconds, Created, business, Median, P90, Mean)...)
	case Resolution:
		wait := value{"wait", []Column{ColumnWait, ColumnAsked}, func(f *Fact, _ durations) (int64, bool) { return f.Wait, !f.AskedAt.IsZero() }}
		list := append([]measured{resolved}, spread(Seconds, Resolved, resolution(), Median, P90, Mean)...)
		list = append(list, spread(Seconds, Resolved, wait, Median, P90, Mean)...)
		return append(list, shared("reopened", Resolved, func(f *Fact) bool { return f.Reopened > 0 }, all, ColumnReopened))
	case Replies:
		replies := number("replies", func(f *Fact) int64 { return int64(f.Replies) }, ColumnReplies)
		touches := number("touches", func(f *Fact) int64 { return int64(f.Touches) }, ColumnTouches)
		list := append([]measured{resolved, counted(Resolved, replies)}, spread(Count, Resolved, replies, Median, P90, Mean)...)
		list = append(list, spread(Count, Resolved, touches, Mean)...)
		return append(list, shared("one_reply", Resolved, func(f *Fact) bool { return f.Replies == 1 }, all, ColumnReplies))
	case Backlog:
		return []measured{counted(Open, one("open", all))}
	case Team:
		return teamMeasures()
	case Tags:
		list := append([]measured{created, resolved}, replyMedian...)
		return append(append(list, resolutionMedian...), good)
	case Ratings:
		with := func(verdict string) measured {
			return counted(Rated, one(verdict, func(f *Fact) bool { return f.Verdict == verdict }, ColumnVerdict))
		}
		satisfied := shared("satisfaction", Rated, (*Fact).good, (*Fact).rated, ColumnVerdict)
		return []measured{counted(Rated, one("rated", (*Fact).rated, ColumnVerdict)), with(verdictGood), with(verdictNeutral), with(verdictBad), satisfied}
	case SLA:
		return slaMeasures()
	case HelpCentre:
		return helpCentreMeasures()
	case Channels:
		return append(append([]measured{created, resolved}, replyMedian...), resolutionMedian...)
	}
	return nil
}

// teamMeasures are those of each member: what they replied, and what was theirs when it was resolved or rated.
func teamMeasures() []measured {
	list := []measured{counted(Replied, one("replied", all)), counted(Replied, value{"replies", nil, func(f *Fact, _ durations) (int64, bool) { return 1, true }})}
	list = append(list, counted(Resolved, one("resolved", all)))
	first := spread(Seconds, Created, firstReply(), Median)[0]
	first.user = owner{ColumnFirstReplyBy, func(f *Fact) int64 { return f.FirstReplyBy }}
	good := shared("good", Rated, (*Fact).good, (*Fact).rated, ColumnVerdict)
	good.user = owner{ColumnRatedBy, func(f *Fact) int64 { return f.RatedID }}
	return append(append(list, spread(Seconds, Resolved, resolution(), Median)...), first, good)
}

func slaMeasures() []measured {
	var list []measured
	for _, kind := range []struct {
		key    string
		column Column
		of     func(*Fact) Outcome
	}{
		{"first_reply", ColumnFirstReplySLA, func(f *Fact) Outcome { return f.FirstReplySLA }},
		{"next_reply", ColumnNextReplySLA, func(f *Fact) Outcome { return f.NextReplySLA }},
		{"resolution", ColumnResolutionSLA, func(f *Fact) Outcome { return f.ResolutionSLA }},
	} {
		met := func(f *Fact) bool { return kind.of(f) == Met }
		list = append(list,
			counted(Created, one(kind.key+"_met", met, kind.column)),
			counted(Created, one(kind.key+"_breached", func(f *Fact) bool { return kind.of(f) == Breached }, kind.column)),
			shared(kind.key+"_kept", Created, met, func(f *Fact) bool { return kind.of(f) != NoTarget }, kind.column))
	}
	return list
}
