package desk

import (
	"math"

	"github.com/helpwright/helpwright/helpdesk/report"
)

// fewConversations is how many conversations a figure must rest on to say something about others.
const fewConversations = 5

// figureView is a figure of a report.
type figureView struct {
	Title, Figure, URL string
	Note               string // that it rests on few conversations; "" if not
	Change, Icon, Mood string // compared with the period before; Mood is ok, bad or ""
}

// figureText writes a figure by its measure.
func (w words) figureText(m report.Measure, f report.Figure) string {
	switch {
	case f.None:
		return "–"
	case m.Unit == report.Seconds:
		return w.lasts(f.Value)
	case m.Unit == report.Percent:
		return w.percent(f.Value)
	}
	return w.decimal(f.Value)
}

// few says that a figure rests on few conversations. A number of conversations says so itself.
func (w words) few(m report.Measure, f report.Figure) string {
	if f.None || m.Key == "deflection" || m.Statistic == report.Sum || f.Of >= fewConversations || f.Of == 0 {
		return ""
	}
	return w.N(int(f.Of), "Only %s conversation|Only %s conversations")
}

// change says how a figure differs from that of the period before.
func (w words) change(m report.Measure, now, before report.Figure) (text, icon, mood string) {
	if now.None || before.None || m.Unit != report.Percent && before.Value == 0 {
		return "", "", ""
	}
	difference := now.Value - before.Value
	less := m.Unit == report.Seconds || lessIsBetter[m.Key]
	more := m.Unit == report.Percent && !less
	amount, same := w.amount(m.Unit, difference, before.Value)
	if same {
		return w.T("As in the period before"), "", ""
	}
	icon = "up"
	if difference < 0 {
		icon = "down"
	}
	switch {
	case less && difference < 0 || more && difference > 0:
		mood = "ok"
	case less || more:
		mood = "bad"
	}
	text = w.changeText(m.Unit, difference, amount, mood)
	return text, icon, mood
}

// amount says how much a figure changed, and whether that is nothing to speak of: durations and shares by what they differ,
// numbers in percent, unless they became several times as large.
func (w words) amount(unit report.Unit, difference, before float64) (text string, same bool) {
	size, share := math.Abs(difference), 100*math.Abs(difference)/math.Abs(before)
	switch {
	case unit == report.Percent:
		return "", math.Round(size) == 0
	case unit == report.Seconds:
		return w.lasts(size), size < 1
	case share > 300:
		return w.decimal(size), false
	}
	return w.percent(share), size < 0.05
}

// changeText says a change by an amount.
func (w words) changeText(unit report.Unit, difference float64, amount, mood string) string {
	points := int(math.Round(math.Abs(difference)))
	switch {
	case unit == report.Seconds && difference > 0:
		return w.T("%s slower", amount)
	case unit == report.Seconds:
		return w.T("%s faster", amount)
	case unit == report.Percent && mood == "bad":
		return w.N(points, "%s point worse|%s points worse")
	case unit == report.Percent:
		return w.N(points, "%s point better|%s points better")
	case difference > 0 && mood == "bad":
		return w.T("%s more, which is worse", amount)
	case difference > 0:
		return w.T("%s more", amount)
	case mood == "ok":
		return w.T("%s fewer, which is better", amount)
	}
	return w.T("%s fewer", amount)
}

// figure shows a figure of the total with what changed.
func (rv *reportVisit) figure(out report.Report, i int) figureView {
	m, f := out.Measures[i], out.Total.Figures[i]
	view := figureView{
		Title: rv.words.measureTitle(m), Figure: rv.words.figureText(m, f), Note: rv.words.few(m, f),
		URL: rv.rowsURL(out.Name, report.ByNothing, m.Key, "", f),
	}
	if i < len(out.Before.Figures) {
		view.Change, view.Icon, view.Mood = rv.words.change(m, f, out.Before.Figures[i])
	}
	return view
}

// scaleOf is the axis for figures of a unit up to highest.
func (w words) scaleOf(unit report.Unit, highest float64) scale {
	switch unit {
	case report.Seconds:
		return w.spanScale(highest)
	case report.Percent:
		return w.percentScale()
	}
	return countScale(highest)
}
