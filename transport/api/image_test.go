package api_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/storage/fault"
)

const onePixel = "GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\x00\x00\x00\x2c\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02\x44\x01\x00\x3b"

// file files a mail and returns the address of its interaction.
func (w *world) file(t testing.TB, mailboxID int64, mail ledger.Incoming) string {
	t.Helper()
	row := w.receive(t, mailboxID, fmt.Sprint(mail))
	sum := sha256.Sum256([]byte(fmt.Sprint(mail)))
	mail.Identity = sum[:]
	filed, err := w.svc.Intake().File(context.Background(), w.account.ID, row, mail)
	if err != nil || filed.State != ledger.Filed {
		t.Fatal(filed, err)
	}
	return fmt.Sprintf("/accounts/%d/conversations/%d/interactions/%d", w.account.ID, filed.ConversationID, filed.InteractionID)
}

type shown struct {
	ID           int64
	Body         string
	RemoteImages int `json:"remote_images"`
}

func (w *world) shown(t testing.TB, method, path, body string) shown {
	t.Helper()
	var out shown
	rec := w.must(t, method, path, body, "Content-Type", "application/json")
	if err := json.Unmarshal(rec.Body.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func src(t testing.TB, body, attribute string) string {
	t.Helper()
	_, rest, ok := strings.Cut(body, attribute+`="`)
	if !ok {
		t.Fatalf("no %s in %s", attribute, body)
	}
	value, _, _ := strings.Cut(rest, `"`)
	return strings.ReplaceAll(value, "&amp;", "&")
}

func writes(body string) string {
	out, _ := json.Marshal(map[string]string{"type": "user", "status": "draft", "body": body})
	return string(out)
}

// Images inside a mail are shown under our own addresses, and are sent again in an answer that quotes them; the stored body
// refers to them by cid.
func TestInlineImages(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, b.open(t))
			box, err := w.desk(t).Mailboxes().Create(t.Context(), helpdesk.MailboxInput{})
			if err != nil {
				t.Fatal(err)
			}
			from := mailaddr.Address{Email: "ada@example.com"}
			at := w.file(t, box.ID, ledger.Incoming{
				Message: message.Message{
					From: []mailaddr.Address{from}, HTML: `<p>See <img src="cid:one@x" alt="it"> and <img src="cid:gone@x"></p>`,
					Attachments: []message.Part{{Filename: "a.gif", ContentType: "image/gif", ContentID: "one@x", Inline: true, Body: []byte(onePixel)}},
				},
			})
			conversation := at[:strings.LastIndex(at, "/")]
			got := w.shown(t, "GET", at, "")
			address := src(t, got.Body, "src")
			if !strings.HasPrefix(address, "/api/v1"+at+"/attachments/") || !strings.Contains(got.Body, `<img src="cid:gone@x">`) {
				t.Errorf("shown: %s", got.Body)
			}
			content := w.must(t, "GET", strings.TrimPrefix(address, "/api/v1"), "")
			if content.Body.String() != onePixel || content.Header().Get("Content-Disposition") != `inline; filename=a.gif` {
				t.Errorf("content: %q %v", content.Body, content.Header())
			}
			if rec := w.do(t, "stranger", "GET", strings.TrimPrefix(address, "/api/v1"), ""); rec.Code != http.StatusNotFound {
				t.Errorf("a stranger: %d", rec.Code)
			}

			// An agent quotes it, and a note's image by an id that is guessed right.
			note := w.shown(t, "POST", conversation, `{"type": "note", "body": "secret"}`)
			secret := w.attach(t, fmt.Sprintf("%s/%d", conversation, note.ID))
			quote := fmt.Sprintf(`<blockquote>%s<img src="%s"><img src="cid:attachment-%d-%d@helpwright"></blockquote>`, got.Body, secret.URL, note.ID, secret.ID)
			answer := w.shown(t, "POST", conversation, writes(quote))
			if src(t, answer.Body, "src") != address {
				t.Errorf("quoted: %s", answer.Body)
			}
			path := fmt.Sprintf("%s/%d", conversation, answer.ID)
			own := w.attach(t, path)
			answer = w.shown(t, "PUT", path, writes(answer.Body+`<img src="`+own.URL+`">`))
			if again := w.shown(t, "PUT", path, writes(answer.Body)); again.Body != answer.Body {
				t.Errorf("saved as shown: %s, then %s", answer.Body, again.Body)
			}
			w.shown(t, "PUT", path, `{"status": "posted"}`)
			out, err := w.svc.Outgoing().Begin(t.Context(), w.account.ID, answer.ID, 1)
			if err != nil {
				t.Fatal(err)
			}
			var sent []string
			for _, a := range out.Attachments {
				sent = append(sent, fmt.Sprintf("%d %s %t", a.InteractionID, a.ContentID, a.IsInline))
			}
			first := at[strings.LastIndex(at, "/")+1:]
			want := []string{fmt.Sprintf("%d attachment-%d@helpwright true", answer.ID, own.ID), first + " attachment-1@helpwright true"}
			if d := cmp.Diff(want, sent); d != "" {
				t.Errorf("sent along (-want +got):\n%s\n%s", d, out.HTML)
			}
			if strings.Contains(out.HTML, "attachment-"+fmt.Sprint(note.ID)+"-") || strings.Count(out.HTML, "@helpwright") != 2 {
				t.Errorf("sent: %s", out.HTML)
			}
		})
	}
}

