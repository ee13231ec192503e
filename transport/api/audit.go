package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// auditEntry as the API shows it.
type auditEntry struct {
	ID         int64          `json:"id"`
	Action     string         `json:"action" example:"membership.updated"`
	Resource   string         `json:"resource" description:"Type of the affected object." example:"membership"`
	ResourceID int64          `json:"resource_id"`
	UserID     *int64         `json:"user_id" description:"Who did it, or tried to. Null: the server's operator."`
	User       nullable[user] `json:"user,omitzero" description:"With expand=user. Null if no longer a member."`
	TokenID    *int64         `json:"token_id" description:"Access token or session used."`
	Address    *string        `json:"address" description:"IP address of the request."`
	Changes    []auditChange  `json:"changes" description:"What changed, where it is noted: of members, roles, teams, rules for joining, mailboxes, webhooks and the account."`
	CreatedAt  transport.Time `json:"created_at"`
}

// auditChange as the API shows it.
type auditChange struct {
	Field string   `json:"field" description:"Of the object, such as roles, mailboxes, permissions or access." example:"roles"`
	From  []string `json:"from" description:"The former value; of a list, what was removed. Roles are names, mailboxes and members ids; * means all. Empty: none, or not noted because it is secret or long."`
	To    []string `json:"to" description:"The new value; of a list, what was added."`
}

type auditList struct {
	expanding
	transport.Paging
	UserID int64     `query:"user_id" description:"Who did it, including former members."`
	Action string    `query:"action" description:"Such as membership.updated."`
	Since  time.Time `query:"since" description:"At or after this time."`
}

func (a *api) addAudit(t *transport.Table) {
	transport.HandlePage(t, a.desk, transport.Operation{
		ID: "listAuditLog", Method: http.MethodGet, Path: accountPath + "/audit-log", Tag: "Accounts", Expand: []string{"user"},
		Summary: "List administrative changes",
		Description: "Newest first: changes to the account, its members, roles, invitations, mailboxes, domains, keys and webhooks; " +
			"everything deleted, erased, merged or exported; and what members did to their own tokens, sessions and passwords, including " +
			"failed attempts. Needs audit_log.view.",
	}, a.listAuditLog)
}

func (a *api) listAuditLog(ctx context.Context, d *helpdesk.Desk, in auditList) (storage.Page[auditEntry], error) {
	filter := helpdesk.AuditFilter{Action: in.Action, Since: in.Since}
	if in.UserID != 0 {
		filter.UserID = storage.Some(in.UserID)
	}
	page, err := d.Account().AuditLog(ctx, filter, in.Request())
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
			TokenID: idOrNull(e.TokenID), Changes: []auditChange{}, Address: textOrNull(e.Address), CreatedAt: transport.Time(e.CreatedAt),
		}
		for _, c := range e.Changes {
			out.Changes = append(out.Changes, auditChange{Field: c.Field, From: listed(c.From), To: listed(c.To)})
		}
		if in.Expand.Has("user") {
			out.User = shownOrNull(pick(users, e.UserID))
		}
		return out
	}), nil
}
