package desk

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
)

// Limits of the page's queries, so that its cost is the same for accounts of any size.
const (
	healthDays  = 14
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
	Cut        string // note about the part left out of the ages
	Queues     []queueLine
	Backup     *backupView
}

// queueLine is the length of a queue.
type queueLine struct{ Name, N, Text string }

// need is a problem that needs attention.
type need struct {
	Icon, Title, Text, URL string
	SignIn                 string // signs a mailbox in again; "" if that is not the remedy
}

// tile is a large figure.
type tile struct {
	Title, Figure, Text, URL string
	Bad                      bool
}

type dayCount struct {
	Date    string
	In, Out int
	Today   bool
}

type ageBar struct {
	Text  string
	N     int
	Width int // percent
	Bad   bool
}

type healthBox struct {
	Name, URL, Last      string
	State                check
	Spark                string // points of a line
	In, Out, NotImported int
}

// healthPage shows whether mail is flowing, and how long customers have been waiting.
func (v *visit) healthPage() error {
	if !v.seesHealth() {
		return v.notSeen(section{title: "Health"})
	}
	var view healthView
	view.Updated = calendars[v.words.lang].format(calendars[v.words.lang].seconds, v.now.In(v.zone))
	counts, err := v.counts()
	if err != nil {
		return err
	}
	if err := v.waiting(&view, counts); err != nil {
		return err
	}
	if err := v.mailFlow(&view); err != nil {
		return err
	}
	if err := v.backups(&view); err != nil {
		return err
	}
	if counts.Undelivered > 0 {
		view.Needs = append([]need{{
			Icon: "alert", Title: v.words.N(int(counts.Undelivered), "%s conversation has a reply that was not delivered|%s conversations have replies that were not delivered"),
			Text: v.words.T("Try again, or contact the customer another way."), URL: v.at("/inbox/failed"),
		}}, view.Needs...)
	}
	return v.show(screen{template: "health", title: v.words.T("Health"), data: view, nav: "health"})
}

func (v *visit) seesHealth() bool {
	return v.may(identity.ConversationsView) && v.may(identity.MailboxesView) && v.may(identity.MailboxesConnection)
}

// midnight is the beginning of the day of a time.
func (v *visit) midnight(t time.Time) time.Time {
	t = t.In(v.zone)
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, v.zone)
}

// mailFlow fills in the flow of mail: mails by day, and the state of the mailboxes.
func (v *visit) mailFlow(view *healthView) error {
	boxes, err := v.readMailboxes()
	if err != nil {
		return err
	}
	h, err := v.Mailboxes().Health(v.ctx(), healthDays*24*time.Hour)
	if err != nil {
		return err
	}
	from := v.midnight(v.now).AddDate(0, 0, 1-healthDays)
	whole := map[time.Time]flow{}
	each := map[int64]map[time.Time]flow{}
	for _, t := range h.Traffic {
		day := v.midnight(t.Start)
		if day.Before(from) {
			continue
		}
		if each[t.MailboxID] == nil {
			each[t.MailboxID] = map[time.Time]flow{}
		}
		whole[day], each[t.MailboxID][day] = whole[day].plus(t), each[t.MailboxID][day].plus(t)
	}
	for _, m := range boxes {
		row, err := v.healthBox(m, v.daysFrom(from, each[m.ID]))
		if err != nil {
			return err
		}
		for _, q := range h.Queues {
			if q.MailboxID == m.ID {
				row.NotImported = int(q.Quarantined)
			}
		}
		view.Boxes = append(view.Boxes, row)
		view.Needs = append(append(view.Needs, v.needsOf(row)...), v.needsSending(m)...)
	}
	view.Days = v.daysFrom(from, whole)
	view.Wide, view.Slim = v.chartOf(view.Days, 640), v.chartOf(view.Days[max(0, len(view.Days)-7):], 330)
	today := whole[v.midnight(v.now)]
	view.Tiles = append(view.Tiles, tile{Title: v.words.T("Received today"), Figure: count(int(today.in)), Text: v.words.N(int(today.out), "%s sent")})
	view.Tiles = append(view.Tiles, v.queues(view, h.Queues))
	return nil
}

// flow is the number of mails received and sent.
type flow struct{ in, out int64 }

func (f flow) plus(t helpdesk.MailTraffic) flow { return flow{f.in + t.Received, f.out + t.Sent} }

func (v *visit) healthBox(m helpdesk.Mailbox, days []dayCount) (healthBox, error) {
	row := healthBox{Name: m.Name, URL: v.at("/settings/mailboxes/" + itoa(m.ID)), Spark: spark(days)}
	for _, d := range days {
		row.In, row.Out = row.In+d.In, row.Out+d.Out
	}
	var err error
	if row.State, err = v.liveState(m); err != nil {
		return row, err
	}
	last, err := v.InboundMails().List(v.ctx(), ledger.Filter{MailboxID: m.ID}, storage.PageRequest{Limit: 1})
	if err == nil && len(last.Items) > 0 {
		row.Last = v.since(last.Items[0].ReceivedAt)
	}
	return row, err
}

