package main

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/smtp"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testenv/browser"
)

// hostileDesk is a desk whose mailbox receives hostile mails, with the window of their reader.
type hostileDesk struct {
	*process
	*browser.Tab
	box    mailboxView
	at     string // address of the account's pages
	looked looked // at all pages together
}

// looked is the result of inspecting the mails on a page.
type looked struct {
	Messages, Frames, Elements, Links int
	Files                             []string // addresses
	Problems                          []string
}

// perPage is how many mails a page shows.
const perPage = 40

// TestHostileMailsInTheDesk opens every hostile mail of the repository in the desk, in a real browser with scripts enabled:
// none of them runs code, sends requests, leaves its box, or navigates the window. With HELPWRIGHT_TEST_MEASURE=1 the real
// mails of the corpus are included, which takes minutes.
func TestHostileMailsInTheDesk(t *testing.T) {
	t.Parallel()
	d := newHostileDesk(t)
	d.canary()
	mails := slices.Concat(designedMails(testenv.HostileHTML()), designedMails(testenv.GreedyHTML()), designedMails(fuzzSeeds(t, "../../helpdesk/mailhtml/testdata/fuzz")),
		hostileHeads(), hostileTypes(), rawSeeds(t, "../../helpdesk/mail/testdata/fuzz/FuzzParse"))
	for _, m := range wildMails(t) {
		mails = append(mails, m.raw)
	}
	if measuring() {
		mails = append(mails, realMails(t)...)
	}
	d.file(mails)
	d.lists()
	d.details()
	d.read()
}

// realMails returns the mails of the corpus, if it exists next to the repository.
func realMails(t *testing.T) (mails [][]byte) {
	t.Helper()
	corpus, ok := testenv.FindCorpus(t)
	if !ok {
		t.Fatal("there is no corpus to measure with")
	}
	err := filepath.WalkDir(corpus, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".eml" {
			return err
		}
		raw, err := os.ReadFile(path)
		mails = append(mails, raw)
		return err
	})
	if err != nil || len(mails) < 100 {
		t.Fatal(len(mails), err)
	}
	return mails
}

func newHostileDesk(t *testing.T) *hostileDesk {
	t.Helper()
	d := &hostileDesk{process: newServer(t, "HELPWRIGHT_INTAKE_DOMAIN=in.desk.example")}
	d.box = d.mailbox(url.Values{"name": {"Support"}, "email": {wildSupport}})
	const password = "correct horse battery"
	d.ok("PUT", "/user", url.Values{"name": {"Agent"}, "password": {password}}, nil)
	var me object[struct{ Email string }]
	d.ok("GET", "/user", nil, &me)
	d.at = "http://" + d.http + "/desk/a/1"
	d.Tab = browser.StartWhole(t).Tab(t, browser.View{})
	d.Open("http://" + d.http + "/desk/sign-in")
	d.Fill("[name=email]", me.Data.Email)
	d.Fill("[name=password]", password)
	d.Follow(".door .primary")
	return d
}

// file has mails come in, and waits until each is filed or refused.
func (d *hostileDesk) file(mails [][]byte) {
	d.t.Helper()
	client, err := smtp.Dial(d.intake)
	if err != nil {
		d.t.Fatal(err)
	}
	defer client.Close()
	taken := 0
	for n, raw := range mails {
		err := sendOne(client, "eve@evil.example", d.box.InternalEmailAddress, raw)
		if err != nil { // a mail that is refused at the door opens nowhere
			d.t.Logf("mail %d is refused: %v", n, err)
			if err := client.Reset(); err != nil {
				d.t.Fatal(err)
			}
			continue
		}
		taken++
	}
	testenv.Eventually(d.t, "every mail is filed", func() bool { return len(ledgerOf(d.process, d.box.ID, "received")) == 0 })
	d.t.Logf("%d of %d mails came in, %d were ignored, %d quarantined", taken, len(mails),
		len(ledgerOf(d.process, d.box.ID, "ignored")), len(ledgerOf(d.process, d.box.ID, "quarantined")))
}

