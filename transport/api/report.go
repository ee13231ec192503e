package api

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	zones "github.com/helpwright/helpwright/helpdesk/hours"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/report"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport"
)

// reportOut is a report as the API shows it.
type reportOut struct {
	Name     string          `json:"name"`
	From     transport.Time  `json:"from" description:"The first moment of the period."`
	To       transport.Time  `json:"to" description:"The first moment after the period."`
	Timezone string          `json:"timezone" description:"In which days begin."`
	GroupBy  string          `json:"group_by" description:"Empty: there are no lines."`
	FoldedAt *transport.Time `json:"folded_at" description:"Until when figures are known: what happened later may be missing. Null: nothing is known yet."`
	Measures []reportMeasure `json:"measures" description:"What the figures say, in the order in which the desk shows them."`
	Total    reportLine      `json:"total"`
	Before   reportLine      `json:"before" description:"The total of the period of the same length before."`
	Lines    []reportLine    `json:"lines" description:"By time, or by key; at most 2,000."`
}

type reportMeasure struct {
	Key       string `json:"key" description:"Its name in figures."`
	Unit      string `json:"unit" description:"Of the values." enum:"count,seconds,percent"`
	Statistic string `json:"statistic" enum:"sum,median,p90,mean,share" description:"How a figure follows from the values of its rows. median: the lower of two in the middle. p90: the 90th percentile, nearest rank. share: of the rows whose value is 1, in percent."`
}

type reportLine struct {
	Key     string                  `json:"key" description:"What the line is about: a day, the Monday of a week, a month, an hour of the week such as mon 09, a range of seconds such as 0-900, or an id. Empty: all."`
	From    *transport.Time         `json:"from" description:"Of a span of time."`
	To      *transport.Time         `json:"to" description:"The first moment after the span."`
	Figures map[string]reportFigure `json:"figures" description:"By the key of the measure."`
}

type reportFigure struct {
	Value *float64 `json:"value" description:"Null: there is nothing to compute it from."`
	Of    int64    `json:"of" description:"The number of conversations that it rests on; of help_centre, what readers did."`
	Rows  *string  `json:"rows" description:"URL of these conversations, see listReportRows. Null in help_centre."`
}

// conversationFact is what reports know of a conversation, as the API shows it.
type conversationFact struct {
	ConversationID int64           `json:"conversation_id"`
	Number         int64           `json:"number" description:"Counts up within the account."`
	CreatedAt      transport.Time  `json:"created_at" description:"When the first of its messages came."`
	MailboxID      int64           `json:"mailbox_id"`
	TeamID         *int64          `json:"team_id" description:"Null: none."`
	UserID         *int64          `json:"user_id"`
	SLAID          *int64          `json:"sla_id" description:"The SLA that it is under. Null: none."`
	Channel        string          `json:"channel"`
	TagIDs         []int64         `json:"tag_ids" description:"Its tags, sorted."`
	FirstReplyAt   *transport.Time `json:"first_reply_at" description:"When a member first replied to the customer, unless it was closed before. Neither automatic replies, notes nor forwards are replies."`
	FirstReplyBy   *int64          `json:"first_reply_user_id" description:"Who gave it. Null: nobody who is known here."`
	FirstReply     *int64          `json:"first_reply_seconds" description:"Seconds from the customer's first message to the first reply."`
	BusinessReply  *int64          `json:"business_reply_seconds" description:"The same in the business hours of its SLA, otherwise of the oldest ones of the account."`
	Replies        int             `json:"replies" description:"Replies of members."`
	Touches        int             `json:"touches" description:"Replies, forwards and notes of members."`
	Received       int             `json:"received" description:"Messages of customers."`
	Reopened       int             `json:"reopened" description:"How often it was opened again."`
	Wait           int64           `json:"wait_seconds" description:"Seconds that the customer waited for replies in total."`
	ResolvedAt     *transport.Time `json:"resolved_at" description:"When it was closed the last time. Null: it is open."`
	Resolution     *int64          `json:"resolution_seconds" description:"Seconds from its beginning until it was closed the last time."`
	Rating         *string         `json:"rating" enum:"good,neutral,bad" description:"The last one. Null: none."`
	RatedAt        *transport.Time `json:"rated_at" description:"When it was first given."`
	RatedID        *int64          `json:"rated_user_id" description:"The member who had answered last."`
	FirstReplySLA  *string         `json:"first_reply_sla" enum:"met,breached" description:"What became of the SLA's target. Null: there was none, or it still runs."`
	NextReplySLA   *string         `json:"next_reply_sla" enum:"met,breached" description:"breached if one of several was."`
	ResolutionSLA  *string         `json:"resolution_sla" enum:"met,breached" description:"As first_reply_sla."`
	MemberIDs      []int64         `json:"member_ids" description:"Who replied."`
}

