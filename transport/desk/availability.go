package desk

import (
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
)

// ownAvailability returns the member's own membership and when it counts as online. Members who see others have it from the
// list that other pages read too.
func (v *visit) ownAvailability() (identity.Membership, error) {
	if v.may(identity.MembershipsView) {
		all, err := v.memberships()
		if err != nil {
			return identity.Membership{}, err
		}
		for _, m := range all {
			if m.UserID == v.UserID() {
				return m, nil
			}
		}
	}
	return v.Membership(v.ctx())
}

// setAvailability makes the member away, or available again while they use the desk. Their schedule stays.
func (v *visit) setAvailability() error {
	m, err := v.Membership(v.ctx())
	if err != nil {
		return err
	}
	away := v.r.PostFormValue("away") != ""
	in := identity.AvailabilityInput{
		ForceOffline: storage.Some(away), WhileInApp: storage.Some(m.Availability.WhileInApp), UseSchedule: storage.Some(m.Availability.UseSchedule),
	}
	if m.Availability.UseSchedule {
		in.Schedule = storage.Some(m.Availability.Schedule)
	} else if !away {
		in.WhileInApp = storage.Some(true)
	}
	if _, err := v.Members().SetAvailability(v.ctx(), m.ID, in); err != nil {
		return err
	}
	text := v.words.T("You are available")
	if away {
		text = v.words.T("You are away. Conversations can still be assigned to you.")
	}
	v.say(toast{Text: text})
	return v.see(v.back(v.at("/")))
}
