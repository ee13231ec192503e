package api

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/sla"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// slaShown is an SLA as the API shows it.
type slaShown struct {
	ID         int64               `json:"id"`
	Name       string              `json:"name"`
	Position   int64               `json:"position" description:"A conversation is under the first SLA whose conditions it meets."`
	Match      ruleMatch           `json:"match" description:"Its conditions. None: every conversation."`
	CalendarID *int64              `json:"calendar_id" description:"Calendar whose hours count. Null: all hours."`
	FirstReply *int                `json:"first_reply" description:"Minutes until the first reply. Null: not promised."`
	NextReply  *int                `json:"next_reply" description:"Minutes until a later reply. Null: not promised."`
	Resolution *int                `json:"resolution" description:"Minutes until it is closed. Null: not promised."`
	Pauses     []helpdesk.SLAPause `json:"pauses" description:"pending, snoozed: when time stands still. In closed conversations it always does."`
	DueSoon    int                 `json:"due_soon" description:"Percent of the time after which a target is due soon."`
	CreatedAt  transport.Time      `json:"created_at"`
	UpdatedAt  transport.Time      `json:"updated_at"`
}

type slaInput struct {
	Name       string                           `json:"name" required:"true" maxLength:"100" example:"Gold"`
	Position   storage.Opt[int64]               `json:"position" minimum:"1" description:"SLAs behind it move. Default: the last."`
	Match      storage.Opt[ruleMatch]           `json:"match" description:"At most 50 conditions, about the conversation, its customer and the company."`
	CalendarID storage.Opt[int64]               `json:"calendar_id" description:"Calendar whose hours count. Null: all hours."`
	FirstReply storage.Opt[int]                 `json:"first_reply" minimum:"1" maximum:"527040" description:"Minutes until the first reply. At least one of first_reply, next_reply and resolution is required." example:"120"`
	NextReply  storage.Opt[int]                 `json:"next_reply" minimum:"1" maximum:"527040" description:"Minutes until a later reply."`
	Resolution storage.Opt[int]                 `json:"resolution" minimum:"1" maximum:"527040" description:"Minutes until it is closed."`
	Pauses     storage.Opt[[]helpdesk.SLAPause] `json:"pauses" description:"pending, snoozed: when time stands still. Default: never."`
	DueSoon    storage.Opt[int]                 `json:"due_soon" minimum:"1" maximum:"100" description:"Percent of the time. Default: 80."`
}

type slaUpdate struct {
	slaID
	Name       storage.Opt[string]              `json:"name" maxLength:"100"`
	Position   storage.Opt[int64]               `json:"position" minimum:"1" description:"Other SLAs move."`
	Match      storage.Opt[ruleMatch]           `json:"match" description:"Replaces all conditions."`
	CalendarID storage.Opt[int64]               `json:"calendar_id" description:"Null: all hours."`
	FirstReply storage.Opt[int]                 `json:"first_reply" minimum:"1" maximum:"527040" description:"Minutes. Null: not promised."`
	NextReply  storage.Opt[int]                 `json:"next_reply" minimum:"1" maximum:"527040" description:"Minutes. Null: not promised."`
	Resolution storage.Opt[int]                 `json:"resolution" minimum:"1" maximum:"527040" description:"Minutes. Null: not promised."`
	Pauses     storage.Opt[[]helpdesk.SLAPause] `json:"pauses" description:"Replaces all: pending, snoozed."`
	DueSoon    storage.Opt[int]                 `json:"due_soon" minimum:"1" maximum:"100" description:"Percent of the time."`
}

type slaID struct {
	SLAID int64 `path:"sla_id"`
}

type slaOrder struct {
	SLAs []int64 `json:"slas" required:"true" maxItems:"100" description:"Ids of all SLAs, in their new order."`
}

// conversationSLA is what was promised for a conversation.
type conversationSLA struct {
	ID      *int64   `json:"id" description:"SLA that it is under. Null: it no longer is, and these targets were met or breached before."`
	Targets []target `json:"targets" description:"Of each kind the last one."`
}

type target struct {
	Kind       sla.Kind        `json:"kind" enum:"first_reply,next_reply,resolution" description:"What it is about."`
	State      sla.State       `json:"state" enum:"running,paused,met,breached" description:"breached: not in time, whether it was done later or not."`
	StartedAt  transport.Time  `json:"started_at" description:"When its time began."`
	DueAt      *transport.Time `json:"due_at" description:"Null while it is paused."`
	Paused     int64           `json:"paused_seconds" description:"Business time of its pauses that have ended."`
	MetAt      *transport.Time `json:"met_at" description:"When it was done, in time or not."`
	BreachedAt *transport.Time `json:"breached_at" description:"When it was no longer in time."`
}

const (
	slasPath = accountPath + "/slas"
	slaPath  = slasPath + "/{sla_id}"
)

