package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testenv/browser"
)

// TestDeskApp uses the desk as an app that is installed.
func TestDeskApp(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	a.Browser = browser.StartWhole(t) // the other one refuses notifications
	a.run("Push", (*agents).pushMessages)
	a.run("Stopped", (*agents).stopServer) // nothing answers from then on
}

// pushMessages switches notifications on for a device, in a browser whose push service is left out: the service worker shows
// what the desk says about a message.
func (a *agents) pushMessages() {
	origin := "http://" + a.http
	tab := a.member(browser.View{})
	tab.AllowNotifications(origin)
	tab.Open(a.at + "/settings/notifications")
	tab.Wait("[data-push=on]")
	check := newPageChecker(a.t)
	browser.Eval[any](tab, `PushManager.prototype.getSubscription = async () => null; PushManager.prototype.subscribe = async (how) => ({ toJSON: () => ({
		endpoint: "https://push.example.org/" + how.applicationServerKey.length, keys: { p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4", auth: "BTBZMqHH6r4Tts7J_aSIgg" },
	}) }); 0`)
	for _, v := range views {
		tab.Look(v.View)
		browser.Eval[any](tab, `document.querySelector("#device").scrollIntoView()`)
		look(a.t, tab, check, "push-off-"+v.name, rulesOf(v.View))
	}
	tab.Look(browser.View{})
	tab.Click("[data-push=on]")
	tab.Wait("[data-push=test]")
	for _, v := range views {
		tab.Look(v.View)
		browser.Eval[any](tab, `document.querySelector("#device").scrollIntoView()`)
		look(a.t, tab, check, "push-on-"+v.name, rulesOf(v.View))
	}
	tab.Look(browser.View{})
	tab.Click("[data-push=test]")
	testenv.Eventually(a.t, "the page says so", func() bool { return strings.Contains(seen(tab, "[data-push-said]"), "notification sent") })

	id := a.fresh("The gauge")
	a.colleague("jonas", browser.View{}).Open(fmt.Sprintf("%s/c/%d", a.at, id))
	told := func() string {
		return browser.Eval[string](tab, `navigator.serviceWorker.ready.then((worker) => worker.getNotifications()).then((all) => all.map((n) => n.title + ": " + n.body).join("; "))`)
	}
	tab.Deliver(origin, `{"account":1}`)
	testenv.Eventually(a.t, "the test is shown", func() bool { return strings.Contains(told(), "Notifications work on this device") })
	tab.Deliver(origin, `{"account":1,"notification":1}`)
	testenv.Eventually(a.t, "the notification is shown", func() bool { a.t.Log(told()); return strings.Count(told(), ";") > 0 })

	tab.Click("[data-push=off]")
	testenv.Eventually(a.t, "it is off", func() bool { return browser.Eval[bool](tab, `!document.querySelector("[data-when=off]").hidden`) })
	tab.Problems()
}

// stopServer stops the server: a page that is opened then says so, in the browser that had the desk open.
func (a *agents) stopServer() {
	tab := a.member(browser.View{})
	tab.Open(a.at + "/inbox/all")
	testenv.Eventually(a.t, "the service worker is there", func() bool {
		return browser.Eval[bool](tab, `navigator.serviceWorker.controller !== null`)
	})
	kept := browser.Eval[string](tab, `caches.keys().then(async (names) => (await Promise.all(names.map(async (name) => (await (await caches.open(name)).keys()).map((r) => new URL(r.url).pathname)))).flat().sort().join(" "))`)
	if !regexp.MustCompile(`^/desk/assets/desk\.[0-9a-f]+\.css /desk/assets/mark\.[0-9a-f]+\.svg /desk/offline$`).MatchString(kept) {
		a.t.Errorf("the browser keeps %s", kept)
	}
	tab.Open("http://" + a.http + "/desk/forgot") // a page that listens to nothing
	_ = a.cmd.Process.Kill()
	_, _ = a.cmd.Process.Wait()
	tab.Open(a.at + "/c/1")
	a.expect("the page", tab.Text("#main"), "You are offline")
	for _, v := range views {
		tab.Look(v.View)
		picture(a.t, tab, os.Getenv(testenv.EnvScreens), "offline-page-"+v.name)
	}
	tab.Problems()
}
