package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testenv/browser"
)

// story is the first day of a team: its server, the mail servers around it, and Maya's window with the hand that she works
// with.
type story struct {
	*process
	*browser.Tab
	hand     browser.Hand
	windows  *browser.Browser
	dovecot  testenv.DovecotServer
	postfix  testenv.PostfixServer
	box      string // user of the mailbox at Dovecot
	customer string // box of the customer at Postfix
	lise     string // and of the colleague
	desk     string // address of the account's pages
	about    string // address of the customer's conversation
}

// TestStory sets a server up in the browser and lives through a day at it: with real mail servers, with a mouse, on a phone
// by touch, and by the keyboard alone.
func TestStory(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		hand browser.Hand
		view browser.View
	}{
		"Mouse": {browser.Mouse, browser.View{}}, "Touch": {browser.Finger, browser.View{Phone: true}}, "Keyboard": {browser.Keyboard, browser.View{Dark: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &story{hand: tt.hand, dovecot: testenv.Dovecot(t), postfix: testenv.Postfix(t), box: testenv.Name("story"), customer: testenv.Name("nora"), lise: testenv.Name("lise")}
			appendAll(t, s.dovecot, s.box, nil)
			s.process = newServer(t, "HELPWRIGHT_BOOTSTRAP_TOKEN=", "HELPWRIGHT_ALLOW_PRIVATE_HOSTS=true", "HELPWRIGHT_FETCH_INTERVAL=2s", "HELPWRIGHT_SMTP_URL=smtp://"+s.postfix.Addr+"?tls=none")
			s.windows = browser.Start(t)
			s.Tab = s.windows.Tab(t, tt.view)
			t.Cleanup(s.keepPicture)
			s.desk = "http://" + s.http + "/desk/a/1"
			for _, part := range []func(*story){
				(*story).setsUp, (*story).isTold, (*story).answersWithImage, (*story).hearsBack, (*story).isWarned, (*story).writesArticle, (*story).closesMany,
			} {
				part(s)
			}
		})
	}
}

// keepPicture saves a picture of the window at the end of the story, if requested.
func (s *story) keepPicture() {
	if folder := os.Getenv("HELPWRIGHT_TEST_SCREENS"); folder != "" {
		s.Picture(filepath.Join(folder, strings.ReplaceAll(s.t.Name(), "/", "-")+".png"), false)
	}
}

// use and write are the member's manual actions.
func (s *story) use(selector string)         { s.t.Helper(); s.Tab.Use(s.hand, selector) }
func (s *story) write(selector, text string) { s.t.Helper(); s.Tab.Type(s.hand, selector, text) }

// shows waits until a page shows a text, without being loaded again.
func (s *story) shows(tab *browser.Tab, selector, text string) {
	s.t.Helper()
	testenv.Eventually(s.t, fmt.Sprintf("%s shows %q", selector, text), func() bool { return strings.Contains(seen(tab, selector), text) })
}

// picks chooses an option by the letter that it begins with.
func (s *story) picks(selector, letter string) {
	s.t.Helper()
	browser.Eval[any](s.Tab, fmt.Sprintf("document.querySelector(%q).focus()", selector))
	s.Press(letter)
}

// comes has a mail arrive in the mailbox.
func (s *story) comes(subject, text, more string) {
	s.t.Helper()
	raw := fmt.Sprintf("From: Nora Finch <%s>\nTo: support@example.org\nSubject: %s\nMessage-ID: <%s@box.test>\n%sMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n\n%s\n",
		s.postfix.Box(s.customer), subject, testenv.Name("m"), more, text)
	appendAll(s.t, s.dovecot, s.box, []folderMail{{"INBOX", crlf(raw)}})
}

// gets waits for the nth mail of a box.
func (s *story) gets(box string, n int) *mail.Message {
	s.t.Helper()
	var all []string
	testenv.Eventually(s.t, fmt.Sprintf("mail %d reaches %s", n, box), func() bool {
		all = s.postfix.Mails(s.t, box)
		return len(all) >= n
	})
	m, err := mail.Parse([]byte(all[n-1]), mail.Limits{})
	if err != nil {
		s.t.Fatal(err)
	}
	return m
}

