package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testenv/browser"
)

// holdFiles keeps files that the browser sends from then on, at 42 %, until their send is called.
const holdFiles = `window.sending = []; XMLHttpRequest.prototype.send = (function (send) {
	return function (data) {
		sending.push({ send: () => send.call(this, data), fail: () => this.dispatchEvent(new ProgressEvent("error")) });
		this.upload.dispatchEvent(new ProgressEvent("progress", { lengthComputable: true, loaded: 42, total: 100 }));
	};
})(XMLHttpRequest.prototype.send); 0`

// progress shows how far files have come, stops one, and says when one does not arrive.
func (a *agents) progress() {
	id := a.fresh("The ratchet")
	tab := a.member(browser.View{})
	tab.Open(fmt.Sprintf("%s/c/%d", a.at, id))
	a.write(tab, true, "As attached.")
	testenv.Eventually(a.t, "the draft is saved", func() bool { return len(a.bodies(id)) == 2 })
	browser.Eval[any](tab, holdFiles)
	drop := func(name string) {
		a.t.Helper()
		browser.Eval[any](tab, fmt.Sprintf(`{ const d = new DataTransfer(); d.items.add(new File(["x"], %q));
			document.querySelector(".editor").dispatchEvent(new DragEvent("drop", { dataTransfer: d, bubbles: true, cancelable: true })); }`, name))
		testenv.Eventually(a.t, name+" is shown on its way", func() bool {
			got := seen(tab, ".composer .coming")
			return strings.Contains(got, name) && strings.Contains(got, "42%") && browser.Eval[int](tab, "sending.length") == 1
		})
	}
	drop("stopped.txt")
	a.looks(tab, "upload")
	tab.Look(browser.View{})
	newPageChecker(a.t).accessible(tab, "upload", allRules)
	tab.Click(`.coming [aria-label="Cancel stopped.txt"]`)
	tab.Gone(".coming")
	browser.Eval[any](tab, `sending.pop() && 0`)

	drop("lost.txt")
	browser.Eval[any](tab, `sending.pop().fail()`)
	testenv.Eventually(a.t, "the file that did not arrive is named", func() bool { return strings.Contains(seen(tab, ".toast.bad"), "lost.txt") })
	tab.Gone(".coming")

	drop("here.txt")
	browser.Eval[any](tab, `sending.pop().send()`)
	testenv.Eventually(a.t, "the file is attached", func() bool { return strings.Contains(seen(tab, "[data-list]"), "here.txt") })
	tab.Gone(".coming")
	if got := seen(tab, "[data-list]"); strings.Contains(got, "stopped.txt") || strings.Contains(got, "lost.txt") {
		a.t.Errorf("attached: %s", got)
	}
	pressButton(tab, true, "[data-send]")
	testenv.Eventually(a.t, "the reply is there with its file", func() bool { return strings.Contains(seen(tab, "#thread"), "here.txt") })

	a.opensArticle(tab, true, "/help/1/a/2")
	browser.Eval[any](tab, holdFiles)
	browser.Eval[any](tab, `{ const d = new DataTransfer(), e = document.querySelector("#article [name=text]"); e.focus(); d.items.add(new File(["x"], "manual.txt"));
		e.dispatchEvent(new ClipboardEvent("paste", { clipboardData: d, bubbles: true, cancelable: true })); }`)
	testenv.Eventually(a.t, "the file of the article is shown on its way", func() bool { return strings.Contains(seen(tab, ".coming"), "42%") })
	picture(a.t, tab, os.Getenv(testenv.EnvScreens), "upload-article")
	browser.Eval[any](tab, `sending.pop().send()`)
	tab.Gone(".coming")
	testenv.Eventually(a.t, "the file stands in the text", func() bool { return strings.Contains(valueOf(tab, "text"), "manual.txt") })
}