func sendOne(client *smtp.Client, from, to string, raw []byte) error {
	if err := client.Mail(from); err != nil {
		return err
	}
	if err := client.Rcpt(to); err != nil {
		return err
	}
	w, err := client.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(raw); err != nil {
		return err
	}
	return w.Close()
}

// lists opens the pages that name mails, their senders and their files.
func (d *hostileDesk) lists() {
	for _, path := range []string{"/inbox/all", "/inbox/all?sort=newest", "/inbox/all?sort=oldest", "/inbox/closed", "/search?q=evil", "/customers", "/notifications", "/settings/ledger", "/new?to=%22%3E%3Cscript%3Ealert(1)%3C/script%3E"} {
		d.look(path, 0)
	}
}

// details opens the details and sources of the newest mails, which have hostile headers.
func (d *hostileDesk) details() {
	list := d.conversations()
	for _, c := range list[:min(12, len(list))] {
		i := d.interactions(c.ID)[0]
		for _, path := range []string{"", "/i/" + strconv.FormatInt(i.ID, 10), "/i/" + strconv.FormatInt(i.ID, 10) + "/source"} {
			d.look(fmt.Sprintf("/c/%d%s", c.ID, path), 0)
		}
	}
}

// read puts the mails together, many into one conversation, and opens each on its page and in its frame.
func (d *hostileDesk) read() {
	for page := range slices.Chunk(d.conversations(), perPage) {
		into := page[0].ID
		for _, c := range page[1:] {
			d.ok("POST", fmt.Sprintf("/accounts/1/conversations/%d/merge", c.ID), url.Values{"into": {strconv.FormatInt(into, 10)}}, nil)
		}
		d.look(fmt.Sprintf("/c/%d?all=1", into), len(page))
		d.openFiles()
	}
	d.t.Logf("%d mails shown, %d of them in frames: %d elements, %d links, %d files", d.looked.Messages, d.looked.Frames, d.looked.Elements, d.looked.Links, len(d.looked.Files))
}

// look opens a page, unfolds everything on it, triggers events, and returns problems.
func (d *hostileDesk) look(path string, least int) {
	d.t.Helper()
	d.Open(d.at + path)
	got := browser.Eval[looked](d.Tab, "("+lookScript+")()")
	if got.Messages < least {
		d.t.Errorf("%s: %d messages of %d are shown", path, got.Messages, least)
	}
	for _, p := range got.Problems {
		d.t.Errorf("%s: %s", path, p)
	}
	at, _, _ := strings.Cut(d.at+path, "?")
	if now, _, _ := strings.Cut(d.Location(), "?"); now != at {
		d.t.Errorf("%s led to %s", path, now)
	}
	d.Sound()
	d.looked.Messages += got.Messages
	d.looked.Frames += got.Frames
	d.looked.Elements += got.Elements
	d.looked.Links += got.Links
	d.looked.Files = append(d.looked.Files, got.Files...)
}

// openFiles opens the files on the current page, each in a frame: executable ones are saved instead.
func (d *hostileDesk) openFiles() {
	d.t.Helper()
	for _, p := range browser.Eval[[]string](d.Tab, "("+filesScript+")()") {
		d.t.Error(p)
	}
	d.Sound()
}

