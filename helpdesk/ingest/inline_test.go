package ingest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/testenv"
)

// inlineMails are the mails in testdata/inline, with the files that are shown in their text. All others are listed.
var inlineMails = map[string]struct{ shown, listed string }{
	"01a-iphone-heic-invisible":            {"", "IMG_0001.HEIC"},
	"01b-cid-photo-not-referenced":         {"", "photo.jpg"},
	"01c-apple-attachment-tag":             {"", "shot.png"},
	"01d-img-src-without-cid-scheme":       {"image001.png", ""},
	"01e-mms-photo-only":                   {"", "Resized_2024(1).jpeg"},
	"16-cid-with-space-and-css-background": {"i0.png i1.png i2.png", "i3.png i4.png"},
	"attachment-that-is-shown":             {"a.jpg", ""},
	"background-and-image":                 {"a.png", "b.png"},
	"bare-content-id":                      {"scan.png", ""},
	"bare-name-of-two":                     {"", "image.png image.png"},
	"bare-name-without-content-id":         {"My photo.png", "other.png"},
	"content-location":                     {"1.png 2.png", "c.png"},
	"heic-labelled-jpeg":                   {"", "IMG_1.jpg"},
	"heic-named":                           {"", "IMG_1.HEIC"},
	"hidden-element":                       {"d.png", "a.png b.png c.png"},
	"in-folded-quote":                      {"logo.png", "photo.png"}, // one click unfolds it
	"inline-photos-around-html":            {"", "one.jpg two.jpg"},
	"not-an-image":                         {"", "a.pdf b.png c.png"},
	"odd-content-ids":                      {"0.png 1.png 2.png 3.png 4.png 5.png 6.png", ""},
	"only-in-comments":                     {"e.png", "a.png b.png c.png d.png"}, // cleaning takes the template around it away
	"other-elements":                       {"f.png", "a.png b.png c.png d.png e.png g.png"},
	"pixel":                                {"", "a.png b.png c.png"},
	"same-content-id":                      {"a.png", "b.png"},
	"same-content-id-bare-names":           {"a.png b.png", ""},
	"svg-and-bmp":                          {"a.svg b.bmp", ""},
	"text-with-inline-photo":               {"", "photo.jpg"},
	"tiff-and-metafile":                    {"", "fax.tif a.wmf b.emf"},
}

// inAndOut returns the names of the files that a body shows, and of those that are listed.
func inAndOut(files []helpdesk.Attachment) (shown, listed []string) {
	for _, a := range files {
		if a.IsInline {
			shown = append(shown, a.Filename)
		} else {
			listed = append(listed, a.Filename)
		}
	}
	return shown, listed
}

func (b *bundle) fileInline(t *testing.T, name string) helpdesk.Interaction {
	t.Helper()
	raw := check(os.ReadFile(filepath.Join("testdata", "inline", name+".eml")))(t)
	b.take(crlf(string(raw)))
	b.outcomes(1)
	all := b.ledger()
	row := all[len(all)-1]
	return check(b.desk.Interactions().Get(t.Context(), row.ConversationID, row.InteractionID))(t)
}

// sources shows bodies with the references that drafts store.
var sources = helpdesk.BodyView{AttachmentURL: func(a helpdesk.Attachment, key string) string {
	return helpdesk.AttachmentSource(a.InteractionID, a.ID, key)
}}

