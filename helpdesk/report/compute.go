package report

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/helpwright/helpwright/helpdesk/hours"
)

// MaxLines is the maximum number of lines of a report.
const MaxLines = 2000

// Read is what a report has to read: the facts whose moments of a clock are in a period. Of [Replied] it is the last one, and the
// conversation began before the end; of [Open] it is when the conversation was closed, or [NeverClosed].
type Read struct {
	Clock    Clock
	From, To time.Time // To is exclusive
	Before   time.Time // only of conversations that began before; zero: all
	Columns  []Column  // what has to be read of each
}

// NeverClosed is when an open conversation is closed, for stores: the end of 9999.
func NeverClosed() time.Time { return time.Unix(253402300799, 0).UTC() }

// Tally counts the facts of a report. It is not safe for concurrent use.
type Tally struct {
	query     Query
	measures  []measured
	clocks    []Clock
	zone      *time.Location
	durations durations
	now       time.Time
	mailboxes []int64
	spans     []time.Time // beginnings of lines of time, and the end of the last; nil: lines by key
	keys      map[key]int // places in lines
	lines     []*line
	total     *line
	wanted    *wanted
	series    []series
	buffer    []key
	last      int // the span that was found last
}

// key is what a line is about; a name for channels, a number for others.
type key struct {
	number int64
	name   string
}

// series are the values that several measures share.
type series struct {
	clock  Clock
	value  value
	user   owner
	sorted bool // their order matters
}

// line collects the series of a line.
type line struct {
	key    key
	values []collected
}

type collected struct {
	n, sum, ones int64
	all          []int64 // if their order matters
}

// wanted is the figure whose rows are collected.
type wanted struct {
	measure string
	key     string
	total   bool
	series  int
	rows    []Value
}

// Value is what a conversation adds to a figure.
type Value struct {
	ConversationID int64
	Value          int64
}

// Options are what else figures depend on.
type Options struct {
	Zone      *time.Location  // of Query.Timezone; nil: UTC
	Hours     *hours.Calendar // of Query.CalendarID; nil: all hours count
	Mailboxes []int64         // only these; nil: all
	Now       time.Time       // what is open at a later time is not known
}

// New returns a tally of a report's figures.
func New(name Name, q Query, o Options) *Tally {
	c := &Tally{query: q, zone: o.Zone, durations: durations{o.Hours}, now: o.Now, mailboxes: o.Mailboxes, keys: map[key]int{}}
	if c.zone == nil {
		c.zone = time.UTC
	}
	c.measures = measuresOf(name)
	for _, m := range c.measures {
		if !slices.Contains(c.clocks, m.clock) {
			c.clocks = append(c.clocks, m.clock)
		}
		c.series[c.seriesOf(m)].sorted = c.series[c.seriesOf(m)].sorted || m.Statistic == Median || m.Statistic == P90
	}
	c.total = c.newLine(key{})
	c.spans = Spans(q, c.zone)
	for n := range max(0, len(c.spans)-1) {
		c.lines = append(c.lines, c.newLine(key{number: int64(n)}))
	}
	if q.GroupBy == ByHour {
		for n := range 7 * 24 {
			c.place(key{number: int64(n)})
		}
	}
	if q.GroupBy == ByStatistics {
		for n := range buckets() {
			c.place(key{number: int64(n)})
		}
	}
	return c
}

// Want has the tally collect the rows of a figure: of the total if key is "". It is false if the report has no such measure.
func (c *Tally) Want(measure, key string) bool {
	for _, m := range c.measures {
		if m.Key == measure {
			c.wanted = &wanted{measure: measure, key: key, total: key == "", series: c.seriesOf(m)}
			c.clocks = []Clock{m.clock}
			return true
		}
	}
	return false
}

