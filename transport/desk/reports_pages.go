package desk

import (
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/report"
)

// reportsView is a page of reports.
type reportsView struct {
	reportsFrame
	Tiles  []figureView
	Panels []reportPanel
	Empty  bool
}

// reportPanel is a report as a picture and a table.
type reportPanel struct {
	ID, Title, Hint string
	Whole           bool // as wide as the page
	Wide, Slim      *chart
	Heat, SlimHeat  *heatMap
	Legend          []string // of the first bar and the second one
	Table           reportTable
	Open            bool // the table is seen at once
	More            Link
}

// reportTable is figures by line.
type reportTable struct {
	Caption string
	Head    []string
	Rows    []reportLine
}

type reportLine struct {
	Name  string
	Cells []reportCell
}

type reportCell struct {
	Text, URL, Note string
	Bar             int // percent of the largest of the column
	HasBar          bool
}

// panelOf says what a panel shows of a report.
type panelOf struct {
	name    report.Name
	title   string
	columns []string // keys of at most two measures, which are drawn
	hint    string
	whole   bool
}

// overviewPanels are the panels of the first page, and its tiles the measures with these keys.
var overviewPanels = []panelOf{
	{name: report.Volume, title: say("Conversations"), columns: []string{"created", "resolved"}, whole: true},
	{name: report.FirstReply, title: say("Time to the first reply"), columns: []string{"first_reply_median"}, hint: say("Median: half of the customers waited less.")},
	{name: report.Resolution, title: say("Time to the resolution"), columns: []string{"resolution_median"}, hint: say("Median, of conversations that were resolved.")},
	{name: report.Backlog, title: say("Backlog"), columns: []string{"open"}, hint: say("Open conversations at the end of each day.")},
	{name: report.Replies, title: say("Solved with one reply"), columns: []string{"one_reply"}, hint: say("Share of the resolved conversations.")},
	{name: report.Ratings, title: say("Satisfied customers"), columns: []string{"satisfaction"}, hint: say("Share of the ratings that are good.")},
	{name: report.SLA, title: say("First replies in time"), columns: []string{"first_reply_kept"}, hint: say("Share of the targets of SLAs that were met.")},
}

func (rv *reportVisit) overview() error {
	view := reportsView{}
	for _, p := range overviewPanels {
		out, err := rv.get(p.name, rv.period.byTime())
		if err != nil {
			return err
		}
		for _, key := range p.columns {
			if i := measureIndex(out, key); i >= 0 && i < len(out.Total.Figures) {
				view.Tiles = append(view.Tiles, rv.figure(out, i))
			}
		}
		view.Panels = append(view.Panels, rv.timePanel(p, out))
	}
	return rv.showReports("", view)
}

// page shows another page than the overview.
func (rv *reportVisit) page() error {
	name := rv.r.PathValue("page")
	fill, known := map[string]func(*reportsView) error{
		"team": rv.teamPanels, "tags": rv.tagPanels, "mailboxes": rv.mailboxPanels, "hours": rv.hourPanels,
		helpCentreTab: rv.helpCentrePanels,
	}[name]
	if !known || name == helpCentreTab && !rv.seesHelp() {
		return rv.missing()
	}
	var view reportsView
	if err := fill(&view); err != nil {
		return err
	}
	return rv.showReports(name, view)
}

func (rv *reportVisit) showReports(page string, view reportsView) error {
	var err error
	if view.reportsFrame, err = rv.frame(page); err != nil {
		return err
	}
	view.Empty = rv.nothing
	return rv.show(screen{template: "reports", title: view.Title + " · " + rv.words.T("Reports"), data: view, nav: "reports"})
}

func measureIndex(out report.Report, key string) int {
	return slices.IndexFunc(out.Measures, func(m report.Measure) bool { return m.Key == key })
}