// A file is left out of lists only while the body shows it: for agents, for the customer, and in what is sent on.
func TestInlineFiles(t *testing.T) {
	t.Parallel()
	found := check(filepath.Glob("testdata/inline/*.eml"))(t)
	if len(found) != len(inlineMails) {
		t.Errorf("%d mails, but %d are expected", len(found), len(inlineMails))
	}
	for name, want := range inlineMails {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			b := newBundle(t, memblob.New())
			i := b.fileInline(t, name)
			files := check(b.desk.Attachments().List(ctx, i.ConversationID, i.ID))(t)
			shown, listed := inAndOut(files)
			if diff := cmp.Diff([]string{want.shown, want.listed}, []string{strings.Join(shown, " "), strings.Join(listed, " ")}); diff != "" {
				t.Errorf("%s\nof %s", diff, i.Body)
			}
			if diff := cmp.Diff(files, check(b.desk.Attachments().Of(ctx, []int64{i.ID}))(t)); diff != "" {
				t.Errorf("read with others: %s", diff)
			}
			portal := check(b.svc.Portal(ctx, b.desk.AccountID(), "ada@client.example"))(t)
			if diff := cmp.Diff(files, check(portal.Attachments(ctx, i.ConversationID, i.ID))(t)); diff != "" {
				t.Errorf("in the portal: %s", diff)
			}
			if diff := cmp.Diff(files, check(portal.AttachmentsOf(ctx, i.ConversationID, []int64{i.ID}))(t)); diff != "" {
				t.Errorf("in the portal, read with others: %s", diff)
			}
			body := check(b.desk.Interactions().Show(ctx, []helpdesk.Interaction{i}, sources))(t)[0].HTML
			for _, a := range files {
				one, his := check(b.desk.Attachments().Get(ctx, i.ConversationID, i.ID, a.ID))(t), check(portal.Attachment(ctx, i.ConversationID, i.ID, a.ID))(t)
				if one != a || his != a {
					t.Errorf("read alone: %+v and %+v, not %+v", one, his, a)
				}
				if address := strings.TrimSuffix(helpdesk.AttachmentSource(i.ID, a.ID, ""), "@helpwright") + "."; a.IsInline && !strings.Contains(body, address) {
					t.Errorf("%s is not shown in %s", a.Filename, body)
				}
			}
			sentShown, _ := inAndOut(b.forwarded(t, i, body))
			if diff := cmp.Diff(shown, sentShown); diff != "" {
				t.Errorf("forwarded: %s", diff)
			}
		})
	}
}

// forwarded forwards a shown body and returns the files of the mail.
func (b *bundle) forwarded(t *testing.T, i helpdesk.Interaction, body string) []helpdesk.Attachment {
	t.Helper()
	forward := check(b.desk.Interactions().Create(t.Context(), i.ConversationID, helpdesk.InteractionInput{
		Type: helpdesk.TypeUser, Body: "<p>Please have a look.</p>" + body, To: []string{"supplier@parts.example"}, IsForward: true,
	}))(t)
	return check(b.outgoing.Begin(t.Context(), b.desk.AccountID(), forward.ID, 1))(t).Attachments
}

// A file that an image names without showing it goes out as an ordinary attachment, to which nothing refers.
func TestForwardOfFilesNotShown(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"heic-named": "IMG_1.HEIC", "pixel": "a.png b.png c.png"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, memblob.New())
			i := b.fileInline(t, name)
			body := check(b.desk.Interactions().Show(t.Context(), []helpdesk.Interaction{i}, sources))(t)[0].HTML
			shown, listed := inAndOut(b.forwarded(t, i, body))
			if got := strings.Join(listed, " "); got != want || len(shown) > 0 {
				t.Errorf("listed: %q, shown: %q", got, shown)
			}
		})
	}
}