type attached struct {
	ID  int64
	URL string
}

func (w *world) attach(t testing.TB, path string) attached {
	t.Helper()
	body := "--cut\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x.gif\"\r\n\r\n" + onePixel + "\r\n--cut\r\n" +
		"Content-Disposition: form-data; name=\"is_inline\"\r\n\r\n1\r\n--cut--\r\n"
	rec := w.must(t, "POST", path+"/attachments", body, "Content-Type", "multipart/form-data; boundary=cut")
	var out struct{ Data attached }
	if err := json.Unmarshal(rec.Body.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	return out.Data
}

// Images on other servers are loaded only through the proxy, whose addresses cannot be made up; saving a displayed body
// loses none.
func TestRemoteImages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, backends()[0].open(t))
	const remote = "https://t.example/i.gif?a=1&b=2"
	fetched := ""
	w.fetch = func(_ context.Context, address string) (helpdesk.RemoteImage, error) {
		if fetched = address; address != remote {
			return helpdesk.RemoteImage{}, fault.New(fault.NotFound, "none")
		}
		return helpdesk.RemoteImage{ContentType: "image/gif", Content: []byte(onePixel)}, nil
	}
	box, err := w.desk(t).Mailboxes().Create(t.Context(), helpdesk.MailboxInput{})
	if err != nil {
		t.Fatal(err)
	}
	at := w.file(t, box.ID, ledger.Incoming{
		Message: message.Message{
			From: []mailaddr.Address{{Email: "ada@example.com"}},
			HTML: `<p>a<img src="https://t.example/i.gif?a=1&amp;b=2" alt="b"><img src="//t.example/2.png" data-remote-src="x"><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw="></p>`,
		},
	})
	blocked := w.shown(t, "GET", at, "")
	want := `<p>a<img data-remote-src="https://t.example/i.gif?a=1&amp;b=2" alt="b"><img data-remote-src="https://t.example/2.png"><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw="></p>`
	if d := cmp.Diff(shown{ID: blocked.ID, Body: want, RemoteImages: 2}, blocked); d != "" {
		t.Errorf("blocked (-want +got):\n%s", d)
	}
	proxied := w.shown(t, "GET", at+"?remote_images=proxy", "")
	address := src(t, proxied.Body, "src")
	if !strings.HasPrefix(address, fmt.Sprintf("/api/v1/accounts/%d/image-proxy/", w.account.ID)) || strings.Contains(proxied.Body, "data-remote-src") || proxied.RemoteImages != 2 {
		t.Errorf("proxied: %+v", proxied)
	}

	image := w.do(t, "", "GET", strings.TrimPrefix(address, "/api/v1"), "")
	if image.Code != http.StatusOK || image.Body.String() != onePixel || fetched != remote {
		t.Errorf("%d %q of %s", image.Code, image.Body, fetched)
	}
	for name, value := range map[string]string{
		"Content-Type": "image/gif", "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox",
		"Cache-Control": "private, max-age=86400", "Set-Cookie": "",
	} {
		if got := image.Header().Get(name); got != value {
			t.Errorf("%s: %q", name, got)
		}
	}
	if rec := w.do(t, "", "GET", strings.TrimPrefix(address, "/api/v1"), "", "If-None-Match", image.Header().Get("ETag")); rec.Code != http.StatusNotModified {
		t.Errorf("again: %d", rec.Code)
	}
	token := address[strings.LastIndex(address, "/")+1:]
	for name, path := range map[string]string{
		"another image":   fmt.Sprintf("/accounts/%d/image-proxy/%s", w.account.ID, strings.Replace(token, ".", ".aHR0cHM6Ly94", 1)),
		"no signature":    fmt.Sprintf("/accounts/%d/image-proxy/x.aHR0cHM6Ly94", w.account.ID),
		"no token":        fmt.Sprintf("/accounts/%d/image-proxy/x", w.account.ID),
		"another account": fmt.Sprintf("/accounts/%d/image-proxy/%s", w.account.ID+1, token),
	} {
		fetched = ""
		if rec := w.do(t, "", "GET", path, ""); rec.Code != http.StatusNotFound || fetched != "" {
			t.Errorf("%s: %d, fetched %q", name, rec.Code, fetched)
		}
	}

	for name, view := range map[string]shown{"blocked": blocked, "proxied": proxied} {
		saved := w.shown(t, "POST", at[:strings.LastIndex(at, "/")], writes(view.Body))
		if saved.Body != blocked.Body || saved.RemoteImages != 2 {
			t.Errorf("%s, then saved: %s", name, saved.Body)
		}
	}
	w.must(t, "PUT", fmt.Sprintf("/accounts/%d", w.account.ID), "name=Acme&remote_images=proxy")
	if got := w.shown(t, "GET", at, ""); got.Body != proxied.Body {
		t.Errorf("where the account says so: %s", got.Body)
	}
	if got := w.shown(t, "GET", at+"?remote_images=block", ""); got.Body != blocked.Body {
		t.Errorf("blocked by the request: %s", got.Body)
	}
	for _, wrong := range []string{"PUT /accounts/1 name=Acme&remote_images=show", "GET " + at + "?remote_images=show "} {
		f := strings.SplitN(wrong, " ", 3)
		if rec := w.do(t, "owner", f[0], f[1], f[2], "Content-Type", "application/x-www-form-urlencoded"); rec.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", wrong, rec.Code)
		}
	}
}