// queues fills in the queues, and returns the tile about outbound mail.
func (v *visit) queues(view *healthView, all []helpdesk.MailQueue) tile {
	var filing, sending int64
	var since time.Time
	for _, q := range all {
		filing, sending = filing+q.Filing, sending+q.Sending
		if !q.SendingSince.IsZero() && (since.IsZero() || q.SendingSince.Before(since)) {
			since = q.SendingSince
		}
	}
	out := tile{Title: v.words.T("Waiting to be sent"), Figure: count(int(sending)), Text: v.words.T("The queue is empty")}
	line := queueLine{Name: v.words.T("Sending"), N: count(int(sending))}
	if sending > 0 {
		line.Text = v.words.T("oldest %s", v.words.lasted(v.now.Sub(since)))
		out.Text = v.words.T("Oldest %s", v.words.lasted(v.now.Sub(since)))
	}
	view.Queues = []queueLine{line, {Name: v.words.T("Incoming"), N: count(int(filing))}}
	return out
}

// spark returns a line over the days, 100 by 20.
func spark(days []dayCount) string {
	most := 1
	for _, d := range days {
		most = max(most, d.In)
	}
	var b strings.Builder
	for i, d := range days {
		fmt.Fprintf(&b, "%d,%d ", i*100/max(1, len(days)-1), 19-18*d.In/most)
	}
	return strings.TrimSpace(b.String())
}

func (v *visit) needsOf(row healthBox) []need {
	var out []need
	if row.State.Class == "bad" || row.State.Class == "warn" {
		out = append(out, need{Icon: "mail", Title: v.words.T("%s is not receiving mail", row.Name), Text: row.State.Text, URL: row.URL, SignIn: row.State.Link.URL})
	}
	if row.NotImported > 0 {
		out = append(out, need{Icon: "note", Title: v.words.N(row.NotImported, "%s email could not be imported|%s emails could not be imported"), Text: row.Name, URL: v.at("/settings/ledger")})
	}
	return out
}

// daysFrom lists the days until today.
func (v *visit) daysFrom(from time.Time, counts map[time.Time]flow) []dayCount {
	var out []dayCount
	today := v.midnight(v.now)
	for day := from; !day.After(today); day = v.midnight(day.AddDate(0, 0, 1).Add(2 * time.Hour)) {
		one := dayCount{Date: v.day(day), In: int(counts[day].in), Out: int(counts[day].out), Today: day.Equal(today)}
		if one.Today {
			one.Date = v.words.T("Today")
		}
		out = append(out, one)
	}
	return out
}

// chartOf draws the mails of days.
func (v *visit) chartOf(days []dayCount, width int) chart {
	highest := 0
	var columns []column
	for _, d := range days {
		highest = max(highest, d.In, d.Out)
		columns = append(columns, column{Date: d.Date, Today: d.Today, Bars: []value{{N: float64(d.In)}, {N: float64(d.Out)}}})
	}
	c := drawColumns(columns, countScale(float64(highest)), width, v.words.rtl)
	c.Label = v.words.T("Mail received and sent per day. The table below has the numbers.")
	return c
}

// waiting fills in the conversations that have waited longest, and the numbers by waiting time.
func (v *visit) waiting(view *healthView, counts helpdesk.Counts) error {
	w := v.words
	limits := []time.Duration{time.Hour, 4 * time.Hour, 8 * time.Hour, 24 * time.Hour}
	view.Ages = []ageBar{{Text: w.T("under 1 h")}, {Text: w.T("1 to 4 h")}, {Text: w.T("4 to 8 h")}, {Text: w.T("8 to 24 h")}, {Text: w.T("over 1 d"), Bad: true}}
	oldest, read, cursor := tile{Title: w.T("Oldest waiting"), Figure: w.T("Nobody")}, 0, ""
	for {
		page, err := v.Conversations().List(v.ctx(), helpdesk.ConversationQuery{
			Statuses: []helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusPending}, Awaiting: storage.Some(true), Sort: helpdesk.ByAwaiting, Ascending: true,
		}, storage.PageRequest{Limit: storage.MaxLimit, Cursor: cursor})
		if err != nil {
			return err
		}
		for i, c := range page.Items {
			waited := v.now.Sub(c.AwaitingSince)
			if read == 0 && i == 0 {
				oldest.Figure, oldest.Text, oldest.URL, oldest.Bad = w.lasted(waited), cmp.Or(c.Subject, w.T("(no subject)")), v.at("/c/"+itoa(c.ID)), waited >= 24*time.Hour
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
			view.Cut = w.T("Based on the %s that have waited longest", read)
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
	open := tile{Title: w.T("Waiting for a reply"), Figure: count(int(counts.Waiting)), Text: w.N(int(counts.Open), "of %s open|of %s open"), URL: v.at("/inbox/all")}
	view.Tiles = append([]tile{oldest, open}, view.Tiles...)
	return nil
}
