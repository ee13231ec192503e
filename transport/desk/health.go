package desk

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// What the page reads at most, so that it costs the same however large the account is.
const (
	healthDays  = 14
	healthMails = 2000 // of each mailbox
	healthWaits = 1000
)

type healthView struct {
	Updated    string
	Needs      []need
	Tiles      []tile
	Wide, Slim chart
	Days       []dayCount
	Waiting    string
	Ages       []ageBar
	Boxes      []healthBox
	Cut        string // what is left out of the ages
}

// need is something that somebody has to look at.
type need struct{ Icon, Title, Text, URL string }

// tile is a large figure.
type tile struct {
	Title, Figure, Text, URL string
	Bad                      bool
}

type dayCount struct {
	Date  string
	N     int
	Today bool
	day   time.Time
}

// chart is bars in a view box.
type chart struct {
	Width, Height int
	Bars          []bar
	Lines         []gridLine
	Label         string
}

type bar struct {
	X, Y, W, H, Middle int
	Date               string // under the bar; "": none
	Today              bool
}

type gridLine struct {
	Y    int
	Text string
}

type ageBar struct {
	Text  string
	N     int
	Width int // of 100
	Bad   bool
}

type healthBox struct {
	Name, URL, Last string
	State           check
	In, NotImported int
}

// healthPage shows whether mail is moving, and who waits.
func (v *visit) healthPage() error {
	if !v.seesHealth() {
		return v.notSeen(section{title: "Health"})
	}
	var view healthView
	view.Updated = v.now.In(v.zone).Format("15:04:05")
	counts, err := v.counts()
	if err != nil {
		return err
	}
	if err := v.mailIn(&view); err != nil {
		return err
	}
	if err := v.waiting(&view, counts); err != nil {
		return err
	}
	if counts.Undelivered > 0 {
		view.Needs = append([]need{{
			Icon: "alert", Title: v.words.N(int(counts.Undelivered), "%s conversation has a reply that was not delivered|%s conversations have replies that were not delivered"),
			Text: v.words.T("Try again, or call."), URL: v.at("/inbox/failed"),
		}}, view.Needs...)
	}
	undelivered := tile{Title: v.words.T("Not delivered"), Figure: count(int(counts.Undelivered)), Text: v.words.T("Conversations"), URL: v.at("/inbox/failed"), Bad: counts.Undelivered > 0}
	view.Tiles = append(view.Tiles, undelivered)
	return v.show(screen{template: "health", title: v.words.T("Health"), data: view, nav: "health"})
}

func (v *visit) seesHealth() bool {
	return v.may(helpdesk.ConversationsView) && v.may(helpdesk.MailboxesView) && v.may(helpdesk.MailboxesConnection)
}

// midnight is the beginning of the day of a time.
func (v *visit) midnight(t time.Time) time.Time {
	t = t.In(v.zone)
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, v.zone)
}

// mailIn fills in what the ledgers tell: mails by day, and how the mailboxes do.
func (v *visit) mailIn(view *healthView) error {
	boxes, err := v.Mailboxes(v.ctx(), storage.PageRequest{Limit: maxNav})
	if err != nil {
		return err
	}
	from := v.midnight(v.now).AddDate(0, 0, 1-healthDays)
	days := map[time.Time]int{}
	for _, m := range boxes.Items {
		row := healthBox{Name: m.Name, URL: v.at("/settings/mailboxes/" + itoa(m.ID))}
		if row.State, err = v.liveState(m); err != nil {
			return err
		}
		counts, err := v.InboundCounts(v.ctx(), m.ID)
		if err != nil {
			return err
		}
		row.NotImported = int(counts.Quarantined)
		whole, err := v.mailsOf(m.ID, from, days, &row)
		if err != nil {
			return err
		}
		if whole.After(from) {
			from = whole
		}
		view.Boxes = append(view.Boxes, row)
		view.Needs = append(view.Needs, v.needsOf(row)...)
	}
	view.Days = v.daysFrom(from, days)
	view.Wide, view.Slim = v.chartOf(view.Days, 640), v.chartOf(view.Days[max(0, len(view.Days)-7):], 330)
	view.Tiles = append(view.Tiles, tile{Title: v.words.T("Mail in, today"), Figure: count(days[v.midnight(v.now)]), Text: v.words.N(len(boxes.Items), "to %s mailbox|to %s mailboxes")})
	return nil
}

// mailsOf counts the mails of a mailbox by day, and returns the first day that is counted
// as a whole.
func (v *visit) mailsOf(id int64, from time.Time, days map[time.Time]int, row *healthBox) (time.Time, error) {
	cursor, read := "", 0
	for {
		page, err := v.InboundMails(v.ctx(), helpdesk.InboundFilter{MailboxID: id}, storage.PageRequest{Limit: storage.MaxLimit, Cursor: cursor})
		if err != nil {
			return from, err
		}
		for _, m := range page.Items {
			if row.Last == "" {
				row.Last = v.since(m.ReceivedAt)
			}
			if m.ReceivedAt.Before(from) {
				return from, nil
			}
			days[v.midnight(m.ReceivedAt)]++
			row.In++
		}
		read += len(page.Items)
		if cursor = page.Next; cursor == "" {
			return from, nil
		}
		if read >= healthMails { // the oldest day is not known as a whole
			return v.midnight(page.Items[len(page.Items)-1].ReceivedAt).AddDate(0, 0, 1), nil
		}
	}
}

