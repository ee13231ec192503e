package browser

import (
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/serviceworker"
	"github.com/chromedp/chromedp"

	"github.com/helpwright/helpwright/storage/testenv"
)

// AllowNotifications allows an origin to show notifications, as a reader does whom the page asks.
func (t *Tab) AllowNotifications(origin string) {
	t.t.Helper()
	_, err := chromedp.CallBrowser(t.ctx, browser.SetPermission, browser.SetPermissionParams{
		Permission: &browser.PermissionDescriptor{Name: "notifications"}, Setting: browser.PermissionSettingGranted, Origin: origin,
		BrowserContextID: chromedp.FromContext(t.ctx).BrowserContextID,
	})
	t.check(err)
}

// Deliver gives a push message to the service worker of an origin, as the browser's push service would.
func (t *Tab) Deliver(origin, message string) {
	t.t.Helper()
	call(t, serviceworker.Enable, cdp.Empty{})
	var id serviceworker.RegistrationID
	for range int(testenv.Patience / (50 * time.Millisecond)) {
		t.mu.Lock()
		id = t.worker
		t.mu.Unlock()
		if id != "" {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	call(t, serviceworker.DeliverPushMessage, serviceworker.DeliverPushMessageParams{Origin: origin, RegistrationID: id, Data: message})
}

// works records the service worker of the page.
func (t *Tab) works(e *serviceworker.EventWorkerRegistrationUpdated) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range e.Registrations {
		if !r.IsDeleted {
			t.worker = r.RegistrationID
		}
	}
}