func (c *Tally) seriesOf(m measured) int {
	for n, s := range c.series {
		if s.clock == m.clock && s.value.key == m.value.key {
			return n
		}
	}
	user := m.user
	if user.of == nil {
		user = assigned()
	}
	c.series = append(c.series, series{clock: m.clock, value: m.value, user: user})
	return len(c.series) - 1
}

func (c *Tally) newLine(k key) *line { return &line{k, make([]collected, len(c.series))} }

// place returns the place of a line in lines, which it adds if it is missing.
func (c *Tally) place(k key) int {
	n, found := c.keys[k]
	if !found {
		n = len(c.lines)
		c.keys[k] = n
		c.lines = append(c.lines, c.newLine(k))
	}
	return n
}

// Reads returns what has to be read, and added to the tally.
func (c *Tally) Reads() []Read {
	var all []Read
	for _, clock := range c.clocks {
		r := Read{Clock: clock, From: c.query.From, To: c.query.To, Columns: c.columns(clock)}
		switch clock {
		case Open:
			end := c.query.To
			if end.After(c.now) {
				end = c.now.Add(time.Second)
			}
			first := c.query.From
			if end.Before(first) {
				continue
			}
			r.From, r.To, r.Before = first, NeverClosed().Add(time.Second), end
		case Replied:
			r.To, r.Before = NeverClosed(), c.query.To
		case Created, Resolved, Rated:
		}
		all = append(all, r)
	}
	return all
}

// columns returns what the figures of a clock need of facts.
func (c *Tally) columns(clock Clock) []Column {
	var need []Column
	if c.wanted != nil {
		need = append(need, ColumnConversation)
	}
	switch clock {
	case Created:
		need = append(need, ColumnCreated)
	case Resolved:
		need = append(need, ColumnResolved)
	case Rated:
		need = append(need, ColumnRated)
	case Replied:
		need = append(need, ColumnSaid)
	case Open:
		need = append(need, ColumnCreated, ColumnResolved, ColumnClosed)
	}
	for n, s := range c.series {
		if s.clock != clock || c.wanted != nil && c.wanted.series != n {
			continue
		}
		need = append(need, s.value.columns...)
		if c.query.GroupBy == ByUser || c.query.UserID != 0 {
			need = append(need, s.user.column)
		}
	}
	if c.query.MailboxID != 0 || c.mailboxes != nil {
		need = append(need, ColumnMailbox)
	}
	if c.query.TeamID != 0 {
		need = append(need, ColumnTeam)
	}
	if c.query.TagID != 0 {
		need = append(need, ColumnTags)
	}
	switch c.query.GroupBy {
	case ByMailbox:
		need = append(need, ColumnMailbox)
	case ByTeam:
		need = append(need, ColumnTeam)
	case ByTag:
		need = append(need, ColumnTags)
	case ByChannel:
		need = append(need, ColumnChannel)
	case BySLA:
		need = append(need, ColumnSLA)
	case ByStatistics:
		need = append(need, ColumnCreated, ColumnAsked, ColumnFirstReply)
	case ByNothing, ByDay, ByWeek, ByMonth, ByHour, ByUser:
	}
	slices.Sort(need)
	return slices.Compact(need)
}

// admits reports whether a conversation is one of those that the query is about. Lines of users in which each measure has its own
// user are another matter.
func (c *Tally) admits(f *Fact) bool {
	q := c.query
	return (q.MailboxID == 0 || f.MailboxID == q.MailboxID) && (q.TeamID == 0 || f.TeamID == q.TeamID) &&
		(q.TagID == 0 || slices.Contains(f.Tags, q.TagID)) && (c.mailboxes == nil || slices.Contains(c.mailboxes, f.MailboxID))
}

// Add counts a fact that was read for a clock. The replies are those of [Replied].
func (c *Tally) Add(clock Clock, f *Fact) {
	if !c.admits(f) {
		return
	}
	for n := range c.series {
		s := &c.series[n]
		if s.clock != clock || c.wanted != nil && c.wanted.series != n {
			continue
		}
		switch clock {
		case Replied:
			c.addReplies(n, f)
		case Open:
			c.addOpen(n, f)
		case Created, Resolved, Rated:
			c.addOne(n, f)
		}
	}
}

