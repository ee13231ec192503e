// Package browser opens pages of this machine in Debian's Chromium, as a reader does. A test fails when a page logs an
// error, violates its Content-Security-Policy, requests something missing, or contacts another host.
//
// It is a separate package so that tests without a browser link no browser client.
package browser

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/helpwright/helpwright/storage/testenv"
)

// Browser is a running Chromium with an empty profile. It can reach only 127.0.0.1 and localhost.
type Browser struct{ ctx context.Context } //nolint:containedctx // chromedp keeps its browser in a context

// Start starts Chromium without its window, or the whole browser where the former is not installed. It ends with the test.
// Without either the test is skipped. It opens pages like the whole browser, in half the time.
func Start(t testing.TB) *Browser {
	t.Helper()
	if program, err := exec.LookPath("chromium-headless-shell"); err == nil {
		return start(t, program)
	}
	return StartWhole(t)
}

// StartWhole starts the browser that readers have, whose viewers of images and films are its own. It ends with the test.
// Without Chromium the test is skipped.
func StartWhole(t testing.TB) *Browser {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		testenv.Skip(t, "no browser: there is no chromium")
	}
	return start(t, program)
}

func start(t testing.TB, program string) *Browser {
	t.Helper()
	dir, err := os.MkdirTemp("", "browser") // not t.TempDir: a helper process may still write when the browser has ended
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.UserDataDir(filepath.Join(dir, "profile")), chromedp.Env("FONTCONFIG_FILE="+fonts(t, dir)), chromedp.DisableGPU,
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost"),
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

// fonts makes Inter, the font of the design, the system font if it is installed.
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

// View is how a reader views pages. The zero View is a desktop with light colours and scripts.
type View struct {
	Dark, Phone, Print, NoScript bool
	Tablet                       bool   // 800 px wide
	Language                     string // preferred language; "": en
}

// Tab opens a window for a reader without cookies or other state. It closes with the test.
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
	// Use a person's user agent: views by robots are not counted.
	call(tab, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{
		UserAgent: strings.ReplaceAll(version.UserAgent, "Headless", ""), AcceptLanguage: v.Language,
	})
	tab.Look(v)
	return tab
}
