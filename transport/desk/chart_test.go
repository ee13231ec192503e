package desk

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/helpwright/helpwright/helpdesk/report"
)

// Columns are within the chart, as high as their values, and in the order of the language.
func TestDrawColumns(t *testing.T) {
	t.Parallel()
	columns := []column{
		{Date: "1 Nov", Bars: []value{{N: 10, URL: "/a"}, {N: 5}}},
		{Date: "2 Nov", Today: true, Bars: []value{{N: 0}, {N: 0.01, URL: "/b"}}},
	}
	s := scale{peak: 10, texts: [3]string{"0", "5", "10"}, wide: 32}
	shape := cmpopts.IgnoreFields(bar{}, "Title", "Date", "Today")
	left := []bar{
		{X: 61, Y: 12, W: 14, H: 166, Middle: 76, URL: "/a", Hit: 40, HitWidth: 36}, {X: 77, Y: 95, W: 14, H: 83, Middle: 76, Out: true, Hit: 76, HitWidth: 36},
		{X: 133, Y: 178, W: 14, Middle: 148, Hit: 112, HitWidth: 36}, {X: 149, Y: 177, W: 14, H: 1, Middle: 148, Out: true, URL: "/b", Hit: 148, HitWidth: 36},
	}
	c := drawColumns(columns, s, 184, false)
	if diff := cmp.Diff(left, c.Bars, shape); diff != "" {
		t.Errorf("from left to right: %s", diff)
	}
	if diff := cmp.Diff([]gridLine{{178, "0"}, {95, "5"}, {12, "10"}}, c.Lines); diff != "" || c.Left != 36 || c.Right != 184 || c.Axis != 28 {
		t.Errorf("lines from %d to %d, texts at %d: %s", c.Left, c.Right, c.Axis, diff)
	}
	right := drawColumns(columns, s, 184, true)
	for i, b := range right.Bars {
		if want := 184 - left[i].X - left[i].W; b.X != want || b.Hit != 184-left[i].Hit-left[i].HitWidth || b.Middle != 184-left[i].Middle {
			t.Errorf("bar %d is at %d, not %d, its text at %d", i, b.X, want, b.Middle)
		}
	}
	if right.Left != 148 || right.Right != 0 || right.Axis != 156 {
		t.Errorf("lines from %d to %d, texts at %d", right.Left, right.Right, right.Axis)
	}
	for _, n := range []int{0, 1, 7, 30, 35, 366} {
		many := make([]column, n)
		for i := range many {
			many[i] = column{Date: "30 Nov", Bars: []value{{N: 10}}}
		}
		last := -columnGap
		for i, b := range drawColumns(many, s, 330, false).Bars {
			if b.X < 40 || b.X+b.W > 330 || b.W < 1 {
				t.Errorf("%d columns: bar %d is from %d, %d wide", n, i, b.X, b.W)
			}
			if b.Date != "" && b.Middle-last < columnGap-dateHalf {
				t.Errorf("%d columns: the date of bar %d is %d after the former one", n, i, b.Middle-last)
			}
			if b.Date != "" {
				last = b.Middle
			}
		}
	}
}

// A heat map has a cell for each hour of the week, with the shade of its value.
func TestDrawHeat(t *testing.T) {
	t.Parallel()
	var hours [7][24]value
	hours[0][9], hours[6][23] = value{N: 20, URL: "/most"}, value{N: 1}
	var days [7]string
	var clock [24]string
	for _, tt := range []struct {
		wide, rtl     bool
		width, height int
		first, last   [2]int
	}{
		{true, false, 1080, 262, [2]int{60, 24}, [2]int{1026, 228}},
		{true, true, 1080, 262, [2]int{980, 24}, [2]int{14, 228}},
		{false, false, 330, 650, [2]int{50, 24}, [2]int{290, 622}},
		{false, true, 330, 650, [2]int{242, 24}, [2]int{2, 622}},
	} {
		m := drawHeat(hours, days, clock, tt.wide, tt.rtl)
		if len(m.Cells) != 7*24 || m.Width != tt.width || m.Height != tt.height {
			t.Fatalf("%+v: %d cells, %d by %d", tt, len(m.Cells), m.Width, m.Height)
		}
		first, last := m.Cells[0], m.Cells[7*24-1]
		if diff := cmp.Diff([][2]int{tt.first, tt.last}, [][2]int{{first.X, first.Y}, {last.X, last.Y}}); diff != "" {
			t.Errorf("%+v: %s", tt, diff)
		}
		for i, want := range map[int]int{0: 0, 9: heatLevels, 7*24 - 1: 1} {
			if m.Cells[i].Level != want {
				t.Errorf("cell %d has level %d, not %d", i, m.Cells[i].Level, want)
			}
		}
		for _, c := range m.Cells {
			if c.X < 0 || c.Y < 0 || c.X+c.W > m.Width || c.Y+c.H > m.Height {
				t.Errorf("%+v: a cell at %d, %d", tt, c.X, c.Y)
			}
		}
	}
}