// is_inline says that the body shows a file, whatever the mail or the uploader claims: to members, to the customer, and in
// exports.
func TestIsInline(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, b.open(t))
			box, err := w.desk(t).Mailboxes().Create(t.Context(), helpdesk.MailboxInput{})
			if err != nil {
				t.Fatal(err)
			}
			part := func(name, kind, id string) message.Part {
				return message.Part{Filename: name, ContentType: kind, ContentID: id, Inline: true, Body: []byte(onePixel)}
			}
			at := w.file(t, box.ID, ledger.Incoming{Message: message.Message{
				From: []mailaddr.Address{{Email: "ada@example.com"}}, HTML: `<p>See <img src="cid:one@x"> <img src="cid:two@x"></p>`,
				Attachments: []message.Part{part("one.gif", "image/gif", "one@x"), part("two.heic", "image/heic", "two@x"), part("three.gif", "image/gif", "three@x")},
			}})
			w.customer(t, "ada", "ada@example.com", nil)
			want := []string{"one.gif true", "three.gif false", "two.heic false"}
			check := func(who, path string) {
				t.Helper()
				rec := w.do(t, who, "GET", path, "")
				var got []string
				for _, m := range inlineForm.FindAllStringSubmatch(rec.Body.String(), -1) {
					got = append(got, m[1]+" "+m[2])
				}
				slices.Sort(got)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s, %s: %s\n%s", who, path, diff, rec.Body)
				}
			}
			var i struct {
				Customer struct{ ID int64 }
			}
			if err := json.Unmarshal(w.must(t, "GET", at+"?expand=customer", "").Body.Bytes(), &i); err != nil {
				t.Fatal(err)
			}
			for _, who := range []string{"owner", "ada"} {
				check(who, at+"?expand=attachments")
				check(who, at[:strings.LastIndex(at, "/")]+"?expand=attachments")
				check(who, at+"/attachments")
			}
			check("owner", fmt.Sprintf("/accounts/%d/customers/%d/export", w.account.ID, i.Customer.ID))
			want = []string{"three.gif false"}
			check("owner", at+"/attachments/3")
			check("ada", at+"/attachments/3")
		})
	}
}

var inlineForm = regexp.MustCompile(`"filename":"([^"]+)".*?"is_inline":(true|false)`)