// It is decided from the body as it is: after edits, merging, moving and splitting.
func TestInlineFilesFollowTheBody(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b := newBundle(t, memblob.New())
	i := b.fileInline(t, "background-and-image")
	other := b.fileInline(t, "in-folded-quote")
	look := func(what string, conversation, interaction int64, want ...string) {
		t.Helper()
		shown, listed := inAndOut(check(b.desk.Attachments().List(ctx, conversation, interaction))(t))
		if diff := cmp.Diff(want, []string{strings.Join(shown, " "), strings.Join(listed, " ")}); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	draft := check(b.desk.Interactions().Create(ctx, i.ConversationID, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Status: helpdesk.StatusDraft, Body: "See"}))(t)
	png := "\x89PNG\r\n\x1a\n0000"
	a := check(b.desk.Attachments().Create(ctx, i.ConversationID, draft.ID, helpdesk.Upload{Filename: "plan.png", IsInline: true, Content: strings.NewReader(png)}))(t)
	edit := func(body string) {
		t.Helper()
		check(b.desk.Interactions().Update(ctx, i.ConversationID, draft.ID, helpdesk.InteractionUpdate{Body: storage.Some(body)}))(t)
	}
	look("before it is named", i.ConversationID, draft.ID, "", "plan.png")
	edit(`See <img src="` + helpdesk.AttachmentSource(draft.ID, a.ID, "") + `">`)
	look("named", i.ConversationID, draft.ID, "plan.png", "")
	edit("See")
	look("removed from the text", i.ConversationID, draft.ID, "", "plan.png")

	merged := check(b.desk.Conversations().Merge(ctx, i.ConversationID, other.ConversationID))(t)
	look("merged", merged.ID, i.ID, "a.png", "b.png")
	look("merged, the other", merged.ID, other.ID, "logo.png", "photo.png")
	split := check(b.desk.Conversations().Split(ctx, merged.ID, helpdesk.SplitInput{InteractionIDs: []int64{other.ID}}))(t)
	look("split", split.ID, other.ID, "logo.png", "photo.png")
	look("split, what stayed", merged.ID, i.ID, "a.png", "b.png")
}

// The time to show a body with many images grows in proportion to them and to the files.
func TestManyInlineFiles(t *testing.T) { //nolint:paralleltest // it measures
	b := newBundle(t, memblob.New())
	testenv.Growth(t, 2<<10, func(n int) func() {
		files := make([]helpdesk.Attachment, n)
		for k := range files {
			files[k] = helpdesk.Attachment{ID: int64(k + 1), InteractionID: 1, ConversationID: 1, ContentID: fmt.Sprint(k, "@x"), ContentType: "image/png"}
		}
		i := helpdesk.Interaction{ID: 1, ConversationID: 1, Body: strings.Repeat(fmt.Sprintf(`<img src="cid:%d@x"><img src="cid:none@x">`, n-1), n)}
		return func() { b.svc.ShowBody(b.desk.AccountID(), i, files, sources) }
	})
}

// A member's note above a forwarded mail gets the images that only it shows; what nothing shows is listed at the mail.
func TestInlineFilesOfForwards(t *testing.T) {
	t.Parallel()
	b := newBundle(t, memblob.New())
	page := `<div dir="ltr">She is a pain: <img src="cid:Note%20A@x"></div><div class="gmail_quote"><div class="gmail_attr">---------- Forwarded message ---------<br>` +
		`From: Ada &lt;ada@example.com&gt;<br>Date: Mon, Jan 2, 2023 at 3:04 PM<br>Subject: The door is stuck<br>To: &lt;o@example.org&gt;<br></div><br><br>` +
		`<p>It does not open. <img src="mail.png"><img src="cid:heic@x"></p></div>`
	raw := "From: Olga <o@example.org>\nTo: support@example.org\nSubject: Fwd: The door is stuck\nMessage-ID: <f@example.org>\nMIME-Version: 1.0\n" +
		"Content-Type: multipart/related; boundary=zz\n\n--zz\nContent-Type: text/html\n\n" + page + "\n"
	for _, f := range [][3]string{{"note.png", "image/png", "note a@x"}, {"mail.png", "image/png", "mail@x"}, {"photo.heic", "image/heic", "heic@x"}, {"other.png", "image/png", "other@x"}} {
		raw += fmt.Sprintf("--zz\nContent-Type: %s; name=%s\nContent-ID: <%s>\n\nx\n", f[1], f[0], f[2])
	}
	row := b.vouched(raw+"--zz--\n", aligned("example.org"))
	all := check(b.desk.Interactions().List(t.Context(), row.ConversationID, storage.PageRequest{}))(t).Items
	var got []string
	for _, i := range all {
		shown, listed := inAndOut(check(b.desk.Attachments().List(t.Context(), row.ConversationID, i.ID))(t))
		got = append(got, fmt.Sprint(i.Type, " shows ", shown, ", lists ", listed))
	}
	want := []string{"customer shows [mail.png], lists [photo.heic other.png]", "note shows [note.png], lists []"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\nof %q", diff, all[0].Body)
	}
}
