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
	user  func(*Fact) int64 // whose it is, in lines of users; nil: UserID's
}

// value is what a conversation adds to a figure; false: it does not count there. All measures of the same value share what is
// collected.
type value struct {
	key string
	of  func(f *Fact, d durations) (v int64, counts bool)
}

func one(key string, counts func(f *Fact) bool) value {
	return value{key, func(f *Fact, _ durations) (int64, bool) { return 1, counts(f) }}
}

// share is 1 or 0 among those that count.
func share(key string, of, counts func(f *Fact) bool) value {
	return value{key, func(f *Fact, _ durations) (int64, bool) {
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

func shared(key string, clock Clock, of, counts func(f *Fact) bool) measured {
	return measured{Measure: Measure{key, Percent, Share}, clock: clock, value: share(key, of, counts)}
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
	return value{"first_reply", func(f *Fact, d durations) (int64, bool) {
		v := d.between(f.AskedAt, f.FirstReplyAt)
		return v, v != None
	}}
}

func resolution() value {
	return value{"resolution", func(f *Fact, d durations) (int64, bool) {
		v := d.between(f.CreatedAt, f.ResolvedAt)
		return v, v != None
	}}
}

func measuresOf(n Name) []measured {
	created, resolved := counted(Created, one("created", all)), counted(Resolved, one("resolved", all))
	good := shared("good", Rated, (*Fact).good, (*Fact).rated)
	replyMedian, resolutionMedian := spread(Seconds, Created, firstReply(), Median), spread(Seconds, Resolved, resolution(), Median)
	switch n {
	case Volume:
		return []measured{created, resolved}
	case BusyHours:
		return append([]measured{created}, replyMedian...)
	case FirstReply:
		business := value{"business_reply", func(f *Fact, _ durations) (int64, bool) { return f.BusinessReply, f.BusinessReply != None }}
		list := []measured{counted(Created, one("replied", func(f *Fact) bool { return f.FirstReply() != None }))}
		list = append(list, spread(Seconds, Created, firstReply(), Median, P90, Mean)...)
		return append(list, spread(Seconds, Created, business, Median, P90, Mean)...)
	case Resolution:
		wait := value{"wait", func(f *Fact, _ durations) (int64, bool) { return f.Wait, !f.AskedAt.IsZero() }}
		list := append([]measured{resolved}, spread(Seconds, Resolved, resolution(), Median, P90, Mean)...)
		list = append(list, spread(Seconds, Resolved, wait, Median, P90, Mean)...)
		return append(list, shared("reopened", Resolved, func(f *Fact) bool { return f.Reopened > 0 }, all))
	case Replies:
		replies := value{"replies", func(f *Fact, _ durations) (int64, bool) { return int64(f.Replies), true }}
		touches := value{"touches", func(f *Fact, _ durations) (int64, bool) { return int64(f.Touches), true }}
		list := append([]measured{resolved, counted(Resolved, replies)}, spread(Count, Resolved, replies, Median, P90, Mean)...)
		list = append(list, spread(Count, Resolved, touches, Mean)...)
		return append(list, shared("one_reply", Resolved, func(f *Fact) bool { return f.Replies == 1 }, all))
	case Backlog:
		return []measured{counted(Open, one("open", all))}
	case Team:
		return teamMeasures()
	case Tags:
		list := append([]measured{created, resolved}, replyMedian...)
		return append(append(list, resolutionMedian...), good)
	case Ratings:
		with := func(verdict string) measured {
			return counted(Rated, one(verdict, func(f *Fact) bool { return f.Verdict == verdict }))
		}
		satisfied := shared("satisfaction", Rated, (*Fact).good, (*Fact).rated)
		return []measured{counted(Rated, one("rated", (*Fact).rated)), with(verdictGood), with(verdictNeutral), with(verdictBad), satisfied}
	case SLA:
		return slaMeasures()
	case Channels:
		return append(append([]measured{created, resolved}, replyMedian...), resolutionMedian...)
	}
	return nil
}

// teamMeasures are those of each member: what they replied, and what was theirs when it was resolved or rated.
func teamMeasures() []measured {
	list := []measured{counted(Replied, one("replied", all)), counted(Replied, value{"replies", func(f *Fact, _ durations) (int64, bool) { return 1, true }})}
	list = append(list, counted(Resolved, one("resolved", all)))
	first := spread(Seconds, Created, firstReply(), Median)[0]
	first.user = func(f *Fact) int64 { return f.FirstReplyBy }
	good := shared("good", Rated, (*Fact).good, (*Fact).rated)
	good.user = func(f *Fact) int64 { return f.RatedID }
	return append(append(list, spread(Seconds, Resolved, resolution(), Median)...), first, good)
}

func slaMeasures() []measured {
	var list []measured
	for _, kind := range []struct {
		key string
		of  func(*Fact) Outcome
	}{
		{"first_reply", func(f *Fact) Outcome { return f.FirstReplySLA }},
		{"next_reply", func(f *Fact) Outcome { return f.NextReplySLA }},
		{"resolution", func(f *Fact) Outcome { return f.ResolutionSLA }},
	} {
		met := func(f *Fact) bool { return kind.of(f) == Met }
		list = append(list,
			counted(Created, one(kind.key+"_met", met)),
			counted(Created, one(kind.key+"_breached", func(f *Fact) bool { return kind.of(f) == Breached })),
			shared(kind.key+"_kept", Created, met, func(f *Fact) bool { return kind.of(f) != NoTarget }))
	}
	return list
}