// timePanel draws a report over time.
func (rv *reportVisit) timePanel(p panelOf, out report.Report) reportPanel {
	panel := reportPanel{ID: string(p.name), Title: rv.words.T(p.title), Whole: p.whole}
	if p.hint != "" {
		panel.Hint = rv.words.T(p.hint)
	}
	var columns []column
	var highest float64
	unit := report.Count
	for _, l := range out.Lines {
		col := column{Date: rv.lineDate(l, out.Query.GroupBy), Today: l.To.After(rv.now)}
		for _, key := range p.columns {
			i := measureIndex(out, key)
			if i < 0 || i >= len(l.Figures) {
				continue
			}
			m, f := out.Measures[i], l.Figures[i]
			unit = m.Unit
			v := value{URL: rv.rowsURL(p.name, out.Query.GroupBy, m.Key, l.Key, f)}
			if !f.None {
				v.N, highest = f.Value, max(highest, f.Value)
			}
			v.Title = rv.words.T("%s: %s", col.Date, rv.words.measureTitle(m)+" "+rv.words.figureText(m, f))
			col.Bars = append(col.Bars, v)
		}
		columns = append(columns, col)
	}
	wide := 520
	if p.whole {
		wide = 1080
	}
	at := rv.words.scaleOf(unit, highest)
	big, small := drawColumns(columns, at, wide, rv.words.rtl), drawColumns(columns, at, 330, rv.words.rtl)
	panel.Wide, panel.Slim = &big, &small
	if len(p.columns) > 1 {
		for _, key := range p.columns {
			panel.Legend = append(panel.Legend, rv.words.measureTitle(report.Measure{Key: key}))
		}
	}
	panel.Table = rv.tableOf(panel.Title, rv.timeTitle(out.Query.GroupBy), out, func(l report.Line) string { return rv.lineDate(l, out.Query.GroupBy) }, false)
	return panel
}

// timeTitle names the column of the dates.
func (rv *reportVisit) timeTitle(by report.Group) string {
	switch by {
	case report.ByWeek:
		return rv.words.T("Week from")
	case report.ByMonth:
		return rv.words.T("Month")
	}
	return rv.words.T("Day")
}

// lineDate says the span of a line.
func (rv *reportVisit) lineDate(l report.Line, by report.Group) string {
	if by == report.ByMonth {
		return rv.month(l.From)
	}
	return rv.day(l.From)
}

