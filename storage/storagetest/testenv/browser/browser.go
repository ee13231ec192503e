// Package browser opens pages of this machine in Debian's Chromium, as a reader does. A test fails when a page logs an
// error, breaks its Content-Security-Policy, asks for what is not there, or asks another host for anything.
//
// It is a package of its own so that tests without a browser link no client of one.
package browser

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/helpwright/helpwright/storage/storagetest/testenv"
)

// patience is how long the browser may take for one step. It is a bound, and no measurement.
const patience = 60 * time.Second

// Browser is a running Chromium with an empty profile. It reaches 127.0.0.1 only.
type Browser struct{ ctx context.Context }

// Start starts a browser that ends with the test, or skips the test where there is none.
func Start(t testing.TB) *Browser {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		testenv.Skip(t, "no browser: there is no chromium")
	}
	dir, err := os.MkdirTemp("", "browser") // not t.TempDir: a helper process may still write when the browser has ended
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.UserDataDir(filepath.Join(dir, "profile")), chromedp.Env("FONTCONFIG_FILE="+fonts(t, dir)), chromedp.DisableGPU,
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-domain-reliability", true),
		chromedp.Flag("hide-scrollbars", true), chromedp.Flag("font-render-hinting", "none"),
	)
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium's sandbox refuses root
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(allocator)
	t.Cleanup(end)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("chromium: %v", err)
	}
	return &Browser{ctx}
}

// fonts makes Inter, which the pictures of the design are set in, the font of the system where it is installed.
func fonts(t testing.TB, dir string) string {
	t.Helper()
	file := filepath.Join(dir, "fonts.conf")
	const config = `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>
<include ignore_missing="yes">/etc/fonts/fonts.conf</include>
<match target="pattern"><test name="family" qual="any"><string>system-ui</string></test><edit name="family" mode="prepend" binding="strong"><string>Inter</string></edit></match>
<match target="pattern"><test name="family" qual="any"><string>sans</string></test><edit name="family" mode="prepend" binding="strong"><string>Inter</string></edit></match>
<match target="pattern"><test name="family" qual="any"><string>sans-serif</string></test><edit name="family" mode="prepend" binding="strong"><string>Inter</string></edit></match>
</fontconfig>
`
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// View is how a reader looks at pages. The zero View is a desktop in light colours, with scripts.
type View struct {
	Dark, Phone, Print, NoScript bool
	Language                     string // that the browser asks for; "": en
}

// Tab opens a window for a reader of whom no site knows anything yet. It closes with the test.
func (b *Browser) Tab(t testing.TB, v View) *Tab {
	t.Helper()
	tab := &Tab{t: t}
	ctx, end := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext(), chromedp.WithListener(tab.hear))
	tab.ctx = ctx
	t.Cleanup(func() {
		tab.Sound()
		end()
	})
	tab.Do()
	version, err := chromedp.CallBrowser(ctx, browser.GetVersion, cdp.Empty{})
	if err != nil {
		t.Fatalf("chromium: %v", err)
	}
	if v.Language == "" {
		v.Language = "en"
	}
	// Readers are people: views of robots are not counted.
	call(tab, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{
		UserAgent: strings.ReplaceAll(version.UserAgent, "Headless", ""), AcceptLanguage: v.Language,
	})
	tab.Look(v)
	return tab
}