// Axes end at values that people read easily, at least the highest.
func TestScales(t *testing.T) {
	t.Parallel()
	w := speak("en")
	for _, tt := range []struct {
		s    scale
		peak float64
		top  string
	}{
		{countScale(0), 10, "10"}, {countScale(7), 10, "10"}, {countScale(11), 20, "20"}, {countScale(61), 80, "80"}, {countScale(1500), 2000, "2k+"},
		{w.spanScale(0), 60, "1 min"}, {w.spanScale(61), 120, "2 min"}, {w.spanScale(3601), 7200, "2 h"}, {w.spanScale(13 * 3600), 16 * 3600, "16 h"},
		{w.spanScale(3.6 * 86400), 4 * 86400, "4 d"}, {w.spanScale(30 * 86400), 40 * 86400, "40 d"}, {w.percentScale(), 100, "100%"},
	} {
		if tt.s.peak != tt.peak || tt.s.texts[2] != tt.top {
			t.Errorf("up to %v, %q; want %v, %q", tt.s.peak, tt.s.texts[2], tt.peak, tt.top)
		}
	}
}

// Figures are written for people, in their language.
func TestFigureTexts(t *testing.T) {
	t.Parallel()
	seconds := report.Measure{Key: "first_reply_median", Unit: report.Seconds, Statistic: report.Median}
	share := report.Measure{Key: "one_reply", Unit: report.Percent, Statistic: report.Share}
	number := report.Measure{Key: "created", Unit: report.Count, Statistic: report.Sum}
	open := report.Measure{Key: "open", Unit: report.Count, Statistic: report.Sum}
	of := func(v float64) report.Figure { return report.Figure{Value: v, Of: 9} }
	for _, tt := range []struct {
		lang string
		m    report.Measure
		f    report.Figure
		want string
	}{
		{"en", seconds, of(8040), "2 h 14 min"}, {"en", seconds, of(44.6), "45 s"}, {"en", seconds, of(3 * 3600), "3 h"}, {"en", seconds, of(200_000), "2 d 7 h"},
		{"de", seconds, of(8040), "2 Std 14 Min"}, {"ar", seconds, of(8040), "2 س 14 د"}, {"en", seconds, report.Figure{None: true}, "–"},
		{"en", share, of(66.6), "67%"}, {"de", share, of(66.6), "67\u00a0%"}, {"en", number, of(12345), "12,345"}, {"de", number, of(2.25), "2,2"},
	} {
		if got := speak(tt.lang).figureText(tt.m, tt.f); got != tt.want && got != "\u2068"+tt.want+"\u2069" {
			t.Errorf("%s %+v: %q, not %q", tt.lang, tt.f, got, tt.want)
		}
	}
	w := speak("en")
	for _, tt := range []struct {
		m                report.Measure
		now, before      report.Figure
		text, icon, mood string
	}{
		{seconds, of(3600), of(4320), "12 min faster", "down", "ok"}, {seconds, of(4320), of(3600), "12 min slower", "up", "bad"},
		{share, of(70), of(69), "1 point better", "up", "ok"}, {share, of(60), of(75), "15 points worse", "down", "bad"},
		{number, of(130), of(100), "30% more", "up", ""}, {number, of(70), of(100), "30% fewer", "down", ""}, {number, of(50), of(2), "48 more", "up", ""},
		{open, of(150), of(100), "50% more, which is worse", "up", "bad"}, {open, of(50), of(100), "50% fewer, which is better", "down", "ok"},
		{number, of(5), of(5), "As in the period before", "", ""}, {number, of(5), of(0), "", "", ""}, {share, of(5), report.Figure{None: true}, "", "", ""},
	} {
		text, icon, mood := w.change(tt.m, tt.now, tt.before)
		if text != tt.text || icon != tt.icon || mood != tt.mood {
			t.Errorf("%s from %v to %v: %q, %q, %q", tt.m.Key, tt.before.Value, tt.now.Value, text, icon, mood)
		}
	}
	for _, tt := range []struct {
		m    report.Measure
		f    report.Figure
		want string
	}{
		{seconds, report.Figure{Value: 5, Of: 1}, "Only 1 conversation"}, {seconds, report.Figure{Value: 5, Of: 4}, "Only 4 conversations"},
		{seconds, report.Figure{Value: 5, Of: 5}, ""}, {number, report.Figure{Value: 1, Of: 1}, ""}, {seconds, report.Figure{None: true}, ""},
	} {
		if got := w.few(tt.m, tt.f); got != tt.want {
			t.Errorf("%+v: %q, not %q", tt.f, got, tt.want)
		}
	}
}

// Every measure has a name.
func TestMeasureTitles(t *testing.T) {
	t.Parallel()
	for _, name := range report.Names() {
		for _, m := range name.Measures() {
			if title := speak("en").measureTitle(m); title == "" || title[0] >= 'a' && title[0] <= 'z' {
				t.Errorf("%s: %s is called %q", name, m.Key, title)
			}
		}
	}
}
