package desk

import (
	"math"
	"strconv"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	decimal "golang.org/x/text/number"
)

// chart is bars in a view box. Written from right to left, time runs from right to left, too.
type chart struct {
	Width, Height     int
	Bars              []bar
	Lines             []gridLine
	Left, Right, Axis int    // where grid lines begin and end, and where their texts end
	Label             string // "": it is hidden from screen readers, which have the table
}

type bar struct {
	X, Y, W, H, Middle int
	Date               string // under the bar; "" for none
	Today, Out         bool
	URL, Title         string // what the bar leads to, and its numbers; "" for none
	Hit, HitWidth      int    // the part of the chart that leads there
}

type gridLine struct {
	Y    int
	Text string
}

// column is a group of bars with a text under them.
type column struct {
	Date  string
	Today bool // not over yet
	Bars  []value
}

// value is the height of a bar.
type value struct {
	N          float64
	URL, Title string
}

// scale is the axis of a chart: its highest value, and what its three grid lines say from the bottom.
type scale struct {
	peak  float64
	texts [3]string
	wide  int // place for the texts
}

// columnGap is the width that a date needs with what is between two of them, and dateHalf half of that of a date.
const columnGap, dateHalf = 62, 26

// drawColumns draws bars, with grid lines at the bottom, the half and the top of the scale.
func drawColumns(columns []column, s scale, width int, rtl bool) chart {
	const height, top, bottom = 210, 12, 178
	left := s.wide + 8
	c := chart{Width: width, Height: height, Left: left - 4, Right: width, Axis: left - 12}
	for i, text := range s.texts {
		c.Lines = append(c.Lines, gridLine{Y: bottom - (bottom-top)*i/2, Text: text})
	}
	every := 1
	if n := len(columns); n > 0 {
		every = max(1, (columnGap*n+width-left-1)/(width-left))
	}
	for i, col := range columns {
		from, to := left+i*(width-left)/len(columns), left+(i+1)*(width-left)/len(columns)
		step, n := to-from, max(1, len(col.Bars))
		wide := max(1, min(step*6/10/n, 28/n))
		x := from + (step-n*wide-2*(n-1))/2
		for k, one := range col.Bars {
			b := bar{
				X: x + k*(wide+2), W: wide, Middle: min(from+step/2, width-dateHalf), Today: col.Today, Out: k > 0, URL: one.URL, Title: one.Title,
				Hit: from + k*step/n, HitWidth: step / n,
			}
			b.H = int(math.Round(float64(bottom-top) * one.N / s.peak))
			if one.N > 0 {
				b.H = max(1, b.H)
			}
			b.Y = bottom - b.H
			if k == 0 && (len(columns)-1-i)%every == 0 {
				b.Date = col.Date
			}
			c.Bars = append(c.Bars, b)
		}
	}
	if rtl {
		c.mirror()
	}
	return c
}

// mirror turns a chart for languages that are written from right to left.
func (c *chart) mirror() {
	c.Left, c.Right, c.Axis = c.Width-c.Left, c.Width-c.Right, c.Width-c.Axis
	for i := range c.Bars {
		b := &c.Bars[i]
		b.X, b.Middle, b.Hit = c.Width-b.X-b.W, c.Width-b.Middle, c.Width-b.Hit-b.HitWidth
	}
}

// countScale is the scale of numbers up to highest.
func countScale(highest float64) scale {
	peak := roundUp(int(math.Ceil(highest)))
	return scale{peak: float64(peak), texts: [3]string{"0", count(peak / 2), count(peak)}, wide: 32}
}

// roundUp returns an even number, at least n, that is easy to halve.
func roundUp(n int) int {
	for unit := 10; ; unit *= 10 {
		for _, times := range []int{1, 2, 4, 6, 8} {
			if unit*times >= n {
				return unit * times
			}
		}
	}
}

// spanScale is the scale of durations up to highest, in seconds.
func (w words) spanScale(highest float64) scale {
	const minute, hour, day = 60, 3600, 86400
	peak := 2.0 * day
	for _, p := range []float64{
		minute, 2 * minute, 4 * minute, 10 * minute, 20 * minute, 30 * minute, hour, 2 * hour, 4 * hour, 6 * hour, 8 * hour, 12 * hour, 16 * hour, day, 2 * day,
		4 * day, 6 * day, 8 * day,
	} {
		if p >= highest {
			peak = p
			break
		}
	}
	if highest > peak {
		peak = day * float64(roundUp(int(math.Ceil(highest/day))))
	}
	return scale{peak: peak, texts: [3]string{"0", w.lasts(peak / 2), w.lasts(peak)}, wide: 56}
}

