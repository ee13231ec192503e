package helpdesk

import (
	"slices"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
)

// Domain announces the permissions and the event areas of the help desk, see [storage.Domain]. Every [Service] has it.
func Domain() storage.Domain {
	return storage.Domain{
		Permissions: names(permissions()...),
		Roles: map[string][]string{
			identity.RoleAgent: names(
				identity.AccountsView, identity.MembershipsView, identity.RolesView, identity.MailboxesView,
				identity.CustomersView, identity.CustomersCreate, identity.CustomersUpdate, identity.CompaniesView,
				identity.ConversationsView, identity.ConversationsCreate, identity.ConversationsUpdate, identity.ConversationsDelete, identity.ConversationsAssign,
				identity.InteractionsView, identity.InteractionsCreate, identity.InteractionsUpdate, identity.InteractionsDelete, identity.NotesCreate,
				identity.TagsView, identity.TagsCreate, identity.ViewsView, identity.ViewsCreate, identity.ViewsUpdate, identity.ViewsDelete,
				identity.DomainsView, identity.PGPKeysView, identity.FieldsView, identity.CalendarsView, identity.AutoRepliesView, identity.RulesView, identity.SLAsView, identity.SurveysView,
				identity.RetentionPoliciesView, identity.ReportsView,
			),
			identity.RoleCollaborator: names(
				identity.AccountsView, identity.MembershipsView, identity.RolesView, identity.MailboxesView, identity.CustomersView, identity.CompaniesView,
				identity.ConversationsView, identity.InteractionsView, identity.NotesCreate, identity.TagsView, identity.ViewsView, identity.FieldsView,
			),
			identity.RoleEditor: names(identity.AccountsView),
		},
		Areas: eventAreas(),
	}
}

// permissions lists the constants of package identity.
func permissions() []identity.Permission {
	all := []identity.Permission{
		identity.AccountsExport, identity.MailboxesConnection, identity.ConversationsAssign, identity.NotesCreate, identity.AuditLogView, identity.ReportsView,
	}
	for _, area := range []string{
		"accounts", "memberships", "roles", "mailboxes", "customers", "companies", "conversations", "interactions",
		"tags", "fields", "views", "domains", "pgp_keys", "webhooks",
		"calendars", "auto_replies", "rules", "slas", "surveys", "retention_policies",
	} {
		for _, action := range []string{"view", "create", "update", "delete"} {
			all = append(all, identity.Permission(area+"."+action))
		}
	}
	slices.Sort(all)
	return all
}

// eventAreas maps the areas of the events to the permissions that viewing them needs.
func eventAreas() map[string]string {
	areas := map[string]string{}
	for p, of := range map[identity.Permission][]string{
		identity.AccountsView:          {"account"},
		identity.AccountsUpdate:        {"portal_key"},
		identity.MembershipsView:       {"membership", "invitation", "join_rule", "team"},
		identity.RolesView:             {"role"},
		identity.MailboxesView:         {"mailbox"},
		identity.MailboxesConnection:   {"mail"},
		identity.CustomersView:         {"customer", "suppression", "blocked_sender"},
		identity.CompaniesView:         {"company"},
		identity.PGPKeysView:           {"pgp_key"},
		identity.ConversationsView:     {"conversation", "notification", "rating"},
		identity.InteractionsView:      {"interaction", "attachment", "saved_reply"},
		identity.TagsView:              {"tag"},
		identity.FieldsView:            {"field"},
		identity.ViewsView:             {"view"},
		identity.DomainsView:           {"domain"},
		identity.WebhooksView:          {"webhook"},
		identity.CalendarsView:         {"calendar"},
		identity.AutoRepliesView:       {"auto_reply"},
		identity.RulesView:             {"rule"},
		identity.SLAsView:              {"sla"},
		identity.SurveysView:           {"survey"},
		identity.RetentionPoliciesView: {"retention_policy", "retention"},
	} {
		for _, area := range of {
			areas[area] = string(p)
		}
	}
	return areas
}

func names(permissions ...identity.Permission) []string {
	all := make([]string, len(permissions))
	for i, p := range permissions {
		all[i] = string(p)
	}
	return all
}

// Permissions lists the permissions of the help desk and of Config.Domains, sorted.
func (s *Service) Permissions() []identity.Permission { return s.registry.Permissions() }
