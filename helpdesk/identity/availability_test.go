package identity_test

import (
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
)

// AwaySince says since when a member is unavailable, whatever makes them so.
func TestAwaySince(t *testing.T) {
	t.Parallel()
	at := func(day, hour, minute int) time.Time {
		return time.Date(2026, time.March, day, hour, minute, 0, 0, time.UTC)
	}
	office := []identity.WorkingHours{{Day: time.Monday, From: "09:00", To: "17:00"}, {Day: time.Friday, From: "22:00", To: "06:00"}}
	monday := at(2, 20, 0)
	made := at(1, 0, 0) // Sunday
	for name, tt := range map[string]struct {
		in     identity.Availability
		active time.Time
		made   time.Time
		now    time.Time
		onDuty bool
		want   time.Time
	}{
		"active":                            {identity.Availability{WhileInApp: true}, at(2, 19, 58), made, monday, false, time.Time{}},
		"active an hour ago":                {identity.Availability{WhileInApp: true}, at(2, 19, 0), made, monday, false, at(2, 19, 5)},
		"never active":                      {identity.Availability{WhileInApp: true}, time.Time{}, made, monday, false, made},
		"away on purpose":                   {identity.Availability{WhileInApp: true, ForceOffline: true}, at(2, 19, 58), at(2, 18, 0), monday, false, at(2, 18, 0)},
		"within hours":                      {identity.Availability{UseSchedule: true, Schedule: office}, time.Time{}, made, at(2, 16, 0), false, time.Time{}},
		"after hours":                       {identity.Availability{UseSchedule: true, Schedule: office}, time.Time{}, made, monday, false, at(2, 17, 0)},
		"after hours, but active":           {identity.Availability{UseSchedule: true, WhileInApp: true, Schedule: office}, at(2, 19, 58), made, monday, false, time.Time{}},
		"after hours and activity":          {identity.Availability{UseSchedule: true, WhileInApp: true, Schedule: office}, at(2, 18, 0), made, monday, false, at(2, 18, 5)},
		"after hours, by hours alone":       {identity.Availability{UseSchedule: true, WhileInApp: true, Schedule: office}, at(2, 19, 58), made, monday, true, at(2, 17, 0)},
		"within hours, by hours alone":      {identity.Availability{UseSchedule: true, Schedule: office}, time.Time{}, made, at(2, 9, 0), true, time.Time{}},
		"no hours, by hours alone":          {identity.Availability{WhileInApp: true}, at(2, 19, 58), made, monday, true, made},
		"after a night shift":               {identity.Availability{UseSchedule: true, Schedule: office}, time.Time{}, made, at(7, 12, 0), false, at(7, 6, 0)},
		"days later":                        {identity.Availability{UseSchedule: true, Schedule: office}, time.Time{}, made, at(8, 23, 0), false, at(7, 6, 0)},
		"in another zone":                   {identity.Availability{UseSchedule: true, Schedule: office, Timezone: "America/New_York"}, time.Time{}, made, at(2, 23, 0), false, at(2, 22, 0)},
		"hours that were set after the end": {identity.Availability{UseSchedule: true, Schedule: office}, time.Time{}, at(2, 18, 0), monday, false, at(2, 18, 0)},
	} {
		m := identity.Membership{Availability: tt.in, LastActivity: tt.active, UpdatedAt: tt.made}
		if got := m.AwaySince(tt.now, tt.onDuty); !got.Equal(tt.want) {
			t.Errorf("%s: since %v, not %v", name, got, tt.want)
		}
	}
}