// percentScale is the scale of shares.
func (w words) percentScale() scale {
	return scale{peak: 100, texts: [3]string{w.percent(0), w.percent(50), w.percent(100)}, wide: 44}
}

// heatMap is a week of cells, darker ones for more.
type heatMap struct {
	Width, Height int
	Cells         []heatCell
	Texts         []heatText
}

type heatCell struct {
	X, Y, W, H int
	Level      int // 0 for nothing, to heatLevels
	N          string
	NX, NY     int // where the number is
	URL, Title string
}

type heatText struct {
	X, Y  int
	Text  string
	Class string // lead: beside the cells, above: over them
}

// heatLevels is how many shades a heat map has beside that of nothing.
const heatLevels = 5

// heatLevel returns the shade of a value.
func heatLevel(n, highest float64) int {
	if n <= 0 || highest <= 0 {
		return 0
	}
	return min(heatLevels, int(math.Ceil(heatLevels*n/highest)))
}

// drawHeat draws a week, from Monday, of 24 hours each: days as lines if wide, and as columns otherwise.
func drawHeat(hours [7][24]value, days [7]string, clock [24]string, wide, rtl bool) heatMap {
	m := heatMap{Width: 1080, Height: 262}
	left, top, w, h := 60, 24, 42, 34
	if !wide {
		m = heatMap{Width: 330, Height: 650}
		left, top, w, h = 50, 24, 40, 26
	}
	var highest float64
	for _, day := range hours {
		for _, v := range day {
			highest = max(highest, v.N)
		}
	}
	for d := range 7 {
		for hour := range 24 {
			v := hours[d][hour]
			c := heatCell{X: left + hour*w, Y: top + d*h, W: w - 2, H: h - 2, Level: heatLevel(v.N, highest), URL: v.URL, Title: v.Title}
			if !wide {
				c.X, c.Y = left+d*w, top+hour*h
			}
			if v.N > 0 {
				c.N = count(int(v.N))
			}
			c.NX, c.NY = c.X+c.W/2, c.Y+c.H/2+4
			m.Cells = append(m.Cells, c)
		}
		at := heatText{X: left - 10, Y: top + d*h + h/2 + 3, Text: days[d], Class: "lead"}
		if !wide {
			at = heatText{X: left + d*w + w/2, Y: top - 8, Text: days[d], Class: "above"}
		}
		m.Texts = append(m.Texts, at)
	}
	for hour := 0; hour < 24; hour += 3 {
		at := heatText{X: left + hour*w + w/2, Y: top - 8, Text: clock[hour], Class: "above"}
		if !wide {
			at = heatText{X: left - 10, Y: top + hour*h + h/2 + 3, Text: clock[hour], Class: "lead"}
		}
		m.Texts = append(m.Texts, at)
	}
	if rtl {
		for i := range m.Cells {
			c := &m.Cells[i]
			c.X, c.NX = m.Width-c.X-c.W, m.Width-c.NX
		}
		for i := range m.Texts {
			m.Texts[i].X = m.Width - m.Texts[i].X
		}
	}
	return m
}

// ---- Numbers for people ----

// latin prints numbers of the language with Latin digits, as the dates have.
func (w words) latin() *message.Printer {
	return message.NewPrinter(language.Make(w.lang + "-u-nu-latn"))
}

// percent writes a share, of which 100 is all.
func (w words) percent(share float64) string {
	return w.latin().Sprint(decimal.Percent(share/100, decimal.MaxFractionDigits(0)))
}

// decimal writes a number with at most one decimal.
func (w words) decimal(n float64) string {
	return w.latin().Sprint(decimal.Decimal(n, decimal.MaxFractionDigits(1)))
}

// lasts writes a duration in seconds with its two largest units: 45 s, 2 h 14 min, 3 d 4 h.
func (w words) lasts(seconds float64) string {
	d := time.Duration(math.Round(seconds)) * time.Second
	if d < time.Minute {
		return w.T("%s s", strconv.Itoa(int(d/time.Second)))
	}
	return w.span(d)
}
