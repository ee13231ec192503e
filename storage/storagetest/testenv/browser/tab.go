package browser

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Keys that [Tab.Press] takes beside letters.
const (
	Down   = kb.ArrowDown
	Escape = kb.Escape
	Next   = kb.Tab // field
)

// Tab is a window with one page at a time.
type Tab struct {
	t   testing.TB
	ctx context.Context
	at  string // what was asked for last

	mu       sync.Mutex
	problems []string
	document network.RequestID // of the page shown
}

func (t *Tab) note(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.problems = append(t.problems, fmt.Sprintf(format, args...))
}

// hear notes what must not happen on a page.
func (t *Tab) hear(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		t.note("an exception: %s %v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception)
	case *runtime.EventConsoleAPICalled:
		t.said(e)
	case *log.EventEntryAdded: // what the network says is heard below
		if e.Entry.Source != log.EntrySourceNetwork && (e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning) {
			t.note("%s: %s (%s)", e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if foreign(e.Request.URL) {
			t.note("another host is asked for %s", e.Request.URL)
		}
	case *network.EventResponseReceived:
		t.answered(e)
	case *network.EventLoadingFailed:
		if !e.Canceled {
			t.note("something was not loaded: %s %s", e.ErrorText, e.BlockedReason)
		}
	}
}

func (t *Tab) said(e *runtime.EventConsoleAPICalled) {
	switch e.Type {
	case runtime.ConsoleAPICalledTypeError, runtime.ConsoleAPICalledTypeWarning, runtime.ConsoleAPICalledTypeAssert:
		var words []string
		for _, a := range e.Args {
			words = append(words, string(a.Value)+a.Description)
		}
		t.note("the console: %s", strings.Join(words, " "))
	}
}

func (t *Tab) answered(e *network.EventResponseReceived) {
	if e.Type == network.ResourceTypeDocument {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.document = e.RequestID
		return
	}
	if e.Response.Status >= 400 {
		t.note("%s: status %d", e.Response.URL, e.Response.Status)
	}
}

// foreign reports whether an address is that of another host.
func foreign(address string) bool {
	u, err := url.Parse(address)
	return err != nil || (u.Scheme == "http" || u.Scheme == "https" || u.Scheme == "ws" || u.Scheme == "wss") && u.Hostname() != "127.0.0.1"
}

// Sound fails the test with what went wrong since it was asked last.
func (t *Tab) Sound() {
	t.t.Helper()
	for _, p := range t.Problems() {
		t.t.Errorf("%s: %s", t.at, p)
	}
}

// Problems are what went wrong since it was asked last.
func (t *Tab) Problems() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := t.problems
	t.problems = nil
	return found
}

// Do does something with the page that has to work.
func (t *Tab) Do(steps ...chromedp.Action[chromedp.Void]) {
	t.t.Helper()
	ctx, cancel := t.bounded()
	defer cancel()
	t.check(chromedp.Do(ctx, steps...))
}

// bounded is the context of one step. The first one, which opens the window, lives as long as that.
func (t *Tab) bounded() (context.Context, context.CancelFunc) {
	if t.at == "" {
		t.at = "about:blank"
		return t.ctx, func() {}
	}
	return context.WithTimeout(t.ctx, patience)
}

func (t *Tab) check(err error) {
	t.t.Helper()
	if err != nil {
		t.Sound()
		t.t.Fatalf("%s: %v", t.at, err)
	}
}

func get[T any](t *Tab, action chromedp.Action[T]) T {
	t.t.Helper()
	ctx, cancel := t.bounded()
	defer cancel()
	value, err := chromedp.Run(ctx, action)
	t.check(err)
	return value
}

func call[P, R any](t *Tab, command cdp.Command[P, R], params P) R {
	t.t.Helper()
	ctx, cancel := t.bounded()
	defer cancel()
	result, err := chromedp.Call(ctx, command, params)
	t.check(err)
	return result
}

// Look makes the reader look at pages in another way. Its language stays.
func (t *Tab) Look(v View) {
	t.t.Helper()
	size := emulation.SetDeviceMetricsOverrideParams{Width: 1440, Height: 900, DeviceScaleFactor: 1}
	if v.Phone {
		size = emulation.SetDeviceMetricsOverrideParams{Width: 390, Height: 844, DeviceScaleFactor: 2, Mobile: true}
	}
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: "light"}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}}
	if v.Dark {
		media.Features[0].Value = "dark"
	}
	if v.Print {
		media.Media = "print"
	}
	call(t, emulation.SetDeviceMetricsOverride, size)
	call(t, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: v.Phone})
	call(t, emulation.SetEmulatedMedia, media)
	call(t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: v.NoScript})
}

