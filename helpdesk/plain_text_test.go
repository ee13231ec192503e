package helpdesk_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// A plain text is shown as it was written, wherever one may stand for a body.
func TestPlainText(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.receive(opening()).ConversationID
	note := b.note(id, "first")
	ada := b.portal("ada@example.com")
	reply := must(b.desk.SavedReplies().Create(b.ctx, helpdesk.SavedReplyInput{Name: "One", Body: "first"}))(t)
	for _, text := range []string{
		"if a<b then c>d", "<b>not bold</b>", "&amp; and &lt;", "one\ntwo", "<script>alert(1)</script>", "<img src=x onerror=alert(1)>",
		"{{customer.first_name}} <3", "x", "1 < 2", "</div>", "<!-- not hidden -->",
	} {
		bodies := map[string]string{
			"created": must(b.desk.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeNote, Text: text}))(t).Body,
			"changed": must(b.desk.Interactions().Update(b.ctx, id, note.ID, helpdesk.InteractionUpdate{Text: storage.Some(text)}))(t).Body,
			"begun": b.interactions(must(b.desk.Conversations().Create(b.ctx, helpdesk.ConversationInput{
				Channel: "email", To: "ada@example.com", Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeCustomer, Text: text}},
			}))(t).ID)[0].Body,
			"of a customer": must(ada.CreateInteraction(b.ctx, id, helpdesk.PortalMessage{Text: text}))(t).Body,
			"saved":         must(b.desk.SavedReplies().Update(b.ctx, reply.ID, helpdesk.SavedReplyInput{Name: "One", Text: text}))(t).Body,
		}
		for where, body := range bodies {
			if diff := cmp.Diff(text, mailhtml.Text(body)); diff != "" {
				t.Errorf("%s: %s", where, diff)
			}
		}
	}
}

// A text and a body together are refused, as is a text that is too large.
func TestPlainTextRefused(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.receive(opening()).ConversationID
	note, large := b.note(id, "first"), strings.Repeat("<", helpdesk.MaxBody/2)
	ada := b.portal("ada@example.com")
	for name, try := range map[string]func(body, text string) error{
		"created": func(body, text string) error {
			_, err := b.desk.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: body, Text: text})
			return err
		},
		"changed": func(body, text string) error {
			_, err := b.desk.Interactions().Update(b.ctx, id, note.ID, helpdesk.InteractionUpdate{Body: storage.Some(body), Text: storage.Some(text)})
			return err
		},
		"of a customer": func(body, text string) error {
			_, err := ada.CreateInteraction(b.ctx, id, helpdesk.PortalMessage{Body: body, Text: text})
			return err
		},
		"saved": func(body, text string) error {
			_, err := b.desk.SavedReplies().Create(b.ctx, helpdesk.SavedReplyInput{Name: "One", Body: body, Text: text})
			return err
		},
	} {
		if diff := cmp.Diff(fault.Fields{"text": {"cannot be combined with body"}}, fieldsOf(try("a", "b"))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if said := fieldsOf(try("", large))["text"]; len(said) != 1 || !strings.Contains(said[0], "is larger than") {
			t.Errorf("%s: a large text: %q", name, said)
		}
	}
}
