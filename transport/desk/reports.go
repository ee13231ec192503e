package desk

import (
	"cmp"
	"net/url"
	"strconv"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/report"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

// routeReports registers the pages below /a/{account}/reports.
func (h *Handler) routeReports() {
	for pattern, fn := range map[string]func(*reportVisit) error{
		"GET /reports":                     (*reportVisit).overview,
		"GET /reports/{page}":              (*reportVisit).page,
		"GET /reports/{report}/rows":       (*reportVisit).rows,
		"GET /reports/conversations.csv":   (*reportVisit).table,
		"GET /reports/conversations.jsonl": (*reportVisit).lines,
	} {
		h.mux.HandleFunc(below(pattern), h.member(func(v *visit) error {
			if !v.may(identity.ReportsView) {
				return v.notSeen(section{title: "Reports"})
			}
			rv, err := v.openReports()
			if err != nil {
				return err
			}
			return fn(rv)
		}))
	}
}

// reportVisit is a request about reports: its period and its filters.
type reportVisit struct {
	*visit
	period  period
	query   report.Query
	params  url.Values // of the address, without what is not a filter
	wrong   bool       // the dates of the address could not be used
	folded  string     // until when facts are known; "" before a report was read
	nothing bool       // no report has a figure
}

// reportFilters are the parameters of addresses that select conversations.
var reportFilters = []string{"mailbox", "team", "user", "tag", "calendar"}

// openReports reads the period and the filters of an address.
func (v *visit) openReports() (*reportVisit, error) {
	q := v.r.URL.Query()
	rv := &reportVisit{visit: v, params: url.Values{}, nothing: true}
	today := v.midnight(v.now)
	key := cmp.Or(q.Get("period"), usualPeriod)
	var ok bool
	if rv.period, ok = periodOf(key, q, today); !ok {
		rv.wrong = true
		rv.period, _ = periodOf(usualPeriod, nil, today) // always a period
	}
	if rv.period.key != usualPeriod {
		rv.params.Set("period", rv.period.key)
	}
	if rv.period.key == "own" {
		rv.params.Set("from", rv.period.from.Format(dateForm))
		rv.params.Set("to", rv.period.last().Format(dateForm))
	}
	rv.query = report.Query{From: rv.period.from, To: rv.period.to, Timezone: v.zone.String()}
	for i, into := range []*int64{&rv.query.MailboxID, &rv.query.TeamID, &rv.query.UserID, &rv.query.TagID, &rv.query.CalendarID} {
		if *into = number(q.Get(reportFilters[i])); *into != 0 {
			rv.params.Set(reportFilters[i], itoa(*into))
		}
	}
	return rv, nil
}

// address returns a page with the period and the filters, and changes of them: names and values.
func (rv *reportVisit) address(path string, changes ...string) string {
	q := url.Values{}
	for name, values := range rv.params {
		q[name] = values
	}
	for i := 0; i+1 < len(changes); i += 2 {
		if changes[i+1] == "" {
			q.Del(changes[i])
		} else {
			q.Set(changes[i], changes[i+1])
		}
	}
	if len(q) == 0 {
		return rv.at(path)
	}
	return rv.at(path) + "?" + q.Encode()
}

// rowsURL is where the conversations of a figure are listed; "" if it rests on none.
func (rv *reportVisit) rowsURL(name report.Name, by report.Group, measure, key string, f report.Figure) string {
	if f.Of == 0 || name == report.HelpCentre {
		return ""
	}
	return rv.address("/reports/"+string(name)+"/rows", "by", string(by), "measure", measure, "key", key)
}

// get reads a report, and notes until when it is known.
func (rv *reportVisit) get(name report.Name, by report.Group) (report.Report, error) {
	q := rv.query
	q.GroupBy = by
	out, err := rv.Reports().Get(rv.ctx(), name, q)
	if err != nil {
		return out, err
	}
	if !out.FoldedAt.IsZero() {
		rv.folded = rv.moment(out.FoldedAt)
	}
	for _, f := range out.Total.Figures {
		rv.nothing = rv.nothing && (f.None || f.Value == 0)
	}
	return out, nil
}

// byTime is the group of a chart over the period: no more than about 35 columns.
func (p period) byTime() report.Group {
	switch days := p.days(); {
	case days <= 35:
		return report.ByDay
	case days <= 35*7:
		return report.ByWeek
	}
	return report.ByMonth
}

// reportsFrame is what all pages of reports have.
type reportsFrame struct {
	Title, Dates   string
	Account        string
	Tabs           []option
	Period         choice
	Own            ownDates
	Filters        []choice
	Chosen         string // the filters in words, for print
	CSV, JSONLines string
	Folded         string
	Wrong          bool
	Zone           string
}

// ownDates is the form of a period between two dates.
type ownDates struct {
	Action, From, To, Max string
	Kept                  []hidden
}

type hidden struct{ Name, Value string }

// reportTabs are the pages, by the last part of their address.
var reportTabs = [][2]string{
	{"", say("Overview")}, {"team", say("Members and teams")}, {"tags", say("Tags")}, {"mailboxes", say("Mailboxes and channels")},
	{"hours", say("Busy hours")}, {helpCentreTab, say("Help centre")},
}

// helpCentreTab is the page about readers. It has neither conversations nor filters.
const helpCentreTab = "help-centre"

// frame fills in what all pages have; path is the last part of the page's address.
func (rv *reportVisit) frame(page string) (reportsFrame, error) {
	path := "/reports"
	if page != "" {
		path += "/" + page
	}
	f := reportsFrame{
		Dates: rv.datesText(rv.period), Account: rv.account.Name, Folded: rv.folded, Wrong: rv.wrong, Zone: rv.zone.String(),
		CSV: rv.address("/reports/conversations.csv"), JSONLines: rv.address("/reports/conversations.jsonl"),
		Period: choice{Text: rv.words.periodText(rv.period.key), Active: true},
		Own: ownDates{
			Action: rv.at(path), From: rv.period.from.Format(dateForm), To: rv.period.last().Format(dateForm), Max: rv.now.In(rv.zone).Format(dateForm),
		},
	}
	for _, t := range reportTabs {
		to := "/reports"
		if t[0] != "" {
			to += "/" + t[0]
		}
		if t[0] == helpCentreTab && !rv.seesHelp() {
			continue
		}
		f.Tabs = append(f.Tabs, option{Text: rv.words.T(t[1]), URL: rv.address(to), Active: t[0] == page})
		if t[0] == page {
			f.Title = rv.words.T(t[1])
		}
	}
	for _, key := range periodKeys {
		f.Period.Options = append(f.Period.Options, option{
			Text: rv.words.periodText(key), URL: rv.address(path, "period", key, "from", "", "to", ""), Active: key == rv.period.key,
		})
	}
	if rv.period.key == "own" {
		f.Period.Text = f.Dates
	}
	for _, name := range reportFilters {
		if value := rv.params.Get(name); value != "" {
			f.Own.Kept = append(f.Own.Kept, hidden{name, value})
		}
	}
	if err := rv.readers(&f); err != nil || page == helpCentreTab {
		return f, err
	}
	return f, rv.filters(&f, path)
}

// readers adds the pages about readers of help centres, which have no period.
func (rv *reportVisit) readers(f *reportsFrame) error {
	if !rv.seesHelp() || !rv.may(identity.Permission(kb.ArticlesView)) {
		return nil
	}
	sites, err := rv.sites()
	to := rv.at("/help")
	if len(sites) == 1 {
		to += "/" + itoa(sites[0].ID) + "/feedback/articles"
	}
	if len(sites) > 0 {
		f.Tabs = append(f.Tabs, option{Text: rv.words.T("Readers of the help centre"), URL: to})
	}
	return err
}

// named is something that can be filtered by.
type named struct{ ID, Name, Color string }

// filters fills in what can be filtered by.
func (rv *reportVisit) filters(f *reportsFrame, path string) error {
	boxes, err := rv.mailboxes()
	if err != nil {
		return err
	}
	teams, err := rv.teams()
	if err != nil {
		return err
	}
	team, err := rv.team()
	if err != nil {
		return err
	}
	var tags []tagView
	if rv.may(identity.TagsView) {
		if tags, err = rv.allTags(); err != nil {
			return err
		}
	}
	calendars, err := rv.reportCalendars()
	if err != nil {
		return err
	}
	lists := make([][]named, len(reportFilters))
	for _, b := range boxes {
		lists[0] = append(lists[0], named{ID: itoa(b.ID), Name: b.Name})
	}
	for _, t := range teams {
		lists[1] = append(lists[1], named{ID: itoa(t.ID), Name: t.Name})
	}
	for _, p := range team {
		lists[2] = append(lists[2], named{ID: itoa(p.ID), Name: p.Name})
	}
	for _, t := range tags {
		lists[3] = append(lists[3], named{ID: itoa(t.ID), Name: t.Name, Color: t.Color})
	}
	lists[4] = calendars
	texts := [][2]string{
		{say("Mailbox"), say("All mailboxes")}, {say("Team"), say("Any team")}, {say("Member"), say("Anyone")}, {say("Tag"), say("Any tag")},
		{say("Business hours"), say("All hours count")},
	}
	var chosen []string
	for i, name := range reportFilters {
		if len(lists[i]) == 0 {
			continue
		}
		now := rv.params.Get(name)
		c := choice{Text: rv.words.T(texts[i][0]), Options: []option{{Text: rv.words.T(texts[i][1]), URL: rv.address(path, name, ""), Active: now == ""}}}
		for _, o := range lists[i] {
			if o.ID == now {
				c.Text, c.Active = o.Name, true
				chosen = append(chosen, o.Name)
			}
			c.Options = append(c.Options, option{Text: o.Name, Color: o.Color, URL: rv.address(path, name, o.ID), Active: o.ID == now})
		}
		f.Filters = append(f.Filters, c)
	}
	f.Chosen = rv.words.list(chosen)
	return nil
}

// reportCalendars are the business hours in which durations can be counted.
func (rv *reportVisit) reportCalendars() ([]named, error) {
	if !rv.may(identity.CalendarsView) {
		return nil, nil
	}
	page, err := rv.Calendars().List(rv.ctx(), storage.PageRequest{Limit: storage.MaxLimit})
	var all []named
	for _, c := range page.Items {
		all = append(all, named{ID: strconv.FormatInt(c.ID, 10), Name: c.Name})
	}
	return all, err
}
