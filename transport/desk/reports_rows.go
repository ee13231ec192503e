package desk

import (
	"cmp"

	"github.com/helpwright/helpwright/helpdesk/report"
)

// reportRowsView is the conversations that a figure rests on.
type reportRowsView struct {
	Back, Title, Dates string
	Line               string // what the figure is about; "" for all
	Figure, Count      string
	ValueTitle         string // "" if all rows count once
	Rows               []reportRowView
	Next               string
}

type reportRowView struct {
	Number, Subject, URL string // URL is "" of a conversation that is gone
	When, Full, Who, Box string
	Value                string
}

const reportRowsPage = 50

// rows lists the conversations of a figure, which its bar and its cells lead to.
func (rv *reportVisit) rows() error {
	q := rv.r.URL.Query()
	name, measure, key := report.Name(rv.r.PathValue("report")), q.Get("measure"), q.Get("key")
	query := rv.query
	query.GroupBy = report.Group(q.Get("by"))
	out, err := rv.Reports().Get(rv.ctx(), name, query)
	if err != nil {
		return err
	}
	i := measureIndex(out, measure)
	if i < 0 {
		return rv.missing()
	}
	m, line := out.Measures[i], out.Total
	if key != "" {
		line = report.Line{Key: key, Figures: make([]report.Figure, len(out.Measures))}
		for _, l := range out.Lines {
			if l.Key == key {
				line = l
			}
		}
	}
	page, err := rv.Reports().Rows(rv.ctx(), name, query, measure, key, rv.pageOf(reportRowsPage))
	if err != nil {
		return err
	}
	f := line.Figures[i]
	view := reportRowsView{
		Back: rv.address("/reports"), Title: rv.words.measureTitle(m), Dates: rv.datesText(rv.period),
		Figure: rv.words.figureText(m, f), Count: rv.words.N(int(f.Of), "%s conversation|%s conversations"),
	}
	if view.Line, err = rv.lineName(query.GroupBy, line); err != nil {
		return err
	}
	if page.Next != "" {
		view.Next = rv.address("/reports/"+string(name)+"/rows", "by", string(query.GroupBy), "measure", measure, "key", key, "after", page.Next)
	}
	if err := rv.fillRows(&view, m, page.Items); err != nil {
		return err
	}
	return rv.show(screen{template: "report-rows", title: view.Title + " · " + rv.words.T("Reports"), data: view, nav: "reports"})
}

// fillRows shows conversations with what each adds to the figure.
func (rv *reportVisit) fillRows(view *reportRowsView, m report.Measure, rows []report.Row) error {
	var ids, users, boxes []int64
	counted := m.Statistic == report.Sum
	for _, r := range rows {
		ids, users, boxes = append(ids, r.Fact.ConversationID), append(users, r.Fact.UserID), append(boxes, r.Fact.MailboxID)
		counted = counted && r.Value == 1
	}
	if !counted {
		view.ValueTitle = rv.words.T("Value")
	}
	known, err := rv.conversationsOf(ids)
	if err != nil {
		return err
	}
	people, err := rv.people(users)
	if err != nil {
		return err
	}
	names, err := rv.boxNames(boxes)
	if err != nil {
		return err
	}
	for _, r := range rows {
		row := reportRowView{
			Number: itoa(r.Fact.Number), When: rv.moment(r.Fact.CreatedAt), Full: rv.full(r.Fact.CreatedAt), Who: people[r.Fact.UserID].Name,
			Box: names[r.Fact.MailboxID], Subject: rv.words.T("Conversation deleted"),
		}
		if c, there := known[r.Fact.ConversationID]; there {
			row.Subject, row.URL = cmp.Or(c.Subject, rv.words.T("(no subject)")), rv.at("/c/"+itoa(c.ID))
		}
		if !counted {
			row.Value = rv.rowValue(m, r.Value)
		}
		view.Rows = append(view.Rows, row)
	}
	return nil
}

// rowValue writes what a conversation adds to a figure.
func (rv *reportVisit) rowValue(m report.Measure, n float64) string {
	switch {
	case m.Statistic == report.Share && n == 1:
		return rv.words.T("Yes")
	case m.Statistic == report.Share:
		return rv.words.T("No")
	}
	return rv.words.figureText(m, report.Figure{Value: n})
}

// lineName says what a line is about; "" of a total.
func (rv *reportVisit) lineName(by report.Group, l report.Line) (string, error) {
	id := number(l.Key)
	var names map[int64]string
	var err error
	none := rv.words.T("None")
	switch {
	case l.Key == "":
		return "", nil
	case !l.From.IsZero() && by != report.ByHour:
		return rv.lineDate(l, by), nil
	case by == report.ByMailbox:
		names, err = rv.boxNames([]int64{id})
	case by == report.ByTeam:
		names, err = rv.teamNames([]int64{id})
	case by == report.ByUser:
		var people map[int64]person
		people, err = rv.people([]int64{id})
		names, none = map[int64]string{id: people[id].Name}, rv.words.T("Nobody")
	case by == report.ByTag:
		names, err = rv.tagNames()
	case by == report.ByChannel:
		return rv.channelText(l.Key), nil
	case by == report.ByHour:
		return rv.hourName(l.Key), nil
	}
	if id == 0 {
		return none, err
	}
	return cmp.Or(names[id], rv.words.T("Deleted (%s)", l.Key)), err
}