func (c *Tally) isUsers(id int64) bool { return c.query.UserID == 0 || c.query.UserID == id }

// moment returns when a fact counts by a clock.
func (f *Fact) moment(clock Clock) time.Time {
	switch clock {
	case Resolved:
		return f.ResolvedAt
	case Rated:
		return f.RatedAt
	case Created, Replied, Open:
	}
	return f.CreatedAt
}

func (c *Tally) addOne(n int, f *Fact) {
	s := &c.series[n]
	user := s.user.of(f)
	if !c.isUsers(user) {
		return
	}
	v, counts := s.value.of(f, c.durations)
	if !counts {
		return
	}
	at := f.moment(s.clock)
	if at.Before(c.query.From) || !at.Before(c.query.To) {
		return
	}
	c.buffer = c.keysAt(c.buffer[:0], f, at, user, v)
	c.collect(n, f, v, c.buffer)
}

// keysAt returns what lines a fact is in.
func (c *Tally) keysAt(keys []key, f *Fact, at time.Time, user, v int64) []key {
	switch c.query.GroupBy {
	case ByDay, ByWeek, ByMonth:
		return append(keys, key{number: int64(c.spanAt(at))})
	case ByHour:
		local := at.In(c.zone)
		return append(keys, key{number: int64((int(local.Weekday())+6)%7*24 + local.Hour())})
	case ByMailbox:
		return append(keys, key{number: f.MailboxID})
	case ByTeam:
		return append(keys, key{number: f.TeamID})
	case ByUser:
		return append(keys, key{number: user})
	case ByTag:
		for _, t := range f.Tags {
			keys = append(keys, key{number: t})
		}
		return keys
	case ByChannel:
		return append(keys, key{name: f.Channel})
	case BySLA:
		return append(keys, key{number: f.SLAID})
	case ByStatistics:
		return append(keys, key{number: int64(bucketOf(c.bucketed(f, v)))})
	case ByNothing:
	}
	return keys
}

// bucketed returns the duration by which a fact is in a bucket: the one that the report is about.
func (c *Tally) bucketed(f *Fact, v int64) int64 {
	if c.series[0].clock == Resolved {
		return max(0, c.durations.between(f.CreatedAt, f.ResolvedAt))
	}
	if d := c.durations.between(f.AskedAt, f.FirstReplyAt); d != None {
		return d
	}
	return v
}

// spanAt returns the span that a time is in: mostly the one before it was in, as facts come in order.
func (c *Tally) spanAt(at time.Time) int {
	if c.last+1 < len(c.spans) && !at.Before(c.spans[c.last]) && at.Before(c.spans[c.last+1]) {
		return c.last
	}
	c.last = sort.Search(len(c.spans), func(i int) bool { return c.spans[i].After(at) }) - 1
	return c.last
}

// addReplies counts the replies in the period, by who wrote them.
func (c *Tally) addReplies(n int, f *Fact) {
	each := c.series[n].value.key == "replies" // otherwise conversations
	counts := map[key]int64{}
	var order []key
	total := int64(0)
	for _, r := range f.Said {
		if r.At.Before(c.query.From) || !r.At.Before(c.query.To) || !c.isUsers(r.UserID) {
			continue
		}
		total++
		for _, k := range c.keysAt(c.buffer[:0], f, r.At, r.UserID, 0) {
			if counts[k] == 0 {
				order = append(order, k)
			}
			counts[k]++
		}
	}
	if total == 0 {
		return
	}
	value := func(v int64) int64 {
		if each {
			return v
		}
		return 1
	}
	c.into(c.total, n, value(total))
	c.want(true, key{}, f, value(total))
	for _, k := range order {
		c.into(c.lineOf(k), n, value(counts[k]))
		c.want(false, k, f, value(counts[k]))
	}
}

