package helpdesk_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// Frequent answers are written once, with their files.
func ExampleAttachments_AddReplyFiles() {
	ctx := context.Background()
	_, desk, _ := exampleDesk(ctx)
	reply, err := desk.SavedReplies().Create(ctx, helpdesk.SavedReplyInput{Name: "Returns", Body: "Hello {{customer.first_name}}, please fill in the form.", Shared: storage.Some(true)})
	if err != nil {
		panic(err)
	}
	_, _ = desk.SavedReplies().CreateFile(ctx, reply.ID, helpdesk.Upload{Filename: "form.txt", Content: strings.NewReader("Name, order, reason")})

	c, _ := desk.Conversations().Create(ctx, helpdesk.ConversationInput{Channel: "email", To: "Ada Lovelace <ada@example.com>", Subject: "Your return"})
	body, _ := desk.SavedReplies().Fill(ctx, c.ID, reply.ID)
	draft, _ := desk.Interactions().Create(ctx, c.ID, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Status: helpdesk.StatusDraft, Body: body})
	files, err := desk.Attachments().AddReplyFiles(ctx, c.ID, draft.ID, reply.ID)
	fmt.Println(draft.Body)
	for _, f := range files {
		fmt.Println(f.Filename, f.SizeHuman())
	}
	fmt.Println(err)
	// Output:
	// Hello Ada, please fill in the form.
	// form.txt 19 B
	// <nil>
}