func (v *visit) needsOf(row healthBox) []need {
	var out []need
	if row.State.Class == "bad" || row.State.Class == "warn" {
		out = append(out, need{Icon: "mail", Title: v.words.T("%s gets no mail", row.Name), Text: row.State.Text, URL: row.URL})
	}
	if row.NotImported > 0 {
		out = append(out, need{Icon: "note", Title: v.words.N(row.NotImported, "%s mail was not imported|%s mails were not imported"), Text: row.Name, URL: v.at("/settings/ledger")})
	}
	return out
}

// daysFrom lists the days up to today.
func (v *visit) daysFrom(from time.Time, counts map[time.Time]int) []dayCount {
	var out []dayCount
	today := v.midnight(v.now)
	for day := from; !day.After(today); day = v.midnight(day.AddDate(0, 0, 1).Add(2 * time.Hour)) {
		one := dayCount{Date: v.date(day), N: counts[day], Today: day.Equal(today), day: day}
		if one.Today {
			one.Date = v.words.T("Today")
		}
		out = append(out, one)
	}
	return out
}

// date writes a day of this year: 18 Nov.
func (v *visit) date(t time.Time) string {
	c := calendars[v.words.lang]
	return fmt.Sprintf(c.day, t.Day(), strings.Fields(c.months)[t.Month()-1])
}

// chartOf draws bars with a line at each half of a round number above them.
func (v *visit) chartOf(days []dayCount, width int) chart {
	const height, left, top, bottom = 210, 40, 12, 178
	highest := 0
	for _, d := range days {
		highest = max(highest, d.N)
	}
	peak := roundUp(highest)
	c := chart{Width: width, Height: height, Label: v.words.T("Mails that came in, by day. The numbers are in the table below.")}
	for i := range 3 {
		c.Lines = append(c.Lines, gridLine{Y: bottom - (bottom-top)*i/2, Text: count(peak * i / 2)})
	}
	if len(days) == 0 {
		return c
	}
	step := (width - left) / len(days)
	wide := min(step*6/10, 28)
	for i, d := range days {
		h := (bottom - top) * d.N / peak
		b := bar{X: left + i*step + (step-wide)/2, Y: bottom - h, W: wide, H: h, Middle: left + i*step + step/2, Today: d.Today}
		if (len(days)-1-i)%2 == 0 {
			b.Date = d.Date
		}
		c.Bars = append(c.Bars, b)
	}
	return c
}

// roundUp is an even number that is easy to halve, at least n.
func roundUp(n int) int {
	for unit := 10; ; unit *= 10 {
		for _, times := range []int{1, 2, 4, 6, 8} {
			if unit*times >= n {
				return unit * times
			}
		}
	}
}

// waiting fills in who has waited longest, and how many have waited how long.
func (v *visit) waiting(view *healthView, counts helpdesk.Counts) error {
	w := v.words
	limits := []time.Duration{time.Hour, 4 * time.Hour, 8 * time.Hour, 24 * time.Hour}
	view.Ages = []ageBar{{Text: w.T("under 1 h")}, {Text: w.T("1 to 4 h")}, {Text: w.T("4 to 8 h")}, {Text: w.T("8 to 24 h")}, {Text: w.T("over 1 d"), Bad: true}}
	oldest, read, cursor := tile{Title: w.T("Oldest waiting"), Figure: w.T("Nobody")}, 0, ""
	for {
		page, err := v.Conversations(v.ctx(), helpdesk.ConversationQuery{
			Statuses: []helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusPending}, Awaiting: storage.Some(true), Sort: helpdesk.ByAwaiting, Ascending: true,
		}, storage.PageRequest{Limit: storage.MaxLimit, Cursor: cursor})
		if err != nil {
			return err
		}
		for i, c := range page.Items {
			waited := v.now.Sub(c.AwaitingSince)
			if read == 0 && i == 0 {
				oldest.Figure, oldest.Text, oldest.URL, oldest.Bad = w.lasted(waited), cmp.Or(c.Subject, w.T("Without a subject")), v.at("/c/"+itoa(c.ID)), waited >= 24*time.Hour
			}
			at := 0
			for at < len(limits) && waited >= limits[at] {
				at++
			}
			view.Ages[at].N++
		}
		read += len(page.Items)
		if cursor = page.Next; cursor == "" {
			break
		}
		if read >= healthWaits {
			view.Cut = w.T("Of the %s that have waited longest", read)
			break
		}
	}
	most := 1
	for _, a := range view.Ages {
		most = max(most, a.N)
	}
	for i := range view.Ages {
		view.Ages[i].Width = view.Ages[i].N * 100 / most
	}
	view.Waiting = w.N(int(counts.Waiting), "%s conversation|%s conversations")
	open := tile{Title: w.T("Waiting for us"), Figure: count(int(counts.Waiting)), Text: w.N(int(counts.Open), "of %s open|of %s open"), URL: v.at("/inbox/all")}
	view.Tiles = append([]tile{oldest, open}, view.Tiles...)
	return nil
}
