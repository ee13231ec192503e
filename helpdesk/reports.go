package helpdesk

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/hours"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/report"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Reports are figures about the conversations that the member reaches. See section 9 of the specification of automation.
type Reports struct{ *desk }

// Reports returns the handle of reports.
func (d *Desk) Reports() Reports { return Reports{&d.desk} }

// MaxReportYears is the maximum length of a report's period in years.
const MaxReportYears = 5

// Check reports what is wrong with a query, as Get does. It needs reports.view.
func (d Reports) Check(ctx context.Context, name report.Name, q report.Query) error {
	r, err := d.guard.Read(identity.ReportsView)
	if err == nil {
		_, err = d.options(ctx, r, name, &q)
	}
	return err
}

// Get returns a report, with the total of the period of the same length before. A member who is limited to mailboxes gets the
// figures of their conversations. The period is at most five years long, and a report has at most 2,000 lines: anything else is an
// Invalid fault, as are groups that the report does not have. What happened in the last seconds may be missing, see
// [report.Report.FoldedAt]. It needs reports.view.
//
// A period that is longer ago is not frozen: a conversation that is merged, moved or deleted takes its figures along.
func (d Reports) Get(ctx context.Context, name report.Name, q report.Query) (report.Report, error) {
	r, err := d.guard.Read(identity.ReportsView)
	if err != nil {
		return report.Report{}, err
	}
	o, err := d.options(ctx, r, name, &q)
	if err != nil {
		return report.Report{}, err
	}
	out := report.Report{Name: name, Query: q, Measures: name.Measures()}
	if name == report.HelpCentre {
		return d.helpCentre(ctx, r, out, o.Zone)
	}
	if out.FoldedAt, err = d.foldedAt(ctx, r); err != nil {
		return out, err
	}
	total := report.New(name, q, o)
	if err := tallyAll(ctx, r, total); err != nil {
		return out, err
	}
	if out.Total, out.Lines = total.Total(), total.Lines(); q.GroupBy == report.ByNothing {
		out.Lines = nil
	}
	if len(out.Lines) > report.MaxLines {
		return report.Report{}, tooManyLines()
	}
	before := q
	before.From, before.To, before.GroupBy = q.From.Add(q.From.Sub(q.To)), q.From, report.ByNothing
	former := report.New(name, before, o)
	err = tallyAll(ctx, r, former)
	out.Before = former.Total()
	return out, err
}

func tooManyLines() error {
	return fault.Field("group_by", fmt.Sprintf("makes more than %d lines: choose a shorter period, or larger groups", report.MaxLines))
}

// options checks a query, completes it, and reads what its figures depend on.
func (d Reports) options(ctx context.Context, r Reader, name report.Name, q *report.Query) (report.Options, error) {
	var problems fault.Collector
	if name != report.HelpCentre && !slices.Contains(report.Names(), name) {
		return report.Options{}, fault.Missing("report", 0)
	}
	q.Timezone = cmp.Or(q.Timezone, "UTC")
	zone, err := hours.Zone(q.Timezone)
	if !problems.Check(err == nil, "timezone", "is not a time zone, such as Europe/Berlin") {
		zone = time.UTC
	}
	q.From, q.To = q.From.UTC().Truncate(time.Second), q.To.UTC().Truncate(time.Second)
	switch {
	case !problems.Check(!q.From.IsZero() && q.From.Year() >= 1970, "from", "is required, since 1970"):
	case !problems.Check(q.To.After(q.From), "to", "must be after from"):
	default:
		problems.Check(!q.To.After(q.From.AddDate(MaxReportYears, 0, 1)), "to", fmt.Sprintf("must be at most %d years after from", MaxReportYears))
	}
	groups := name.Groups()
	problems.Check(q.GroupBy == report.ByNothing || slices.Contains(groups, q.GroupBy), "group_by", "must be one of "+groupTexts(groups))
	if err := problems.Err(); err != nil {
		return report.Options{}, err
	}
	if len(report.Spans(*q, zone)) > report.MaxLines+1 {
		return report.Options{}, tooManyLines()
	}
	o := report.Options{Zone: zone, Mailboxes: d.scope.Mailboxes, Now: d.svc.now()}
	if q.CalendarID == 0 {
		return o, nil
	}
	calendar, err := calendarNoun().Reader(r).Get(ctx, q.CalendarID)
	if fault.Is(err, fault.NotFound) {
		return o, fault.Field("calendar_id", "there are no such business hours")
	}
	if err == nil {
		o.Hours, err = calendar.Hours()
	}
	return o, err
}

func groupTexts(groups []report.Group) string {
	texts := make([]string, len(groups))
	for n, g := range groups {
		texts[n] = string(g)
	}
	return strings.Join(texts, ", ")
}