// addOpen counts a conversation at the end of each line of time at which it was open, or at the end of the period.
func (c *Tally) addOpen(n int, f *Fact) {
	if !c.isUsers(f.UserID) {
		return
	}
	known := func(end time.Time) time.Time { // of the line, or of the period, or now
		if end.After(c.query.To) {
			end = c.query.To
		}
		if end.After(c.now) {
			end = c.now.Add(time.Second)
		}
		return end
	}
	open := func(end time.Time) bool {
		end = known(end)
		if !f.CreatedAt.Before(end) || !f.ResolvedAt.IsZero() && f.ResolvedAt.Before(end) {
			return false
		}
		return !slices.ContainsFunc(f.Closed, func(g Gap) bool { return g.From.Before(end) && !g.To.Before(end) })
	}
	if open(c.query.To) {
		c.buffer = c.buffer[:0]
		if c.spans == nil {
			c.buffer = c.keysAt(c.buffer, f, f.CreatedAt, f.UserID, 1)
		}
		c.collect(n, f, 1, c.buffer)
	}
	first := sort.Search(len(c.spans), func(i int) bool { return c.spans[i].After(f.CreatedAt) })
	for end := max(1, first); end < len(c.spans); end++ {
		if c.spans[end-1].After(c.now) || !f.ResolvedAt.IsZero() && f.ResolvedAt.Before(known(c.spans[end])) {
			break
		}
		if open(c.spans[end]) {
			k := key{number: int64(end - 1)}
			c.into(c.lines[end-1], n, 1)
			c.want(false, k, f, 1)
		}
	}
}

// lineOf returns the line of a key.
func (c *Tally) lineOf(k key) *line {
	if c.spans != nil {
		return c.lines[k.number]
	}
	return c.lines[c.place(k)]
}

// collect adds a value to the total and to some lines.
func (c *Tally) collect(n int, f *Fact, v int64, keys []key) {
	c.into(c.total, n, v)
	c.want(true, key{}, f, v)
	for _, k := range keys {
		c.into(c.lineOf(k), n, v)
		c.want(false, k, f, v)
	}
}

func (c *Tally) into(l *line, n int, v int64) {
	of := &l.values[n]
	of.n++
	of.sum += v
	if v == 1 {
		of.ones++
	}
	if c.series[n].sorted {
		of.all = append(of.all, v)
	}
}

func (c *Tally) want(total bool, k key, f *Fact, v int64) {
	w := c.wanted
	if w == nil || w.total != total || !total && c.name(k) != w.key {
		return
	}
	w.rows = append(w.rows, Value{f.ConversationID, v})
}

// Rows returns the rows of the figure that was wanted, by conversation.
func (c *Tally) Rows() []Value {
	slices.SortFunc(c.wanted.rows, func(a, b Value) int { return cmp.Compare(a.ConversationID, b.ConversationID) })
	return c.wanted.rows
}

// Total returns the line of all.
func (c *Tally) Total() Line { return c.line(c.total) }

// Lines returns the lines in order: by time, by number, or by name.
func (c *Tally) Lines() []Line {
	sorted := slices.Clone(c.lines)
	slices.SortStableFunc(sorted, func(a, b *line) int {
		return cmp.Or(cmp.Compare(a.key.number, b.key.number), cmp.Compare(a.key.name, b.key.name))
	})
	out := make([]Line, len(sorted))
	for n, l := range sorted {
		out[n] = c.line(l)
		out[n].Key = c.name(l.key)
		if c.spans != nil {
			out[n].From, out[n].To = c.spans[n], c.spans[n+1]
		}
	}
	return out
}

func (c *Tally) line(l *line) Line {
	for n := range l.values {
		slices.Sort(l.values[n].all)
	}
	out := Line{Figures: make([]Figure, len(c.measures))}
	for n, m := range c.measures {
		out.Figures[n] = l.values[c.seriesOf(m)].figure(m.Statistic)
	}
	return out
}