func (a *api) addSLAs(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "SLAs", Summary: summary, Description: description}
	}
	create := op("createSLA", http.MethodPost, slasPath, "Create an SLA",
		"It promises when conversations are answered and resolved, in the hours of a calendar: those that begin from now on, and those "+
			"that other SLAs watch already. Conversations from before the first SLA begin with their next question. Automatic replies meet nothing. "+
			"422 if the name is taken, ignoring case. At most 100 per account. Needs slas.create and all mailboxes.")
	create.Status = http.StatusCreated
	transport.Handle(t, a.desk, create, func(ctx context.Context, d *helpdesk.Desk, in slaInput) (slaShown, error) {
		made, err := d.SLAs().Create(ctx, slaUpdate{
			Name: storage.Some(in.Name), Position: in.Position, Match: in.Match, CalendarID: in.CalendarID, FirstReply: in.FirstReply,
			NextReply: in.NextReply, Resolution: in.Resolution, Pauses: in.Pauses, DueSoon: in.DueSoon,
		}.input())
		return showSLA(made), err
	})
	transport.HandlePage(t, a.desk, op("listSLAs", http.MethodGet, slasPath, "List SLAs", "By position. Needs slas.view."),
		func(ctx context.Context, d *helpdesk.Desk, in transport.Paging) (storage.Page[slaShown], error) {
			page, err := d.SLAs().List(ctx, in.Request())
			return mapPage(page, showSLA), err
		})
	transport.Handle(t, a.desk, op("getSLA", http.MethodGet, slaPath, "Retrieve an SLA", "Needs slas.view."),
		func(ctx context.Context, d *helpdesk.Desk, in slaID) (slaShown, error) {
			found, err := d.SLAs().Get(ctx, in.SLAID)
			return showSLA(found), err
		})
	transport.Handle(t, a.desk, op("updateSLA", http.MethodPut, slaPath, "Update an SLA",
		"Targets that run are computed again, in the background; what was met or breached stays so. Needs slas.update and all mailboxes."),
		func(ctx context.Context, d *helpdesk.Desk, in slaUpdate) (slaShown, error) {
			changed, err := d.SLAs().Update(ctx, in.SLAID, in.input())
			return showSLA(changed), err
		})
	transport.HandleEmpty(t, a.desk, op("deleteSLA", http.MethodDelete, slaPath, "Delete an SLA",
		"Its targets that run end, or another SLA takes its place. Needs slas.delete and all mailboxes."),
		func(ctx context.Context, d *helpdesk.Desk, in slaID) error { return d.SLAs().Delete(ctx, in.SLAID) })
	transport.HandleEmpty(t, a.desk, op("orderSLAs", http.MethodPut, slasPath+"/order", "Order SLAs",
		"422 unless each SLA is listed once. Needs slas.update and all mailboxes."),
		func(ctx context.Context, d *helpdesk.Desk, in slaOrder) error {
			_, err := d.SLAs().Order(ctx, in.SLAs)
			return err
		})
}

func (in slaUpdate) input() helpdesk.SLAInput {
	out := helpdesk.SLAInput{
		Name: in.Name, Position: in.Position, CalendarID: in.CalendarID, FirstReply: in.FirstReply, NextReply: in.NextReply,
		Resolution: in.Resolution, Pauses: in.Pauses, DueSoon: in.DueSoon,
	}
	if in.Match.IsSet() {
		match := in.Match.Or(ruleMatch{})
		out.All, out.Any = storage.Some(conditionsOf(match.All)), storage.Some(conditionsOf(match.Any))
	}
	return out
}

func showSLA(s helpdesk.SLA) slaShown {
	minutes := func(n int) *int {
		if n == 0 {
			return nil
		}
		return &n
	}
	return slaShown{
		ID: s.ID, Name: s.Name, Position: s.Position, Match: ruleMatch{showConditions(s.All), showConditions(s.Any)}, CalendarID: idOrNull(s.CalendarID),
		FirstReply: minutes(s.FirstReply), NextReply: minutes(s.NextReply), Resolution: minutes(s.Resolution),
		Pauses: append([]helpdesk.SLAPause{}, s.Pauses...), DueSoon: s.DueSoon, CreatedAt: transport.Time(s.CreatedAt), UpdatedAt: transport.Time(s.UpdatedAt),
	}
}

// showConversationSLA returns what was promised for a conversation; nil: nothing.
func showConversationSLA(c helpdesk.Conversation) *conversationSLA {
	targets := c.Targets()
	if c.SLAID == 0 && len(targets) == 0 {
		return nil
	}
	out := &conversationSLA{ID: idOrNull(c.SLAID), Targets: []target{}}
	for _, o := range targets {
		out.Targets = append(out.Targets, target{
			Kind: o.Kind, State: o.State, StartedAt: transport.Time(o.StartedAt), DueAt: transport.TimePtr(&o.DueAt), Paused: o.Seconds,
			MetAt: transport.TimePtr(&o.MetAt), BreachedAt: transport.TimePtr(&o.BreachedAt),
		})
	}
	return out
}
