package main

import (
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testenv/browser"
)

// TestDeskTeams lets a team hand out its conversations, as a lead does, and sees why a member got one.
func TestDeskTeams(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	a.eachWay((*agents).assignment)
}

func (a *agents) assignment(tab *browser.Tab, scripts bool) {
	check, team := newPageChecker(a.t), map[bool]string{true: "1", false: "2"}[scripts]
	way := map[bool]string{true: "", false: "-plain"}[scripts]
	page := a.at + "/settings/teams/" + team
	// Some conversations go to the team, and to nobody.
	ids := map[bool][]string{true: {"11", "12", "13", "14"}, false: {"21", "22", "23", "24"}}[scripts]
	for n, id := range ids {
		a.ok(http.MethodPut, "/accounts/1/conversations/"+id, url.Values{
			"subject": {[]string{"Grinder does not start", "Wrong parcel", "Invoice", "Thank you"}[n]}, "team_id": {team}, "user_id": {""}, "status": {"posted"}, "snoozed_until": {""}, "priority": {[]string{"normal", "urgent", "high", "low"}[n]},
		}, nil)
	}
	conversation := a.at + "/c/" + ids[0]
	tab.Open(page)
	if n := browser.Eval[int](tab, "document.querySelectorAll('.team-queue li').length"); n < len(ids) {
		a.t.Errorf("%d conversations wait", n)
	}
	if !browser.Eval[bool](tab, "document.querySelector('.for-assignment').offsetParent === null") {
		a.t.Error("settings that do not apply are shown")
	}
	tab.Click(`[name=strategy][value=balanced]`)
	tab.Click(`[name=who][value=all]`)
	tab.Fill("[name=capacity]", "1000")
	tab.Click("[name=sticky]")
	tab.Click("[name=returns]")
	tab.Fill("[name=return_after]", "8")
	eachView(a.t, tab, check, "team-assignment"+way)
	tab.Look(browser.View{})
	tab.Click("#assignment .primary")
	testenv.Eventually(a.t, "it is saved", func() bool {
		return browser.Eval[bool](tab, "document.readyState === 'complete' && document.querySelector('[name=strategy][value=balanced]')?.defaultChecked === true")
	})
	testenv.Eventually(a.t, "it hands out what waits", func() bool {
		tab.Open(page)
		return browser.Eval[int](tab, "document.querySelectorAll('.team-queue li').length") == 0
	})
	if now := seen(tab, ".teammates"); !strings.Contains(now, "of 1,000 open") && !strings.Contains(now, "of 1000 open") {
		a.t.Errorf("the members show %q", now)
	}
	eachView(a.t, tab, check, "team-hands-out"+way)
	tab.Look(browser.View{})
	tab.Open(conversation)
	if now := seen(tab, "#main"); !strings.Contains(now, "gave this to") {
		a.t.Error("the history does not say why")
	}
	picture(a.t, tab, os.Getenv(testenv.EnvScreens), "team-history"+way)
	check.valid()
}