// foldedAt returns until when facts are known.
func (d Reports) foldedAt(ctx context.Context, r Reader) (time.Time, error) {
	log, err := factLogOf(ctx, r)
	if err != nil || log.ID == 0 {
		return time.Time{}, err
	}
	now := d.svc.now()
	last, err := r.LastEvent(ctx)
	if last <= log.Seq && !log.Again {
		return now, err
	}
	return log.FoldedAt, err
}

// tallyPart is the part of a period that is read at a time.
const tallyPart = 31 * day

// tallyAll reads all that a tally asks for.
func tallyAll(ctx context.Context, r FactReader, t *report.Tally) error {
	for _, read := range t.Reads() {
		end := read.To
		if !read.Before.IsZero() { // what comes after is read with the last part
			end = read.Before
		}
		parts := int(end.Sub(read.From)/tallyPart) + 1
		for n := range parts {
			part := read
			if part.From = read.From.Add(time.Duration(n) * tallyPart); n < parts-1 {
				part.To = part.From.Add(tallyPart)
			}
			facts, err := r.Facts(ctx, part)
			if err != nil {
				return err
			}
			for n := range facts {
				t.Add(read.Clock, &facts[n])
			}
		}
	}
	return nil
}

// Rows lists the conversations that a figure counts, by id, with what each adds: those of the measure in the line with the key, or
// in the total if key is empty. The statistic of the measure over the values of all rows is the figure. It needs reports.view.
func (d Reports) Rows(ctx context.Context, name report.Name, q report.Query, measure, key string, req storage.PageRequest) (storage.Page[report.Row], error) {
	var none storage.Page[report.Row]
	r, err := d.guard.Read(identity.ReportsView)
	if err != nil {
		return none, err
	}
	o, err := d.options(ctx, r, name, &q)
	if err != nil {
		return none, err
	}
	tally := report.New(name, q, o)
	if name == report.HelpCentre || !tally.Want(measure, key) {
		return none, fault.Field("measure", "is none of this report")
	}
	if err := tallyAll(ctx, r, tally); err != nil {
		return none, err
	}
	all := tally.Rows()
	return storage.List(req, false, func(row report.Row) storage.Position { return storage.Position{ID: row.Fact.ConversationID} },
		func(seek storage.Seek) ([]report.Row, error) { return rowsAfter(ctx, r, all, seek) })
}

// rowsAfter returns a page of rows with their facts.
func rowsAfter(ctx context.Context, r storage.RecordReader, all []report.Value, seek storage.Seek) ([]report.Row, error) {
	if seek.Desc {
		all = slices.Clone(all)
		slices.Reverse(all)
	}
	if seek.From != nil {
		all = slices.DeleteFunc(slices.Clone(all), func(v report.Value) bool {
			return seek.Desc && v.ConversationID >= seek.From.ID || !seek.Desc && v.ConversationID <= seek.From.ID
		})
	}
	all = all[:min(len(all), seek.Limit)]
	ids := make([]int64, len(all))
	for n, v := range all {
		ids[n] = v.ConversationID
	}
	facts, err := factsOf(ctx, r, ids)
	var rows []report.Row
	for _, v := range all {
		if f, there := facts[v.ConversationID]; there { // otherwise it was deleted just now
			rows = append(rows, report.Row{Fact: f, Value: float64(v.Value)})
		}
	}
	return rows, err
}

func factsOf(ctx context.Context, r storage.RecordReader, ids []int64) (map[int64]report.Fact, error) {
	found, err := conversationFactNoun().Reader(r).List(ctx, ConversationFactFilter{append([]int64{}, ids...)}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return nil, err
	}
	facts := map[int64]report.Fact{}
	for _, one := range found {
		facts[one.ConversationID] = one.Fact
	}
	return facts, nil
}

// factPage is how many facts are read at a time.
const factPage = 500

// Each calls fn with the facts of all conversations that began in the period of the query, by id: those that [report.Volume] counts
// as created. It needs reports.view.
func (d Reports) Each(ctx context.Context, q report.Query, fn func(report.Fact) error) error {
	r, err := d.guard.Read(identity.ReportsView)
	if err != nil {
		return err
	}
	q.GroupBy = report.ByNothing
	o, err := d.options(ctx, r, report.Volume, &q)
	if err != nil {
		return err
	}
	tally := report.New(report.Volume, q, o)
	tally.Want("created", "")
	if err := tallyAll(ctx, r, tally); err != nil {
		return err
	}
	for some := range slices.Chunk(tally.Rows(), factPage) {
		ids := make([]int64, len(some))
		for n, v := range some {
			ids[n] = v.ConversationID
		}
		facts, err := factsOf(ctx, r, ids)
		if err != nil {
			return err
		}
		for _, id := range ids {
			f, there := facts[id]
			if !there {
				continue
			}
			if err := fn(f); err != nil {
				return err
			}
		}
	}
	return nil
}