// Open opens a page and returns its status.
func (t *Tab) Open(address string) int64 {
	t.t.Helper()
	t.Sound()
	t.at = address
	return t.arrive(chromedp.Navigate(address))
}

// Follow clicks on what leads to another page, waits for that, and returns its status.
func (t *Tab) Follow(selector string) int64 {
	t.t.Helper()
	return t.arrive(chromedp.ScrollIntoView(chromedp.CSS(selector)), chromedp.Click(chromedp.CSS(selector)))
}

// Enter presses the key on a field that has a page of results.
func (t *Tab) Enter(selector string) int64 {
	t.t.Helper()
	return t.arrive(chromedp.Focus(chromedp.CSS(selector)), chromedp.Func(func(ctx context.Context, to *chromedp.Target) error {
		key := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: "Enter", Code: "Enter", Text: "\r", WindowsVirtualKeyCode: 13}
		if _, err := cdp.Call(ctx, to, input.DispatchKeyEvent, key); err != nil {
			return err
		}
		key.Type, key.Text = input.DispatchKeyEventTypeKeyUp, ""
		_, err := cdp.Call(ctx, to, input.DispatchKeyEvent, key)
		return err
	}))
}

func (t *Tab) arrive(steps ...chromedp.Action[chromedp.Void]) int64 {
	t.t.Helper()
	ctx, cancel := t.bounded()
	defer cancel()
	response, err := chromedp.RunResponse(ctx, steps...)
	t.check(err)
	t.at = t.Location()
	if response == nil {
		t.t.Fatalf("%s: the page that was there has changed by itself meanwhile", t.at)
	}
	return response.Status
}

// Location is the address of the page shown, without its fragment.
func (t *Tab) Location() string {
	t.t.Helper()
	at, _, _ := strings.Cut(get(t, chromedp.Location()), "#")
	return at
}

// Wait waits until what a selector names is seen.
func (t *Tab) Wait(selector string) {
	t.t.Helper()
	t.Do(chromedp.WaitVisible(chromedp.CSS(selector)))
}

// Gone waits until nothing is there that a selector names.
func (t *Tab) Gone(selector string) {
	t.t.Helper()
	t.Do(chromedp.WaitNotPresent(chromedp.CSS(selector)))
}

// Fill types a text into a field, key by key, instead of what is there.
func (t *Tab) Fill(selector, text string) {
	t.t.Helper()
	t.Wait(selector)
	Eval[any](t, "document.querySelector("+strconv.Quote(selector)+").select()")
	t.Do(chromedp.SendKeys(chromedp.CSS(selector), text))
}

// Press types on what has the focus.
func (t *Tab) Press(keys string) {
	t.t.Helper()
	t.Do(chromedp.KeyEvent(keys))
}

// Choose puts files of this machine into a field.
func (t *Tab) Choose(selector string, files ...string) {
	t.t.Helper()
	t.Do(chromedp.SetUploadFiles(chromedp.CSS(selector), files))
}

// Click clicks on something of the page.
func (t *Tab) Click(selector string) {
	t.t.Helper()
	t.Do(chromedp.ScrollIntoView(chromedp.CSS(selector)), chromedp.Click(chromedp.CSS(selector)))
}

// Text is what is seen of the first element that a selector names, on one line.
func (t *Tab) Text(selector string) string {
	t.t.Helper()
	return strings.Join(strings.Fields(get(t, chromedp.Text(chromedp.CSS(selector)))), " ")
}

// Eval is what a script on the page, or what it promises, comes to.
func Eval[T any](t *Tab, script string) T {
	t.t.Helper()
	return get(t, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
}

// Source is the page as the server sent it.
func (t *Tab) Source() []byte {
	t.t.Helper()
	t.mu.Lock()
	document := t.document
	t.mu.Unlock()
	body := call(t, network.GetResponseBody, network.GetResponseBodyParams{RequestID: document})
	return body.Body
}

// Picture writes the page into a PNG file: what is seen of it, or all.
func (t *Tab) Picture(file string, all bool) {
	t.t.Helper()
	params := page.CaptureScreenshotParams{CaptureBeyondViewport: &all, OptimizeForSpeed: new(true)}
	if all {
		m := call(t, page.GetLayoutMetrics, cdp.Empty{})
		params.Clip = &page.Viewport{Width: m.CSSContentSize.Width, Height: m.CSSContentSize.Height, Scale: 1}
	}
	png := call(t, page.CaptureScreenshot, params).Data
	if err := os.WriteFile(file, png, 0o600); err != nil {
		t.t.Fatal(err)
	}
}