// name returns the key of a line as reports show it.
func (c *Tally) name(k key) string {
	switch c.query.GroupBy {
	case ByDay, ByWeek:
		return c.spans[k.number].In(c.zone).Format(time.DateOnly)
	case ByMonth:
		return c.spans[k.number].In(c.zone).Format("2006-01")
	case ByHour:
		return hourName(int(k.number))
	case ByStatistics:
		return bucketName(int(k.number))
	case ByChannel:
		return k.name
	case ByNothing, ByMailbox, ByTeam, ByUser, ByTag, BySLA:
	}
	return strconv.FormatInt(k.number, 10)
}

func hourName(n int) string {
	days := []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}
	h := strconv.Itoa(n % 24)
	if len(h) < 2 {
		h = "0" + h
	}
	return days[n/24] + " " + h
}

// figure computes a statistic of values that are sorted.
func (v *collected) figure(s Statistic) Figure {
	f := Figure{Of: v.n}
	if v.n == 0 {
		f.None = s != Sum
		return f
	}
	switch s {
	case Sum:
		f.Value = float64(v.sum)
	case Mean:
		f.Value = float64(v.sum) / float64(v.n)
	case Share:
		f.Value = 100 * float64(v.ones) / float64(v.n)
	case Median:
		f.Value = float64(v.all[nearestRank(50, len(v.all))])
	case P90:
		f.Value = float64(v.all[nearestRank(90, len(v.all))])
	}
	return f
}

// nearestRank returns the place of a percentile among n sorted values.
func nearestRank(percent, n int) int { return max(0, (percent*n+99)/100-1) }

// Of computes the figure of values, in any order.
func (s Statistic) Of(values []float64) Figure {
	sorted := slices.Sorted(slices.Values(values))
	var v collected
	for _, x := range sorted {
		n := int64(math.Round(x))
		v.n++
		v.sum += n
		v.all = append(v.all, n)
		if n == 1 {
			v.ones++
		}
	}
	return v.figure(s)
}

// Spans returns the beginnings of the lines of time of a query, and the end of the last one; nil if it has no such lines. Days are
// those of the time zone: of 23 and 25 hours, too.
func Spans(q Query, zone *time.Location) []time.Time {
	year, month, day := q.From.In(zone).Date()
	var next func(n int) time.Time
	switch q.GroupBy {
	case ByDay:
		next = func(n int) time.Time { return time.Date(year, month, day+n, 0, 0, 0, 0, zone) }
	case ByWeek:
		day -= (int(q.From.In(zone).Weekday()) + 6) % 7
		next = func(n int) time.Time { return time.Date(year, month, day+7*n, 0, 0, 0, 0, zone) }
	case ByMonth:
		next = func(n int) time.Time { return time.Date(year, month+time.Month(n), 1, 0, 0, 0, 0, zone) }
	case ByNothing, ByHour, ByMailbox, ByTeam, ByUser, ByTag, ByChannel, BySLA, ByStatistics:
		return nil
	}
	spans := []time.Time{next(0).UTC()}
	for n := 1; spans[len(spans)-1].Before(q.To); n++ {
		spans = append(spans, next(n).UTC())
	}
	return spans
}

// buckets are where the durations of buckets begin, in seconds.
func buckets() []int64 {
	return []int64{0, 15 * 60, 3600, 4 * 3600, 8 * 3600, 86400, 3 * 86400, 7 * 86400, 30 * 86400}
}

func bucketOf(v int64) int {
	all := buckets()
	n := len(all) - 1
	for n > 0 && v < all[n] {
		n--
	}
	return n
}

// bucketName is such as "0-900"; the last one has no end.
func bucketName(n int) string {
	all := buckets()
	name := strconv.FormatInt(all[n], 10) + "-"
	if n+1 < len(all) {
		name += strconv.FormatInt(all[n+1], 10)
	}
	return name
}