// tableOf makes a table of a report: a column for each measure. With bars, the first one has them.
func (rv *reportVisit) tableOf(caption, first string, out report.Report, name func(report.Line) string, bars bool) reportTable {
	t := reportTable{Caption: caption, Head: []string{first}}
	for _, m := range out.Measures {
		t.Head = append(t.Head, rv.words.measureTitle(m))
	}
	var highest float64
	for _, l := range out.Lines {
		if len(l.Figures) > 0 && !l.Figures[0].None {
			highest = max(highest, l.Figures[0].Value)
		}
	}
	for _, l := range out.Lines {
		line := reportLine{Name: name(l)}
		for i, f := range l.Figures {
			m := out.Measures[i]
			c := reportCell{Text: rv.words.figureText(m, f), Note: rv.words.few(m, f), URL: rv.rowsURL(out.Name, out.Query.GroupBy, m.Key, l.Key, f)}
			if c.HasBar = bars && i == 0 && highest > 0; c.HasBar && !f.None {
				c.Bar = int(100 * f.Value / highest)
			}
			line.Cells = append(line.Cells, c)
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// keysOf are the ids that are the keys of lines.
func keysOf(lines []report.Line) []int64 {
	var ids []int64
	for _, l := range lines {
		ids = append(ids, number(l.Key))
	}
	return ids
}

// namedPanel makes a panel with a line for each of something that has a name.
func (rv *reportVisit) namedPanel(id, title, first, none string, out report.Report, names map[int64]string) reportPanel {
	t := rv.tableOf(title, first, out, func(l report.Line) string {
		switch n := number(l.Key); {
		case n == 0:
			return none
		case names[n] == "":
			return rv.words.T("Deleted (%s)", l.Key)
		default:
			return names[n]
		}
	}, true)
	return reportPanel{ID: id, Title: title, Whole: true, Open: true, Table: t}
}

func (rv *reportVisit) teamPanels(view *reportsView) error {
	out, err := rv.get(report.Team, report.ByUser)
	if err != nil {
		return err
	}
	people, err := rv.people(keysOf(out.Lines))
	if err != nil {
		return err
	}
	names := map[int64]string{}
	for id, p := range people {
		names[id] = p.Name
	}
	view.Panels = append(view.Panels, rv.namedPanel("members", rv.words.T("Members"), rv.words.T("Member"), rv.words.T("Nobody"), out, names))
	if out, err = rv.get(report.Channels, report.ByTeam); err != nil {
		return err
	}
	if names, err = rv.teamNames(keysOf(out.Lines)); err != nil {
		return err
	}
	view.Panels = append(view.Panels, rv.namedPanel("teams", rv.words.T("Teams"), rv.words.T("Team"), rv.words.T("No team"), out, names))
	return nil
}

func (rv *reportVisit) tagPanels(view *reportsView) error {
	out, err := rv.get(report.Tags, report.ByTag)
	if err != nil {
		return err
	}
	names, err := rv.tagNames()
	if err != nil {
		return err
	}
	panel := rv.namedPanel("tags", rv.words.T("Tags"), rv.words.T("Tag"), rv.words.T("No tag"), out, names)
	panel.Hint = rv.words.T("A conversation counts with each of its tags.")
	view.Panels = append(view.Panels, panel)
	return nil
}

func (rv *reportVisit) mailboxPanels(view *reportsView) error {
	out, err := rv.get(report.Channels, report.ByMailbox)
	if err != nil {
		return err
	}
	names, err := rv.boxNames(keysOf(out.Lines))
	if err != nil {
		return err
	}
	view.Panels = append(view.Panels, rv.namedPanel("boxes", rv.words.T("Mailboxes"), rv.words.T("Mailbox"), rv.words.T("None"), out, names))
	if out, err = rv.get(report.Channels, report.ByChannel); err != nil {
		return err
	}
	t := rv.tableOf(rv.words.T("Channels"), rv.words.T("Channel"), out, func(l report.Line) string { return rv.channelText(l.Key) }, true)
	view.Panels = append(view.Panels, reportPanel{ID: "channels", Title: rv.words.T("Channels"), Whole: true, Open: true, Table: t})
	return nil
}

// channelText names a way in which conversations come.
func (rv *reportVisit) channelText(key string) string {
	if key == "email" {
		return rv.words.T("Mail")
	}
	return key
}

// hourPanels shows the hours of the week at which conversations come.
func (rv *reportVisit) hourPanels(view *reportsView) error {
	out, err := rv.get(report.BusyHours, report.ByHour)
	if err != nil {
		return err
	}
	c := calendars[rv.words.lang]
	var days [7]string
	var clock [24]string
	monday := time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC)
	for i := range days {
		days[i] = c.format("E", monday.AddDate(0, 0, i))
	}
	for i := range clock {
		clock[i] = c.format(c.clock, monday.Add(time.Duration(i)*time.Hour))
	}
	table := reportTable{Caption: rv.words.T("Conversations by hour of the week"), Head: append([]string{rv.words.T("Hour")}, days[:]...)}
	for i := range clock {
		table.Rows = append(table.Rows, reportLine{Name: clock[i], Cells: make([]reportCell, 7)})
		for d := range days {
			table.Rows[i].Cells[d].Text = "0"
		}
	}
	var hours [7][24]value
	for _, l := range out.Lines {
		d, h, ok := hourOfWeek(l.Key)
		if !ok || len(l.Figures) == 0 {
			continue
		}
		f := l.Figures[0]
		at := rv.rowsURL(out.Name, report.ByHour, out.Measures[0].Key, l.Key, f)
		text := rv.words.figureText(out.Measures[0], f)
		hours[d][h] = value{N: f.Value, URL: at, Title: days[d] + " " + clock[h] + ": " + text}
		table.Rows[h].Cells[d] = reportCell{Text: text, URL: at}
	}
	wide, slim := drawHeat(hours, days, clock, true, rv.words.rtl), drawHeat(hours, days, clock, false, rv.words.rtl)
	view.Panels = []reportPanel{{
		ID: "hours", Title: rv.words.T("Conversations by hour of the week"), Hint: rv.words.T("When conversations begin, in the time zone %s. Stronger is more.", rv.zone.String()),
		Whole: true, Heat: &wide, SlimHeat: &slim, Table: table,
	}}
	return nil
}

// hourOfWeek reads the key of an hour of the week: "mon 00" to "sun 23".
func hourOfWeek(key string) (day, hour int, ok bool) {
	name, clock, _ := strings.Cut(key, " ")
	day = slices.Index([]string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}, name)
	hour = int(number(strings.TrimPrefix(clock, "0")))
	return day, hour, day >= 0 && hour < 24 && (hour > 0 || clock == "00")
}

// hourName says an hour of the week.
func (rv *reportVisit) hourName(key string) string {
	d, h, ok := hourOfWeek(key)
	if !ok {
		return key
	}
	c := calendars[rv.words.lang]
	return c.format(c.weekday, time.Date(2024, time.January, 1+d, h, 0, 0, 0, time.UTC))
}

// tagNames are the names of the tags that the member sees.
func (rv *reportVisit) tagNames() (map[int64]string, error) {
	names := map[int64]string{}
	if !rv.may(identity.TagsView) {
		return names, nil
	}
	tags, err := rv.allTags()
	for _, t := range tags {
		names[t.ID] = t.Name
	}
	return names, err
}
