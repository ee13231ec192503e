package transport

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// auditEntry as the API shows it.
type auditEntry struct {
	ID         int64          `json:"id"`
	Action     string         `json:"action" example:"membership.updated"`
	Resource   string         `json:"resource" description:"Noun of what it was done to." example:"membership"`
	ResourceID int64          `json:"resource_id"`
	UserID     *int64         `json:"user_id" description:"Who did it, or tried; null: the operator of the program."`
	User       nullable[user] `json:"user,omitzero" description:"With expand=user; null when no longer a member."`
	TokenID    *int64         `json:"token_id" description:"Access token or session that it was done with."`
	Address    *string        `json:"address" description:"IP address that it was done from."`
	CreatedAt  Time           `json:"created_at"`
}

type auditList struct {
	expanding
	Paging
	UserID int64     `query:"user_id" description:"Who did it, also somebody who has left."`
	Action string    `query:"action" description:"Such as membership.updated."`
	Since  time.Time `query:"since" description:"At this time or later."`
}

func (a *api) addAudit(t *Table) {
	HandlePage(t, a.desk, Operation{
		ID: "listAuditLog", Method: http.MethodGet, Path: accountPath + "/audit-log", Tag: "Accounts", Expand: []string{"user"},
		Summary: "List administrative changes",
		Description: "Newest first: of the account, its members, roles, invitations, mailboxes, domains, keys and webhooks, whatever was " +
			"deleted, merged or exported, and what members did to their own tokens, sessions and passwords, also in vain. Needs audit_log.view.",
	}, a.listAuditLog)
}

func (a *api) listAuditLog(ctx context.Context, d *helpdesk.Desk, in auditList) (storage.Page[auditEntry], error) {
	filter := helpdesk.AuditFilter{Action: in.Action, Since: in.Since}
	if in.UserID != 0 {
		filter.UserID = storage.Some(in.UserID)
	}
	page, err := d.AuditLog(ctx, filter, in.Request())
	if err != nil {
		return storage.Page[auditEntry]{}, err
	}
	var users map[int64]user
	if in.Expand.Has("user") {
		if users, err = findUsers(ctx, d, ids(page.Items, func(e helpdesk.AuditEntry) []int64 { return []int64{e.UserID} })); err != nil {
			return storage.Page[auditEntry]{}, err
		}
	}
	return mapPage(page, func(e helpdesk.AuditEntry) auditEntry {
		resource, _, _ := strings.Cut(e.Action, ".")
		out := auditEntry{
			ID: e.ID, Action: e.Action, Resource: resource, ResourceID: e.Subject, UserID: idOrNull(e.UserID),
			TokenID: idOrNull(e.TokenID), Address: textOrNull(e.Address), CreatedAt: Time(e.CreatedAt),
		}
		if in.Expand.Has("user") {
			out.User = shownOrNull(pick(users, e.UserID))
		}
		return out
	}), nil
}