// canary does on a page what mails must not do, to prove that the checks work.
func (d *hostileDesk) canary() {
	d.t.Helper()
	var made object[struct{ ID int64 }]
	d.ok("POST", "/accounts/1/conversations", url.Values{"channel": {"email"}, "to": {"ada@example.com"}, "interactions[0][type]": {"customer"}, "interactions[0][body]": {"Hello."}}, &made)
	d.Open(fmt.Sprintf("%s/c/%d", d.at, made.Data.ID))
	got := browser.Eval[looked](d.Tab, `(() => { document.querySelector("#thread .text").innerHTML = '<img src=x onerror=alert(1)><form></form><img src="https://evil.example/x.png"><a href="javascript:alert(1)">x</a><i id=out>x</i>';
		const out = document.getElementById("out").style; out.position = "fixed"; out.top = "0"; out.left = "0"; return (`+lookScript+`)(); })()`)
	said, heard := strings.Join(got.Problems, "\n"), strings.Join(d.Problems(), "\n")
	for _, want := range []string{"an element form", "a link to javascript:", "leaves its place", "has onerror"} {
		if !strings.Contains(said, want) {
			d.t.Fatalf("the test does not see %q:\n%s", want, said)
		}
	}
	for _, want := range []string{"another host is asked for https://evil.example", "Content Security Policy"} {
		if !strings.Contains(heard, want) {
			d.t.Fatalf("the test does not hear %q:\n%s", want, heard)
		}
	}
}

// lookScript unfolds the mails on a page and triggers events, also in their frames, and looks for forbidden content in them
// and on the page around them.
const lookScript = `async () => {
	const found = { Messages: 0, Frames: 0, Elements: 0, Links: 0, Files: [], Problems: [] };
	const problem = (where, what) => { if (found.Problems.length < 30) found.Problems.push(where + ": " + what); };
	for (const d of document.querySelectorAll("#thread details")) d.open = true;
	const frames = [...document.querySelectorAll("iframe.mail")];
	const loaded = frame => frame.contentDocument?.readyState === "complete" && frame.contentWindow.location.href !== "about:blank";
	for (const frame of frames) frame.loading = "eager";
	for (let wait = 0; wait < 4800 && !frames.every(loaded); wait++) await new Promise(then => setTimeout(then, 50));
	const places = [...document.querySelectorAll("#thread .text")].map(place => ({ where: place.closest("li").id, place, frame: false }));
	for (const frame of frames) {
		const where = frame.closest("li").id;
		if (!loaded(frame)) { problem(where, "its frame is not loaded"); continue; }
		for (const d of frame.contentDocument.querySelectorAll("details")) d.open = true;
		places.push({ where, place: frame.contentDocument.body, frame: true });
	}
	const never = new Set(["script", "style", "form", "input", "textarea", "select", "button", "iframe", "frame", "object", "embed", "applet", "meta", "base", "link", "svg", "math", "template", "audio", "video", "source", "dialog", "marquee"]);
	const kinds = ["mouseover", "mouseenter", "focus", "focusin", "blur", "animationstart", "animationend", "transitionend", "toggle", "load", "error", "input", "change", "pointerdown", "keydown", "wheel", "play", "begin", "beforetoggle"];
	for (const { where, place, frame } of places) {
		const box = place.getBoundingClientRect();
		const clipped = frame || getComputedStyle(place).overflowX !== "visible" || /paint|content|strict/.test(getComputedStyle(place).contain);
		found.Frames += frame ? 1 : 0;
		for (const e of place.querySelectorAll("*")) {
			found.Elements++;
			if (never.has(e.localName) || e.localName.includes(":")) problem(where, "an element " + e.localName);
			if (e.namespaceURI !== "http://www.w3.org/1999/xhtml") problem(where, "an element of " + e.namespaceURI);
			for (const a of e.attributes) {
				if (/^on|^(style|srcset|ping|srcdoc|formaction|action|background|poster|popover|data-swap|data-key)$/i.test(a.name)) problem(where, e.localName + " has " + a.name + "=" + a.value.slice(0, 80));
				if (a.name === "id" && !frame && !document.getElementById(a.value).closest("#thread .text")) problem(where, "has the id " + a.value + " of the page");
			}
			if (e.localName === "a" && e.hasAttribute("href")) {
				found.Links++;
				if (!["http:", "https:", "mailto:", "tel:"].includes(e.protocol)) problem(where, "a link to " + e.href.slice(0, 80));
				if (e.target !== "_blank" || !e.rel.includes("noopener")) problem(where, "a link that takes the window: " + e.outerHTML.slice(0, 120));
			}
			if (e.localName === "img" && e.hasAttribute("src") && new URL(e.src).origin !== location.origin && !/^data:image\/(png|jpeg|gif|webp|avif);/.test(e.src)) problem(where, "an image of " + e.src.slice(0, 80));
			const style = getComputedStyle(e);
			if (style.position === "fixed" || style.position === "absolute" || style.position === "sticky") problem(where, e.localName + " leaves its place, " + style.position);
			if (/url\(|image-set/.test(style.backgroundImage + style.listStyleImage + style.cursor + style.content)) problem(where, "an image in a style");
			if (!clipped) for (const r of e.getClientRects()) {
				if (r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1 || r.bottom > box.bottom + 1) { problem(where, e.localName + " leaves its place, " + [r.left - box.left, r.top - box.top, r.right - box.right, r.bottom - box.bottom].map(Math.round)); break; }
			}
			for (const kind of kinds) e.dispatchEvent(new Event(kind, { bubbles: false, cancelable: true }));
		}
	}
	found.Messages = document.querySelectorAll("#thread .message").length;
	found.Files = [...document.querySelectorAll("#thread .files a")].map(a => a.href);
	for (const name of document.querySelectorAll(".files b, #thread header b, h1, .row .who, .row .what b")) if (/[\u202a-\u202e\u2066-\u2069\u0000-\u0008]/.test(name.textContent)) problem(name.textContent.slice(0, 60), "turns what is beside it");
	for (const name of document.querySelectorAll(".files b")) if (name.scrollWidth > name.clientWidth + 1 && getComputedStyle(name).overflowX !== "visible") problem(name.textContent.slice(0, 60), "hides how it ends");
	if (document.documentElement.scrollWidth > innerWidth) problem("the page", "is wider than the window by " + (document.documentElement.scrollWidth - innerWidth));
	for (const id of ["composer", "thread", "main", "sidebar", "head"]) if (document.querySelectorAll("#" + id).length > 1) problem("the page", "has several " + id);
	for (const s of document.scripts) if (!new URL(s.src).pathname.startsWith("/desk/assets/")) problem("the page", "has a script " + s.outerHTML.slice(0, 80));
	for (const s of document.querySelectorAll("[style], style")) if (!s.closest("#thread .text") && !s.matches("iframe.mail")) problem("the page", "has a style " + s.outerHTML.slice(0, 80));
	await new Promise(then => setTimeout(then, 100)); // what was stirred may ask for something
	return found;
}`

