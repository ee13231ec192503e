// Package helpscout reads the conversations, customers and saved replies of a Help Scout account from files.
//
// Help Scout exports no conversations; its API does. The files are answers of the Mailbox API 2.0
// (developer.helpscout.com/mailbox-api, as of November 2026), as they came: conversations with their threads (GET
// /v2/conversations/ID?embed=threads), or pages of conversations and for each its threads as threads/ID.json; and pages of
// customers, users and mailboxes, and saved replies, each asked for by its id, as lists have but a preview.
//
// The files of threads are looked for in the folder attachments, by the id of the attachment: attachments/88/crash.log,
// attachments/88-crash.log, attachments/88.log or attachments/88. The API tells no Message-IDs.
package helpscout

import (
	"context"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/movein/foreign"
	"github.com/helpwright/helpwright/helpdesk/movein/internal/hal"
)

// Open looks through a folder, and reads all of it once.
func Open(ctx context.Context, cfg foreign.Config) (foreign.Source, error) {
	return hal.Open(ctx, cfg, hal.Dialect{
		Format: foreign.Format{Name: "helpscout", Title: "Help Scout", What: "conversation", Document: "Mailbox API 2.0, as of November 2026"},
		Conversation: foreign.Fields{
			Kept:    []string{"snooze", "closedByUser", "nextEvent", "status"},
			LeftOut: []string{"_links", "type", "folderId", "threads", "preview", "closedBy", "customerWaitingSince", "source", "aiSummary"},
		},
		Thread: foreign.Fields{
			Kept:    []string{"rating", "scheduled"},
			LeftOut: []string{"_links", "status", "action", "source", "assignedTo", "savedReplyId", "openedAt", "linkedConversationId"},
		},
		Customer: foreign.Fields{
			Kept:    []string{"gender", "jobTitle", "location", "age"},
			LeftOut: []string{"_links", "photoType", "photoUrl", "photo", "conversationCount", "createdAt", "updatedAt", "organizationId", "draft"},
		},
		Attachment: foreign.Fields{LeftOut: []string{"_links", "hash", "width", "height", "size", "state"}},
		Placeholders: strings.NewReplacer(
			"{%customer.firstName%}", "{{customer.first_name}}", "{%customer.fullName%}", "{{customer.name}}",
			"{%user.fullName%}", "{{agent.name}}", "{%user.firstName%}", "{{agent.name}}",
			"{%conversation.number%}", "{{conversation.number}}", "{%conversation.subject%}", "{{conversation.subject}}",
		),
	})
}
