package browser

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/serviceworker"
	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/helpwright/helpwright/storage/testenv"
)

// Keys that [Tab.Press] accepts besides letters.
const (
	Down   = kb.ArrowDown
	Escape = kb.Escape
	Next   = kb.Tab // field
)

// Tab is a window with one page at a time.
type Tab struct {
	t   testing.TB
	ctx context.Context //nolint:containedctx // chromedp keeps its tab in a context
	at  string          // last requested address

	mu       sync.Mutex
	problems []string
	document network.RequestID // of the page shown
	frame    cdp.FrameID       // of the page itself
	worker   serviceworker.RegistrationID
}

func (t *Tab) note(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.problems = append(t.problems, fmt.Sprintf(format, args...))
}

// hear records events that must not happen on a page.
func (t *Tab) hear(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		t.note("an exception: %s %v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception)
	case *runtime.EventConsoleAPICalled:
		t.said(e)
	case *log.EventEntryAdded: // network messages are handled below
		if e.Entry.Source != log.EntrySourceNetwork && (e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning) {
			t.note("%s: %s (%s)", e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if foreign(e.Request.URL) {
			t.note("another host is asked for %s", e.Request.URL)
		}
	case *network.EventResponseReceived:
		t.answered(e)
	case *serviceworker.EventWorkerRegistrationUpdated:
		t.works(e)
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
		if t.frame == "" {
			t.frame = e.FrameID
		}
		if e.FrameID == t.frame { // not of a frame inside the page
			t.document = e.RequestID
		}
		return
	}
	if e.Response.Status >= 400 {
		t.note("%s: status %d", e.Response.URL, e.Response.Status)
	}
}

// foreign reports whether an address belongs to another host.
func foreign(address string) bool {
	u, err := url.Parse(address)
	return err != nil || (u.Scheme == "http" || u.Scheme == "https" || u.Scheme == "ws" || u.Scheme == "wss") && u.Hostname() != "127.0.0.1" && u.Hostname() != "localhost"
}

// Sound fails the test with the problems since the last call.
func (t *Tab) Sound() {
	t.t.Helper()
	for _, p := range t.Problems() {
		t.t.Errorf("%s: %s", t.at, p)
	}
}

// Problems returns the problems since the last call.
func (t *Tab) Problems() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := t.problems
	t.problems = nil
	return found
}

// Do runs steps on the page, which must succeed.
func (t *Tab) Do(steps ...chromedp.Action[chromedp.Void]) {
	t.t.Helper()
	ctx, cancel := t.bounded()
	defer cancel()
	t.check(chromedp.Do(ctx, steps...))
}

// bounded returns the context for one step. The first step opens the window, and its context lives as long as the window.
func (t *Tab) bounded() (context.Context, context.CancelFunc) {
	if t.at == "" {
		t.at = "about:blank"
		return t.ctx, func() {}
	}
	return context.WithTimeout(t.ctx, testenv.Patience)
}

// on runs steps on an element. It repeats them while the page replaces the element between its look-up and the first thing
// that is done to it.
func (t *Tab) on(steps ...chromedp.Action[chromedp.Void]) {
	t.t.Helper()
	ctx, cancel := t.bounded()
	defer cancel()
	for {
		err := chromedp.Do(ctx, steps...)
		e, ok := errors.AsType[*cdproto.Error](err)
		gone := ok && (strings.HasPrefix(e.Message, "Could not find node") || strings.HasPrefix(e.Message, "No node with given id"))
		if !gone || ctx.Err() != nil {
			t.check(err)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
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

// Look changes the view of the reader, except its language.
func (t *Tab) Look(v View) {
	t.t.Helper()
	size := emulation.SetDeviceMetricsOverrideParams{Width: 1440, Height: 900, DeviceScaleFactor: 1}
	if v.Phone {
		size = emulation.SetDeviceMetricsOverrideParams{Width: 390, Height: 844, DeviceScaleFactor: 2, Mobile: true}
	}
	if v.Tablet {
		size.Width = 800
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

// HoldPasskeys gives the window an authenticator that holds passkeys, and whose holder agrees to everything at once.
func (t *Tab) HoldPasskeys() {
	t.t.Helper()
	call(t, webauthn.Enable, webauthn.EnableParams{})
	call(t, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
		Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: webauthn.AuthenticatorTransportInternal,
		HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true,
	}})
}

// Open opens a page and returns its status.
func (t *Tab) Open(address string) int64 {
	t.t.Helper()
	t.Sound()
	t.at = address
	return t.arrive(chromedp.Navigate(address))
}

// Follow clicks on a link or button that leads to another page, waits for it, and returns its status.
func (t *Tab) Follow(selector string) int64 {
	t.t.Helper()
	return t.arrive(chromedp.ScrollIntoView(chromedp.CSS(selector)), chromedp.Click(chromedp.CSS(selector)))
}

// Enter presses the Enter key in a field whose form leads to another page, and returns its status.
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

// Location returns the address of the page shown, without its fragment.
func (t *Tab) Location() string {
	t.t.Helper()
	at, _, _ := strings.Cut(get(t, chromedp.Location()), "#")
	return at
}

// Place returns the path of the page, with its fragment; "" while another page takes its place.
func (t *Tab) Place() string {
	t.t.Helper()
	ctx, cancel := t.bounded()
	defer cancel()
	at, err := chromedp.Run(ctx, chromedp.Evaluate[string]("location.pathname + location.hash"))
	if e, ok := errors.AsType[*cdproto.Error](err); ok && strings.HasPrefix(e.Message, "Inspected target navigated") {
		return ""
	}
	t.check(err)
	return at
}

// Wait waits until the selected element is visible.
func (t *Tab) Wait(selector string) {
	t.t.Helper()
	t.on(chromedp.WaitVisible(chromedp.CSS(selector)))
}

// Gone waits until no selected element exists.
func (t *Tab) Gone(selector string) {
	t.t.Helper()
	t.Do(chromedp.WaitNotPresent(chromedp.CSS(selector)))
}

// Fill replaces the text in a field, key by key.
func (t *Tab) Fill(selector, text string) {
	t.t.Helper()
	t.Wait(selector)
	Eval[any](t, "document.querySelector("+strconv.Quote(selector)+").select()")
	t.Do(chromedp.SendKeys(chromedp.CSS(selector), text))
}

// Press types into the focused element.
func (t *Tab) Press(keys string) {
	t.t.Helper()
	t.Do(chromedp.KeyEvent(keys))
}

// Control presses a letter together with the Ctrl key, and with Shift if the letter is a capital.
func (t *Tab) Control(letter rune) {
	t.t.Helper()
	upper := unicode.ToUpper(letter)
	key := input.DispatchKeyEventParams{
		Type: input.DispatchKeyEventTypeRawKeyDown, Key: string(letter), Code: "Key" + string(upper), WindowsVirtualKeyCode: int64(upper), Modifiers: 2, // Ctrl
	}
	if letter == upper {
		key.Modifiers |= 8 // Shift
	}
	call(t, input.DispatchKeyEvent, key)
	key.Type = input.DispatchKeyEventTypeKeyUp
	call(t, input.DispatchKeyEvent, key)
}

// Choose selects files of this machine in a field.
func (t *Tab) Choose(selector string, files ...string) {
	t.t.Helper()
	t.Do(chromedp.SetUploadFiles(chromedp.CSS(selector), files))
}

// Click clicks on an element of the page.
func (t *Tab) Click(selector string) {
	t.t.Helper()
	at := t.middle(selector)
	t.Do(chromedp.MouseClickXY(at[0], at[1]))
}

// middle waits until an element is visible and nothing covers it, scrolls to it, and returns its middle. All that happens in
// one script, between whose parts the page cannot replace the element.
func (t *Tab) middle(selector string) (at [2]float64) {
	t.t.Helper()
	ctx, cancel := t.bounded()
	defer cancel()
	script := "(" + middleScript + ")(" + strconv.Quote(selector) + ")"
	for {
		found, err := chromedp.Run(ctx, chromedp.Evaluate[[]float64](script))
		if len(found) == len(at) {
			return [2]float64(found)
		}
		if _, leaving := errors.AsType[*cdproto.Error](err); err != nil && (!leaving || ctx.Err() != nil) { // a page that is left runs no script
			t.t.Logf("looking for %s", selector)
			t.check(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

const middleScript = `selector => {
	const e = document.querySelector(selector);
	if (!e?.checkVisibility({ visibilityProperty: true })) return [];
	e.scrollIntoViewIfNeeded();
	const r = e.getClientRects()[0];
	if (!r) return [];
	const at = [r.x + r.width / 2, r.y + r.height / 2], top = document.elementFromPoint(...at);
	return top && (e.contains(top) || top.contains(e) || e.labels && [...e.labels].some(l => l.contains(top))) ? at : [];
}`

// Text returns the visible text of the first selected element, on one line.
func (t *Tab) Text(selector string) string {
	t.t.Helper()
	t.Wait(selector)
	return strings.Join(strings.Fields(Eval[string](t, "document.querySelector("+strconv.Quote(selector)+")?.innerText ?? ''")), " ")
}

// Eval returns the result of a script on the page, after awaiting a promise.
func Eval[T any](t *Tab, script string) T {
	t.t.Helper()
	return get(t, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
}

// Source returns the page as the server sent it.
func (t *Tab) Source() []byte {
	t.t.Helper()
	t.mu.Lock()
	document := t.document
	t.mu.Unlock()
	body := call(t, network.GetResponseBody, network.GetResponseBodyParams{RequestID: document})
	return body.Body
}

// Picture writes the page to a PNG file: the visible part, or all of it.
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