// filesScript opens the files of a page in frames, and checks how they are sent.
const filesScript = `async () => {
	const problems = [], safe = /^(image\/(png|jpeg|gif|webp|avif)|audio\/(mpeg|ogg)|video\/(mp4|webm)|text\/plain; charset=utf-8)$/;
	await Promise.all([...document.querySelectorAll("#thread .files a")].map(async a => {
		const answer = await fetch(a.href), h = name => answer.headers.get(name) || "";
		const kind = h("Content-Type"), kept = h("Content-Disposition").startsWith("attachment");
		if (!answer.ok || !kept && !safe.test(kind) || h("X-Content-Type-Options") !== "nosniff" || !/default-src 'none'.*sandbox$/.test(h("Content-Security-Policy")))
			problems.push(a.textContent + ": " + [answer.status, kind, h("Content-Disposition"), h("Content-Security-Policy")].join(", "));
		const frame = document.createElement("iframe");
		const shown = new Promise(then => { frame.onload = then; setTimeout(then, kept ? 300 : 3000); });
		frame.src = a.href;
		document.body.append(frame);
		await shown;
		frame.remove();
	}));
	return problems;
}`

// designedMails are mails with each piece as it is, and in the layout of a mail that is shown in a frame.
func designedMails(pieces []string) [][]byte {
	var mails [][]byte
	for n, p := range pieces {
		for _, body := range []string{p, `<table width="600" bgcolor="#ffffff"><tr><td>` + p} {
			mails = append(mails, hostileMail(fmt.Sprintf("Piece %d", n), "Content-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: base64\n", lines64(body)))
		}
	}
	return mails
}

