// Package freescout reads the conversations and customers of a FreeScout from files.
//
// The files are answers of its API & Webhooks module (api-docs.freescout.net, as of November 2026), as they came:
// conversations with their threads (GET /api/conversations/ID, or pages of GET /api/conversations?embed=threads), and pages
// of customers, users and mailboxes. The module tells neither saved replies nor Message-IDs.
//
// The files of threads, which fileUrl names, are looked for in the folder attachments, by the id of the attachment:
// attachments/71/crash.log, attachments/71-crash.log, attachments/71.log or attachments/71.
package freescout

import (
	"context"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/movein/foreign"
	"github.com/helpwright/helpwright/helpdesk/movein/internal/hal"
)

// Open looks through a folder, and reads all of it once.
func Open(ctx context.Context, cfg foreign.Config) (foreign.Source, error) {
	return hal.Open(ctx, cfg, hal.Dialect{
		Format: foreign.Format{Name: "freescout", Title: "FreeScout", What: "conversation", Document: "API & Webhooks module, as of November 2026"},
		Conversation: foreign.Fields{
			Kept:    []string{"closedByUser", "timelogs", "status"},
			LeftOut: []string{"type", "folderId", "threadsCount", "preview", "closedBy", "customerWaitingSince", "source"},
		},
		Thread: foreign.Fields{
			Kept:    []string{"rating", "rating_comment"},
			LeftOut: []string{"status", "action", "source", "assignedTo", "openedAt"},
		},
		Customer: foreign.Fields{
			Kept:    []string{"jobTitle"},
			LeftOut: []string{"photoType", "photoUrl", "createdAt", "updatedAt"},
		},
		Attachment:   foreign.Fields{LeftOut: []string{"size"}},
		Placeholders: strings.NewReplacer(),
	})
}
