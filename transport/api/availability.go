package api

import (
	"context"
	"net/http"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// availability as the API shows it.
type availability struct {
	IsOnline     bool      `json:"is_online"`
	ForceOffline bool      `json:"force_offline"`
	WhileInApp   bool      `json:"while_in_app"`
	UseSchedule  bool      `json:"use_schedule"`
	Schedule     *schedule `json:"schedule" description:"Null if there is none."`
	Timezone     string    `json:"timezone" description:"IANA name of the schedule's time zone."`
}

// schedule has the working hours of each day, without the days off.
type schedule struct {
	Mon *hours `json:"mon,omitempty"`
	Tue *hours `json:"tue,omitempty"`
	Wed *hours `json:"wed,omitempty"`
	Thu *hours `json:"thu,omitempty"`
	Fri *hours `json:"fri,omitempty"`
	Sat *hours `json:"sat,omitempty"`
	Sun *hours `json:"sun,omitempty"`
}

// hours are the working hours of a day.
type hours struct {
	From string `json:"from" required:"true" pattern:"^([01][0-9]|2[0-3]):[0-5][0-9]$" example:"09:00"`
	To   string `json:"to" required:"true" pattern:"^([01][0-9]|2[0-3]):[0-5][0-9]$" example:"17:30" description:"End, hh:mm. If not after from, on the next day."`
}

// days are the fields of a schedule by time.Weekday.
func (s *schedule) days() [7]**hours {
	return [7]**hours{&s.Sun, &s.Mon, &s.Tue, &s.Wed, &s.Thu, &s.Fri, &s.Sat}
}

type availabilityInput struct {
	membershipID
	ForceOffline storage.Opt[bool]     `json:"force_offline" required:"true"`
	WhileInApp   storage.Opt[bool]     `json:"while_in_app" required:"true"`
	UseSchedule  storage.Opt[bool]     `json:"use_schedule" required:"true"`
	Schedule     storage.Opt[schedule] `json:"schedule" description:"Required with use_schedule. Null or empty clears it; omitted, it stays unchanged."`
	Timezone     storage.Opt[string]   `json:"timezone" example:"Europe/Berlin" description:"IANA name. Default: UTC."`
}

func (a *api) addAvailability(t *transport.Table) {
	transport.Handle(t, a.desk, transport.Operation{
		ID: "getAvailability", Method: http.MethodGet, Path: availabilityPath, Tag: "Memberships",
		Summary:     "Retrieve a member's availability",
		Description: "Another member's needs memberships.update.",
	}, a.getAvailability)
	transport.Handle(t, a.desk, transport.Operation{
		ID: "updateAvailability", Method: http.MethodPut, Path: availabilityPath, Tag: "Memberships",
		Summary: "Update a member's availability",
		Description: "force_offline overrides the others. while_in_app: online within five minutes of the last activity. use_schedule: online " +
			"in the schedule's hours and time zone. Another member's needs memberships.update and at least that member's permissions.",
	}, a.updateAvailability)
}

func (a *api) getAvailability(ctx context.Context, d *helpdesk.Desk, in membershipID) (availability, error) {
	m, err := d.Members().Availability(ctx, in.MembershipID)
	return showAvailability(d, m), err
}

func (a *api) updateAvailability(ctx context.Context, d *helpdesk.Desk, in availabilityInput) (availability, error) {
	input := identity.AvailabilityInput{
		ForceOffline: in.ForceOffline, WhileInApp: in.WhileInApp, UseSchedule: in.UseSchedule, Timezone: in.Timezone,
	}
	if in.Schedule.IsSet() {
		var all []identity.WorkingHours
		given := in.Schedule.Or(schedule{})
		for day, h := range given.days() {
			if *h != nil {
				all = append(all, identity.WorkingHours{Day: time.Weekday(day), From: (*h).From, To: (*h).To})
			}
		}
		input.Schedule = storage.Some(all)
	}
	m, err := d.Members().SetAvailability(ctx, in.MembershipID, input)
	return showAvailability(d, m), err
}

func showAvailability(d *helpdesk.Desk, m identity.Membership) availability {
	out := availability{
		IsOnline: d.Members().Online(m), ForceOffline: m.Availability.ForceOffline, WhileInApp: m.Availability.WhileInApp,
		UseSchedule: m.Availability.UseSchedule, Timezone: m.Availability.Timezone,
	}
	if out.Timezone == "" {
		out.Timezone = "UTC"
	}
	if len(m.Availability.Schedule) > 0 {
		out.Schedule = &schedule{}
		for _, h := range m.Availability.Schedule {
			*out.Schedule.days()[h.Day] = &hours{From: h.From, To: h.To}
		}
	}
	return out
}