// hostileMail returns a mail of a sender without a conversation.
func hostileMail(subject, head, body string) []byte {
	name := testenv.Name("eve")
	from := fmt.Sprintf("Eve <%s@evil.example>", name)
	if strings.HasPrefix(head, "From:") {
		from, head, _ = strings.Cut(strings.TrimPrefix(head, "From: "), "\n")
	}
	return []byte(crlf(fmt.Sprintf("From: %s\nTo: %s\nSubject: %s\nMessage-ID: <%s@evil.example>\nMIME-Version: 1.0\n%s\n%s\n", from, wildSupport, subject, name, head, body)))
}

// lines64 is base64 in lines of mail.
func lines64(text string) string {
	var out strings.Builder
	for line := range slices.Chunk([]byte(base64.StdEncoding.EncodeToString([]byte(text))), 76) {
		out.Write(append(line, '\n'))
	}
	return out.String()
}

// hostileHeads are mails whose senders, subjects and other fields want more than to be read.
func hostileHeads() [][]byte {
	var mails [][]byte
	for _, text := range []string{
		`</title><script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `'-alert(1)-'`, `{{.}}{{template "layout"}}<%= 1 %>${alert(1)}`, `javascript:alert(1)`,
		"\u202egpj.exe \u2066x", strings.Repeat("Z\u0335\u0321\u0310\u0306\u0352\u031a", 60), strings.Repeat("\ufdfd", 60), strings.Repeat("x", 900), "\u200b\u200d\ufeff\u2060", "=?utf-8?B?PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==?=",
		"=?utf-8?Q?=00=0D=0ABcc:_x@evil.example?=", "\U0001F468\u200d\U0001F469\u200d\U0001F467\u200d\U0001F466" + strings.Repeat("\u20e3", 40),
	} {
		name := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text)
		mails = append(mails, hostileMail(text, fmt.Sprintf("From: \"%s\" <eve-head-%d@evil.example>\nCc: \"%s\" <cc@evil.example>\nReply-To: \"%s\" <reply@evil.example>\nList-Id: %s\nContent-Type: text/plain; charset=utf-8\n",
			name, len(mails), name, name, text), text))
	}
	return mails
}

// hostileTypes are mails whose parts are mislabelled, or contain something that a browser would run.
func hostileTypes() [][]byte {
	const script = `<script>alert(1)</script><img src=x onerror=alert(1)><img src="https://evil.example/x.png">`
	const svg = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="40" height="40" onload="alert(1)"><script>alert(1)</script><image href="https://evil.example/x.png"/></svg>`
	const xml = `<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="https://evil.example/x.xsl"?><html xmlns="http://www.w3.org/1999/xhtml"><script>alert(1)</script></html>`
	var mails [][]byte
	for _, kind := range []string{
		"text/html; charset=utf-7", "text/html; charset=\"utf-8\\\"><script>alert(1)</script>\"", "text/html; charset=x-user-defined", "text/html; charset=iso-2022-jp", "text/html; charset=utf-16", "TEXT/HTML",
		"text/plain; charset=utf-7", "text/plain", "text/html\nContent-Type: text/plain", "text/plain\nContent-Type: text/html", "text/html; name=photo.png", "text/enriched", "text/xml", "application/xhtml+xml", "image/svg+xml", "text/javascript", "text/css",
		"application/pdf; name=x.html", "message/rfc822", "message/external-body; access-type=URL; URL=\"https://evil.example/\"", "multipart/x-mixed-replace; boundary=b",
	} {
		mails = append(mails, hostileMail("Of the type "+strings.Fields(kind)[0], "Content-Type: "+kind+"\n", "\n+ADw-script+AD4-alert(1)+ADw-/script+AD4-\n"+script+"\n--b\nContent-Type: text/html\n\n"+script+"\n--b--"))
	}
	part := func(kind, name, content string) string {
		return fmt.Sprintf("--b\nContent-Type: %s; name=\"%s\"\nContent-Disposition: attachment; filename=\"%s\"\nContent-Transfer-Encoding: base64\n\n%s", kind, name, name, lines64(content))
	}
	for _, f := range []struct{ kind, name, content string }{
		{"text/html", "x.html", script}, {"text/html", "photo.png", script}, {"image/png", "photo.png", script}, {"image/png; charset=x", "x.html", script}, {"IMAGE/SVG+XML", "logo.svg", svg}, {"image/png", "logo.svg", svg},
		{"application/xhtml+xml", "x.xhtml", xml}, {"text/xml", "x.xml", xml}, {"text/plain", "x.txt", script}, {"text/plain", "x.html", script}, {"text/javascript", "x.js", "alert(1)"}, {"application/octet-stream", "x.htm", script},
		{"multipart/related", "x.mht", script}, {"application/x-shockwave-flash", "x.swf", script}, {"text/cache-manifest", "x", script}, {"application/pdf", "invoice\u202efdp.exe", "MZ"}, {"application/pdf", "invoice.pdf" + strings.Repeat(" ", 200) + ".exe", "MZ"},
		{"application/pdf", strings.Repeat("invoice", 30) + ".pdf.exe", "MZ"}, {"image/jpeg", `"><img src=x onerror=alert(1)>.jpg`, "x"}, {"image/gif", "../../../x.gif", "GIF89a" + script}, {"text/html; charset=utf-7", "con.html", "+ADw-script+AD4-alert(1)+ADw-/script+AD4-"},
		{"video/mp4", "x.mp4", script}, {"audio/mpeg", "x.mp3", script}, {"image/webp, text/html", "x.webp", script}, {"text/html;image/png", "x.png", script}, {"*/*", "x", script}, {"", "x", script}, {"text/calendar", "x.ics", script}, {"text/vcard", "x.vcf", script},
	} {
		inside := part(f.kind, f.name, f.content)
		shown := strings.Replace(inside, "Content-Disposition: attachment", "Content-ID: <x@evil.example>\nContent-Disposition: inline", 1)
		text := "--b\nContent-Type: text/html\n\n<p>See <img src=\"cid:x@evil.example\"></p>\n"
		mails = append(mails, hostileMail("With a file", "Content-Type: multipart/mixed; boundary=b\n", text+inside+"--b--"), hostileMail("With an image", "Content-Type: multipart/related; boundary=b\n", text+shown+"--b--"))
	}
	return mails
}

// fuzzSeeds are the texts among the seeds of fuzz targets.
func fuzzSeeds(t *testing.T, dir string) []string {
	t.Helper()
	var texts []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		file, err := os.ReadFile(path)
		for line := range strings.Lines(string(file)) {
			quoted, isText := strings.CutPrefix(strings.TrimSpace(line), "string(")
			if !isText {
				quoted, isText = strings.CutPrefix(strings.TrimSpace(line), "[]byte(")
			}
			if text, err := strconv.Unquote(strings.TrimSuffix(quoted, ")")); isText && err == nil {
				texts = append(texts, text)
			}
		}
		return err
	})
	if err != nil || len(texts) == 0 {
		t.Fatal(len(texts), err)
	}
	return texts
}

// rawSeeds returns fuzz seeds that are mails, with a sender added if missing.
func rawSeeds(t *testing.T, dir string) [][]byte {
	t.Helper()
	var mails [][]byte
	for n, text := range fuzzSeeds(t, dir) {
		if !strings.Contains(text, "From:") {
			text = fmt.Sprintf("From: eve-seed-%d@evil.example\r\n", n) + text
		}
		mails = append(mails, []byte(text))
	}
	return mails
}
