package browser

import (
	"strconv"

	"github.com/chromedp/cdproto/input"
)

// Hand is the way a reader operates a page.
type Hand int

// The hands.
const (
	Mouse Hand = iota
	Finger
	Keyboard // only Tab, Enter and Space
)

// maxTabs limits how often Tab is pressed to reach an element.
const maxTabs = 400

// Use activates an element of the page, such as a button, a link or a check box.
func (t *Tab) Use(h Hand, selector string) {
	t.t.Helper()
	switch h {
	case Finger:
		t.tap(selector)
	case Keyboard:
		t.reach(selector)
		key := "\r"
		if Eval[bool](t, `document.activeElement.matches("summary, input[type=checkbox], input[type=radio]")`) {
			key = " "
		}
		t.Press(key)
	default:
		t.Click(selector)
	}
}

// Type replaces the text in a field.
func (t *Tab) Type(h Hand, selector, text string) {
	t.t.Helper()
	switch h {
	case Finger:
		t.tap(selector)
	case Keyboard:
		t.reach(selector)
	default:
		t.Click(selector)
	}
	Eval[any](t, `(() => { const e = document.activeElement; if (e.select) e.select(); })()`)
	t.Press(text)
}

// tap touches the middle of an element.
func (t *Tab) tap(selector string) {
	t.t.Helper()
	at := t.middle(selector)
	call(t, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: input.DispatchTouchEventTypeTouchStart, TouchPoints: []*input.TouchPoint{{X: at[0], Y: at[1]}}})
	call(t, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: input.DispatchTouchEventTypeTouchEnd, TouchPoints: []*input.TouchPoint{}})
}

// reach presses Tab until an element has the focus.
func (t *Tab) reach(selector string) {
	t.t.Helper()
	t.Wait(selector)
	for range maxTabs {
		if Eval[bool](t, `!!document.activeElement?.matches(`+strconv.Quote(selector)+`)`) {
			return
		}
		t.Press("\t")
	}
	t.t.Fatalf("%s: %s is not reached with Tab", t.at, selector)
}