type reportRow struct {
	conversationFact
	Value float64 `json:"value" description:"What it adds to the figure."`
}

// reportQuery narrows what a report is about.
type reportQuery struct {
	From       string `query:"from" description:"The first day, or a time (RFC 3339). Default: 30 days before the end."`
	To         string `query:"to" description:"The last day, which is part of the period, or a time, which is not. Default: today. A period has at most five years."`
	Timezone   string `query:"timezone" description:"In which days begin, such as Europe/Berlin. Default: UTC."`
	MailboxID  int64  `query:"mailbox_id" description:"Only conversations of this mailbox."`
	TeamID     int64  `query:"team_id" description:"Only conversations of this team."`
	UserID     int64  `query:"user_id" description:"Only conversations of this user; in the report team, only what this user did."`
	TagID      int64  `query:"tag_id" description:"Only conversations with this tag."`
	CalendarID int64  `query:"calendar_id" description:"First replies and resolutions take only these business hours."`
	SiteID     int64  `query:"site_id" description:"Only readers of this site. Of help_centre alone."`
}

type reportIn struct {
	Name string `path:"report"`
	reportQuery
	GroupBy string `query:"group_by" enum:"hour,day,week,month,mailbox,team,user,tag,channel,sla,bucket,none" description:"What lines are about. Not every report has all: 422 names those that it has. Default: the usual one, hour for busy_hours, user for team, tag for tags, sla for sla, channel for channels, otherwise day. none: no lines."`
}

type reportRowsIn struct {
	reportIn
	transport.Paging
	Measure string `query:"measure" description:"Key of a measure of the report. Default: its first one."`
	Key     string `query:"key" description:"Key of a line. Empty: the total."`
}

const (
	reportsPath = accountPath + "/reports"
	reportPath  = reportsPath + "/{report}"
)

func (a *api) addReports(t *transport.Table) {
	op := func(id, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: http.MethodGet, Path: path, Tag: "Reports", Summary: summary, Description: description}
	}
	var names []string
	for _, n := range reportNames() {
		names = append(names, string(n))
	}
	const facts = "Each conversation that began in the period, by id, whatever the report counts; spam and drafts are left out. Needs reports.view."
	transport.HandleContent(t, a.desk, op("exportReportTable", reportsPath+"/conversations.csv", "Export what reports know as a table",
		"CSV (RFC 4180) in UTF-8 with a byte order mark. "+facts), a.exportFacts("conversations.csv", "text/csv; charset=utf-8; header=present", report.WriteCSV))
	transport.HandleContent(t, a.desk, op("exportReportLines", reportsPath+"/conversations.jsonl", "Export what reports know as JSON lines",
		"An object on each line, as rows of reports are, without value. "+facts), a.exportFacts("conversations.jsonl", "application/x-ndjson", report.WriteJSONLines))
	transport.Handle(t, a.desk, op("getReport", reportPath, "Retrieve a report",
		"One of: "+strings.Join(names, ", ")+". Days, weeks, months and hours are those of the time zone, also when they have 23 or 25 hours. What "+
			"happened in the last seconds may be missing. A period that is long ago is not frozen: conversations that are merged, moved or deleted take "+
			"their figures along. help_centre counts what readers of sites did, by their days of UTC and without a mark of who they were: its deflection is the "+
			"share of searches after which an article was opened, less the messages that were written all the same. Members who are limited to mailboxes get the figures of these. Needs reports.view."), a.getReport)
	transport.Handle(t, a.desk, op("listSearches", reportsPath+"/help_centre/searches", "List what readers searched for",
		"The commonest first, at most 200. What fewer than three readers searched for in the period is left out, and words that look like an address or "+
			"a number of somebody are not kept. Searches are those of the search page, not what is suggested while a reader types. Needs reports.view."), listSearches)
	transport.HandlePage(t, a.desk, op("listReportRows", reportPath+"/rows", "List the conversations of a figure",
		"By id, with what each adds: the statistic of the measure over all values is the figure. With the parameters of the report. Needs reports.view."),
		func(ctx context.Context, d *helpdesk.Desk, in reportRowsIn) (storage.Page[reportRow], error) {
			q, err := in.query(a.seen.now())
			if err != nil {
				return storage.Page[reportRow]{}, err
			}
			name := report.Name(in.Name)
			if measures := name.Measures(); in.Measure == "" && len(measures) > 0 {
				in.Measure = measures[0].Key
			}
			page, err := d.Reports().Rows(ctx, name, q, in.Measure, in.Key, in.Request())
			return mapPage(page, func(r report.Row) reportRow { return reportRow{showFact(r.Fact), r.Value} }), err
		})
}

