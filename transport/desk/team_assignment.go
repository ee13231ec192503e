package desk

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/assign"
	"github.com/helpwright/helpwright/storage"
)

// queueShown is how many conversations of a queue a team's page shows.
const queueShown = 20

// teamQueueView is the queue of a team.
type teamQueueView struct {
	Rows  []queueRow
	More  bool
	Empty string // what an empty queue means
}

type queueRow struct {
	Subject, URL, Wait, Customer string
	Urgency                      urgency
}

// teammate is a member of a team with what they have to do.
type teammate struct {
	person
	Load     string // "3 of 5", or "3"
	Has, Max int    // for a gauge; Max 0: none
	State    string
	Level    string // class of the state
	Next     bool
}

// teamPolicy is the form of a team's assignment.
type teamPolicy struct {
	Strategies, Who []tick
	Capacity, After string
	Returns, Sticky bool
	On              bool
	Summary         string // for members who may not change it
}

// queueView shows the queue of a team. It needs conversations.view.
func (v *visit) queueView(t helpdesk.Team) (*teamQueueView, error) {
	page, err := v.Teams().Queue(v.ctx(), t.ID, storage.PageRequest{Limit: queueShown})
	if err != nil {
		return nil, err
	}
	var customers []int64
	for _, c := range page.Items {
		customers = append(customers, c.CustomerID)
	}
	names, err := v.customerNames(customers)
	if err != nil {
		return nil, err
	}
	view := &teamQueueView{More: page.Next != "", Empty: v.words.T("Nothing waits for this team")}
	for _, c := range page.Items {
		row := queueRow{
			Subject: cmp.Or(c.Subject, v.words.T("(no subject)")), URL: v.at("/c/" + itoa(c.ID)), Urgency: urgencyOf(v.words, c.Priority), Customer: names[c.CustomerID],
			Wait: v.words.waiting(v.now.Sub(c.QueuedSince())),
		}
		if c.AwaitingSince.IsZero() { // the customer does not wait
			row.Wait = v.words.ago(v.now.Sub(c.CreatedAt))
		}
		view.Rows = append(view.Rows, row)
	}
	return view, nil
}

// teammates shows the members of a team with their loads.
func (v *visit) teammates(t helpdesk.Team, people []person) ([]teammate, error) {
	members, err := v.Teams().Members(v.ctx(), t.ID)
	if err != nil {
		return nil, err
	}
	byID := map[int64]helpdesk.TeamMember{}
	for _, m := range members {
		byID[m.UserID] = m
	}
	var all []teammate
	for _, p := range people {
		m := byID[p.ID]
		p.Online = m.Online
		mate := teammate{person: p, Has: m.Load, Max: t.Assignment.Capacity, Load: v.words.N(m.Load, "%s open"), Next: m.Next && t.Assignment.On()}
		if mate.Max > 0 && t.Assignment.On() {
			mate.Load = v.words.T("%s of %s open", m.Load, mate.Max)
		} else {
			mate.Max = 0
		}
		mate.State, mate.Level = v.mateState(t, m)
		all = append(all, mate)
	}
	return all, nil
}

// mateState says whether a member counts as available for a team.
func (v *visit) mateState(t helpdesk.Team, m helpdesk.TeamMember) (text, class string) {
	on, here := t.Assignment.On(), m.Online
	if on && t.Assignment.Who != assign.All {
		here = m.Here
	}
	switch {
	case !m.Able:
		return v.words.T("May not reply"), "bad"
	case on && m.Full:
		return v.words.T("Full"), "warn"
	case here:
		return v.words.T("Available"), "ok"
	case on && t.Assignment.Who == assign.Scheduled:
		return v.words.T("Not at work"), ""
	}
	return v.words.T("Offline"), ""
}

// policyView is the form of a team's assignment.
func (v *visit) policyView(p assign.Policy) teamPolicy {
	p = p.WithDefaults()
	view := teamPolicy{
		Returns: p.WhenUnavailable == assign.Return, After: strconv.Itoa(p.ReturnAfter), Sticky: p.Sticky, On: p.On(),
		Strategies: []tick{
			{string(assign.None), v.words.T("Nobody: members take them themselves"), false},
			{string(assign.RoundRobin), v.words.T("Members in turn"), false},
			{string(assign.Balanced), v.words.T("The member with the fewest open conversations"), false},
		},
		Who: []tick{
			{string(assign.Available), v.words.T("Members who are online"), false},
			{string(assign.Scheduled), v.words.T("Members within their working hours"), false},
			{string(assign.All), v.words.T("All members, at any time"), false},
		},
	}
	if p.Capacity > 0 {
		view.Capacity = strconv.Itoa(p.Capacity)
	}
	for n := range view.Strategies {
		view.Strategies[n].On = view.Strategies[n].ID == string(p.Strategy)
	}
	for n := range view.Who {
		view.Who[n].On = view.Who[n].ID == string(p.Who)
	}
	for _, s := range view.Strategies {
		if s.On {
			view.Summary = s.Text
		}
	}
	return view
}

// sentPolicy reads the form of a team's assignment. What is no number is refused as a limit.
func (v *visit) sentPolicy() helpdesk.AssignmentInput {
	count := func(name string) int {
		n, err := strconv.Atoi(strings.TrimSpace(v.r.PostFormValue(name)))
		if err != nil {
			return -1
		}
		return n
	}
	in := helpdesk.AssignmentInput{
		Strategy:        storage.Some(assign.Strategy(v.r.PostFormValue("strategy"))),
		Who:             storage.Some(assign.Who(v.r.PostFormValue("who"))),
		WhenUnavailable: storage.Some(assign.Keep),
		Capacity:        storage.Null[int](),
		Sticky:          storage.Some(v.r.PostFormValue("sticky") != ""),
	}
	if strings.TrimSpace(v.r.PostFormValue("capacity")) != "" {
		in.Capacity = storage.Some(count("capacity"))
	}
	if v.r.PostFormValue("returns") != "" {
		in.WhenUnavailable, in.ReturnAfter = storage.Some(assign.Return), storage.Some(count("return_after"))
	}
	return in
}

// sentAs returns the policy that was sent, to show it again.
func sentAs(in helpdesk.AssignmentInput) assign.Policy {
	return assign.Policy{
		Strategy: in.Strategy.Or(""), Who: in.Who.Or(""), WhenUnavailable: in.WhenUnavailable.Or(""), ReturnAfter: in.ReturnAfter.Or(0), Sticky: in.Sticky.Or(false),
	}
}

// saveAssignment sets how a team hands out its conversations.
func (v *visit) saveAssignment() error {
	t, err := v.Teams().Get(v.ctx(), v.number("id"))
	if err != nil {
		return err
	}
	_, err = v.Teams().Update(v.ctx(), t.ID, helpdesk.TeamInput{Name: t.Name, Assignment: v.sentPolicy()})
	if problems := v.problems(err); len(problems) > 0 {
		return v.showTeam(t.Name, problems, http.StatusUnprocessableEntity)
	}
	return v.unless(err, "teams/"+itoa(t.ID), v.words.T("Saved"))
}
