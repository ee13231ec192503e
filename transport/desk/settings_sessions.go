package desk

import (
	"strings"

	"github.com/helpwright/helpwright/storage"
)

// maxSessions is how many of the newest sessions the profile shows.
const maxSessions = 20

// sessionRow is a session of the member.
type sessionRow struct {
	Device, Since string
	Used          string // "" if not yet
	Here          bool
	End           string // address that ends it
}

// sessions lists the member's sessions, if the desk signs users in.
func (v *visit) sessions() ([]sessionRow, error) {
	if v.h.cfg.Authenticate != nil {
		return nil, nil
	}
	admin, err := v.service().Admin(v.ctx(), v.caller)
	if err != nil {
		return nil, err
	}
	page, err := admin.Sessions(v.ctx(), storage.PageRequest{Limit: maxSessions})
	if err != nil {
		return nil, err
	}
	var rows []sessionRow
	for _, s := range page.Items {
		row := sessionRow{Device: s.Name, Since: v.words.T("since %s", v.when(s.CreatedAt)), Here: s.ID == v.caller.TokenID(), End: v.at("/settings/sessions/" + itoa(s.ID))}
		if !s.LastUsedAt.IsZero() {
			row.Used = v.words.T("last used %s", v.when(s.LastUsedAt))
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// endSession signs the member out on another device.
func (v *visit) endSession() error {
	admin, err := v.service().Admin(v.ctx(), v.caller)
	if err != nil {
		return err
	}
	if err := admin.DeleteOwnToken(v.ctx(), v.number("session")); err != nil {
		return err
	}
	return v.saved("profile", v.words.T("Session signed out"))
}

func (v *visit) endOtherSessions() error {
	admin, err := v.service().Admin(v.ctx(), v.caller)
	if err != nil {
		return err
	}
	if err := admin.EndOtherSessions(v.ctx()); err != nil {
		return err
	}
	return v.saved("profile", v.words.T("Signed out everywhere else"))
}

// device describes a browser for people: its name and its operating system.
func device(userAgent string) string {
	const most = 1000
	userAgent = userAgent[:min(len(userAgent), most)]
	named := func(names ...[2]string) string {
		for _, n := range names {
			if strings.Contains(userAgent, n[0]) {
				return n[1]
			}
		}
		return ""
	}
	// Browsers also name those that they imitate, so the most specific names come first.
	browser := named([2]string{"Edg", "Edge"}, [2]string{"OPR/", "Opera"}, [2]string{"SamsungBrowser/", "Samsung Internet"}, [2]string{"Firefox/", "Firefox"},
		[2]string{"FxiOS/", "Firefox"}, [2]string{"CriOS/", "Chrome"}, [2]string{"Chrome/", "Chrome"}, [2]string{"Safari/", "Safari"})
	system := named([2]string{"iPhone", "iPhone"}, [2]string{"iPad", "iPad"}, [2]string{"Android", "Android"}, [2]string{"Windows", "Windows"},
		[2]string{"CrOS", "ChromeOS"}, [2]string{"Mac OS X", "macOS"}, [2]string{"Linux", "Linux"})
	if browser != "" && system != "" {
		return browser + ", " + system
	}
	return browser + system
}