// reportNames lists all reports.
func reportNames() []report.Name { return append(report.Names(), report.HelpCentre) }

// query returns what the input asks for.
func (in reportIn) query(now time.Time) (report.Query, error) {
	var problems fault.Collector
	q := report.Query{Timezone: in.Timezone, MailboxID: in.MailboxID, TeamID: in.TeamID, UserID: in.UserID, TagID: in.TagID, CalendarID: in.CalendarID, SiteID: in.SiteID}
	zone, err := zones.Zone(cmp.Or(in.Timezone, "UTC"))
	if !problems.Check(err == nil, "timezone", "is not a time zone, such as Europe/Berlin") {
		return q, problems.Err()
	}
	var fromProblem, toProblem string
	q.From, q.To, fromProblem, toProblem = report.Period(in.From, in.To, zone, now)
	problems.Check(fromProblem == "", "from", fromProblem)
	problems.Check(toProblem == "", "to", toProblem)
	switch q.GroupBy = report.Group(in.GroupBy); {
	case in.GroupBy == "none":
		q.GroupBy = report.ByNothing
	case in.GroupBy == "" && slices.Contains(reportNames(), report.Name(in.Name)):
		q.GroupBy = report.Name(in.Name).Groups()[0]
	}
	return q, problems.Err()
}

func (a *api) getReport(ctx context.Context, d *helpdesk.Desk, in reportIn) (reportOut, error) {
	q, err := in.query(a.seen.now())
	if err != nil {
		return reportOut{}, err
	}
	r, err := d.Reports().Get(ctx, report.Name(in.Name), q)
	if err != nil {
		return reportOut{}, err
	}
	out := reportOut{
		Name: in.Name, From: transport.Time(r.Query.From), To: transport.Time(r.Query.To), Timezone: r.Query.Timezone, GroupBy: string(r.Query.GroupBy),
		FoldedAt: momentOrNull(r.FoldedAt), Measures: []reportMeasure{}, Lines: []reportLine{},
	}
	for _, m := range r.Measures {
		out.Measures = append(out.Measures, reportMeasure{m.Key, string(m.Unit), string(m.Statistic)})
	}
	before := r.Query
	before.From, before.To = r.Query.From.Add(r.Query.From.Sub(r.Query.To)), r.Query.From
	out.Total, out.Before = a.showLine(d, r, r.Query, r.Total), a.showLine(d, r, before, r.Before)
	for _, line := range r.Lines {
		out.Lines = append(out.Lines, a.showLine(d, r, r.Query, line))
	}
	return out, nil
}