// setsUp goes from the printed link to the inbox, and has a colleague join by the mail.
func (s *story) setsUp() {
	testenv.Eventually(s.t, "the link is printed", func() bool { return setUpLink.MatchString(s.stdout.String()) })
	s.Open(setUpLink.FindString(s.stdout.String()))
	s.write("[name=name]", "Maya Lind")
	s.write("[name=email]", "maya@example.org")
	s.write("[name=password]", "correct horse")
	s.use(".acts .primary")
	s.Wait("[autocomplete=organization]")
	s.write("[name=name]", "Halden")
	s.use(".acts .primary")
	s.Wait(".found")
	host, port, _ := net.SplitHostPort(s.dovecot.Addr)
	s.write("[name=email]", "support@example.org")
	s.write("[name=password]", s.dovecot.Password)
	s.use(".found summary")
	s.write("[name=host]", host)
	s.write("[name=port]", port)
	s.picks("[name=encryption]", "N")
	s.write("[name=username]", s.box)
	s.use(".acts .primary")
	s.shows(s.Tab, ".checks", "Signed in")
	s.use("[value=start]")
	s.Wait("[name=addresses]")
	s.write("[name=addresses]", s.postfix.Box(s.lise))
	s.use(".acts .primary")
	s.Wait("#list")
}

// isTold is shown a mail and its notification while they come.
func (s *story) isTold() {
	s.comes("The grinder stopped", "It makes a noise & smells.", "")
	s.shows(s.Tab, "#list", "The grinder stopped") // an empty list fills itself
	bell := "#bell"
	if s.hand == browser.Finger {
		bell = "#tabs a[href$='/notifications']"
	}
	s.shows(s.Tab, bell+" small", "1")
	s.use(bell)
	row := "#notices li button, #list .told button"
	s.shows(s.Tab, row, "The grinder stopped")
	s.use(row)
	s.shows(s.Tab, "#thread", "It makes a noise & smells.")
	s.about = s.Location()
}

