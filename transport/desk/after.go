package desk

import (
	"cmp"
	"net/url"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
)

// afterSending is where the member wants to be led after sending.
func (v *visit) afterSending() identity.AfterSending {
	return cmp.Or(v.user.Preferences.AfterSending, identity.AfterSendingStay)
}

// leadOn returns where a form that was sent leads. A choice that the member changed in it becomes their preference.
func (v *visit) leadOn(conversation, interaction int64, closed bool) (string, error) {
	after := v.afterSending()
	if now := identity.AfterSending(v.r.PostFormValue("after")); knownAfter(now) {
		after = now
		if shown := v.r.PostFormValue("after_shown"); string(now) != shown && now != v.user.Preferences.AfterSending {
			in := identity.PreferencesUpdate{AfterSending: storage.Some(now)}
			if err := v.changeMe(identity.UserUpdate{Preferences: in}); err != nil {
				return "", err
			}
		}
	}
	here := v.talk(conversation, v.r.PostFormValue("in"))
	switch {
	case after == identity.AfterSendingList:
		return v.safe(v.r.PostFormValue("list"), here), nil
	case after == identity.AfterSendingNext || closed:
		return v.safe(v.r.PostFormValue("next"), here), nil
	}
	return here + "#m" + itoa(interaction), nil
}

// talk returns the address of a conversation as opened from a list.
func (v *visit) talk(conversation int64, list string) string {
	at := v.at("/c/" + itoa(conversation))
	if list != "" {
		at += "?in=" + url.QueryEscape(list)
	}
	return at
}