func (a *api) showLine(d *helpdesk.Desk, r report.Report, q report.Query, line report.Line) reportLine {
	out := reportLine{Key: line.Key, From: momentOrNull(line.From), To: momentOrNull(line.To), Figures: map[string]reportFigure{}}
	base := fmt.Sprintf("%s/accounts/%d/reports/%s/rows?", a.base, d.AccountID(), r.Name)
	rest := rowsQuery(q)
	if line.Key != "" {
		rest.Set("key", line.Key)
	}
	for n, m := range r.Measures {
		f := reportFigure{Of: line.Figures[n].Of}
		if !line.Figures[n].None {
			f.Value = &line.Figures[n].Value
		}
		if r.Name != report.HelpCentre { // nobody knows who the readers were
			rest.Set("measure", m.Key)
			f.Rows = new(base + rest.Encode())
		}
		out.Figures[m.Key] = f
	}
	return out
}

// rowsQuery returns the parameters of a query.
func rowsQuery(q report.Query) url.Values {
	values := url.Values{"from": {q.From.Format(time.RFC3339)}, "to": {q.To.Format(time.RFC3339)}, "timezone": {q.Timezone}, "group_by": {cmp.Or(string(q.GroupBy), "none")}}
	for name, id := range map[string]int64{"mailbox_id": q.MailboxID, "team_id": q.TeamID, "user_id": q.UserID, "tag_id": q.TagID, "calendar_id": q.CalendarID} {
		if id != 0 {
			values.Set(name, strconv.FormatInt(id, 10))
		}
	}
	return values
}

func momentOrNull(t time.Time) *transport.Time {
	if t.IsZero() {
		return nil
	}
	return new(transport.Time(t))
}

func secondsOrNull(v int64) *int64 {
	if v == report.None {
		return nil
	}
	return &v
}

func outcomeOrNull(o report.Outcome) *string {
	if o == report.NoTarget {
		return nil
	}
	return new(string(o))
}

func showFact(f report.Fact) conversationFact {
	out := conversationFact{
		ConversationID: f.ConversationID, Number: f.Number, CreatedAt: transport.Time(f.CreatedAt), MailboxID: f.MailboxID, TeamID: idOrNull(f.TeamID),
		UserID: idOrNull(f.UserID), SLAID: idOrNull(f.SLAID), Channel: f.Channel, TagIDs: append([]int64{}, f.Tags...),
		FirstReplyAt: momentOrNull(f.FirstReplyAt), FirstReplyBy: idOrNull(f.FirstReplyBy), FirstReply: secondsOrNull(f.FirstReply()),
		BusinessReply: secondsOrNull(f.BusinessReply), Replies: f.Replies, Touches: f.Touches, Received: f.Received, Reopened: f.Reopened, Wait: f.Wait,
		ResolvedAt: momentOrNull(f.ResolvedAt), Resolution: secondsOrNull(f.Resolution()), RatedAt: momentOrNull(f.RatedAt), RatedID: idOrNull(f.RatedID),
		FirstReplySLA: outcomeOrNull(f.FirstReplySLA), NextReplySLA: outcomeOrNull(f.NextReplySLA), ResolutionSLA: outcomeOrNull(f.ResolutionSLA),
		MemberIDs: listed(f.Members()),
	}
	if f.Verdict != "" {
		out.Rating = &f.Verdict
	}
	return out
}

// exportFacts returns an operation that streams facts.
func (a *api) exportFacts(name, kind string, write func(io.Writer, func(func(report.Fact) error) error) error) func(context.Context, *helpdesk.Desk, reportQuery) (transport.Content, error) {
	return func(ctx context.Context, d *helpdesk.Desk, in reportQuery) (transport.Content, error) {
		if !d.Holds(identity.ReportsView) { // before the answer begins
			return transport.Content{}, forbidden(identity.ReportsView)
		}
		q, err := reportIn{reportQuery: in, GroupBy: "none"}.query(a.seen.now())
		if err != nil {
			return transport.Content{}, err
		}
		if err := d.Reports().Check(ctx, report.Volume, q); err != nil {
			return transport.Content{}, err
		}
		ctx = storage.WithMeter(ctx, nil) // rows leave as they are read
		return transport.Content{
			Name: name, Type: kind, NoStore: true,
			Write: func(w io.Writer) error {
				return write(w, func(fn func(report.Fact) error) error { return d.Reports().Each(ctx, q, fn) })
			},
		}, nil
	}
}