// answersWithImage sends an answer with a picture, which reaches the customer.
func (s *story) answersWithImage() {
	picture := filepath.Join(s.t.TempDir(), "lever.png")
	var content bytes.Buffer
	shot := image.NewRGBA(image.Rect(0, 0, 40, 30))
	shot.Set(3, 3, color.RGBA{200, 10, 10, 255})
	if err := png.Encode(&content, shot); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(picture, content.Bytes(), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.write(".editor", "Is the lever up?")
	s.Choose(".composer [name=file]", picture)
	s.shows(s.Tab, ".composer .files", "lever.png")
	s.use("[data-send]")
	s.shows(s.Tab, "#thread", "Is the lever up?")
	got := s.gets(s.customer, 1)
	if !strings.Contains(got.Text, "Is the lever up?") || len(got.Attachments) != 1 || !bytes.Equal(got.Attachments[0].Body, content.Bytes()) {
		s.t.Errorf("the customer got %q with %d files", got.Text, len(got.Attachments))
	}
}

// hearsBack sees the customer's reply come into the open conversation.
func (s *story) hearsBack() {
	sent := s.gets(s.customer, 1)
	s.comes("Re: The grinder stopped", "It is up.", "In-Reply-To: <"+sent.MessageID+">\n")
	s.shows(s.Tab, "#thread", "It is up.")
	if n := len(s.postfix.Mails(s.t, s.customer)); n != 1 {
		s.t.Errorf("the customer has %d mails", n)
	}
}

// isWarned is warned that a colleague, who has joined by the mail, was faster.
func (s *story) isWarned() {
	link := regexp.MustCompile(`http://\S+/invitations/hwi_[A-Z2-7]+`).FindString(s.gets(s.lise, 1).Text)
	lise := s.windows.Tab(s.t, browser.View{})
	lise.Open(link)
	lise.Fill("[name=name]", "Lise Berg")
	lise.Fill("[name=password]", "correct horse")
	lise.Follow(".primary")
	lise.Open(s.about)
	s.write(".editor", "Please send it")
	s.shows(lise, "#presence", "Maya")
	lise.Click(".editor")
	lise.Press("Push it down.")
	lise.Click("[data-send]")
	s.shows(lise, "#thread", "Push it down.")
	s.use("[data-send]")
	s.Wait(".crossing")
	s.Problems() // the status 409
	if at := s.Location(); strings.HasSuffix(at, "/send") {
		s.t.Errorf("the address of the page became that of the form: what happens next loads it anew")
	}
	s.shows(s.Tab, ".crossing", "Lise")
	s.use(".crossing [data-close]")
	s.Gone(".crossing[open]")
	s.write(".editor", " back, please. ")
	s.shows(s.Tab, ".editor", "back, please.") // before the existing text, or after it
}

// writesArticle makes an article of an answer while another one is begun, translates and publishes it, and links to it; a
// reader finds it in their language.
func (s *story) writesArticle() {
	s.Open(s.desk + "/help")
	s.Wait("main [name=path]")
	s.write("main [name=name]", "Halden Help")
	s.use(".acts .primary")
	s.use("a.adds[href$='/collections/new']")
	s.Wait("#main [name=name-en]")
	s.write("#main [name=name-en]", "Machines")
	s.use("#main .acts .primary, #main .top .primary")
	s.shows(s.Tab, ".collections", "Machines")
	s.Open(s.about)
	s.shows(s.Tab, ".editor", "back, please.")
	s.use(".message.agent:not(:has(.read)) [href*='/help/write']")
	s.Wait("#article [name=text]")
	s.write("#article [name=name]", "When the grinder stops")
	s.use("[form=article][value=publish]")
	s.Wait("#langs")
	s.use("#langs summary")
	s.write("#langs [name=to]", "de")
	s.use("#langs form button")
	s.Wait("#units")
	s.write("#units [name=name]", "Wenn die Mühle steht")
	s.write("#units .unit:not(.named, .summed) textarea", "Ist der Hebel oben?")
	s.use("[form=article][value=publish]")
	testenv.Eventually(s.t, "the translation is published", func() bool { // not only begun, or saved as a draft
		return strings.Contains(seen(s.Tab, "#langs [aria-current].ok"), "Deutsch") && strings.Contains(seen(s.Tab, "#tag"), "Live")
	})
	s.Open(s.about)
	s.use("[title='Link an article']")
	s.write(".composer [name=article]", "grinder")
	s.use(".composer [formaction$='/article']")
	s.shows(s.Tab, ".editor", "When the grinder stops")
	s.use("[data-send]")
	text := s.gets(s.customer, 3).Text
	link := regexp.MustCompile(`http://[^\s>]+/halden[^\s>]*/en/[^\s>]+`).FindString(text)
	if link == "" {
		s.t.Fatalf("no link to the article is in %q", text)
	}
	reader := s.windows.Tab(s.t, browser.View{Phone: true, Language: "de"})
	reader.Open(link)
	s.shows(reader, "h1", "When the grinder stops")
	reader.Open(strings.Replace(link, "/en/", "/de/", 1))
	s.shows(reader, "h1", "Wenn die Mühle steht")
}

// closesMany closes all new conversations at once, and undoes it.
func (s *story) closesMany() {
	for n := range 3 {
		s.comes(fmt.Sprintf("Question %d", n+1), "Well?", "")
	}
	s.Open(s.desk + "/inbox/unassigned") // they come while it is loaded
	listed := func() int { return strings.Count(seen(s.Tab, "#list"), "Question") }
	testenv.Eventually(s.t, "they are listed", func() bool { // at once in an empty list, or when asked for
		if listed() < 3 && browser.Eval[bool](s.Tab, `Boolean(document.querySelector("#fresh:not([hidden])"))`) {
			s.use("#fresh:not([hidden])")
			s.Tab.Gone("#fresh:not([hidden])")
		}
		return listed() >= 3
	})
	s.use("#list .row .tick input")
	s.use("#all")
	s.use(".selection [value=close]")
	s.shows(s.Tab, ".toast", "Closed 3")
	testenv.Eventually(s.t, "they are out of the list", func() bool { return !strings.Contains(seen(s.Tab, "#list"), "Question") })
	s.use(".toast button")
	testenv.Eventually(s.t, "they are open again", func() bool { return listed() >= 3 })
}
