package desk

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// section is a page of the settings.
type section struct {
	id, icon, title, group string
	need                   identity.Permission // "" for everyone
}

// sections are the pages of the settings, in order.
var sections = []section{
	{"mailboxes", "mail", say("Mailboxes"), say("Mail"), identity.MailboxesView},
	{"domains", "globe", say("Sending domains"), say("Mail"), identity.DomainsView},
	{"ledger", "note", say("Unreadable mail"), say("Mail"), identity.MailboxesConnection},
	{"blocked", "ban", say("Blocked senders"), say("Mail"), identity.CustomersView},
	{"suppressions", "failed", say("Suppressed addresses"), say("Mail"), identity.CustomersView},
	{"members", "users", say("Members"), say("Team"), identity.MembershipsView},
	{"teams", "group", say("Teams"), say("Team"), identity.MembershipsView},
	{"roles", "key", say("Roles"), say("Team"), identity.RolesView},
	{"tags", "tag", say("Tags"), say("Team"), identity.TagsView},
	{"fields", "list", say("Fields"), say("Team"), identity.FieldsView},
	{"replies", "reply", say("Saved replies"), say("Team"), identity.InteractionsView},
	{"views", "star", say("Saved views"), say("Team"), identity.ViewsView},
	{"hours", "clock", say("Business hours"), say("Automation"), identity.CalendarsView},
	{"auto-replies", "bolt", say("Automatic replies"), say("Automation"), identity.AutoRepliesView},
	{"rules", "filter", say("Rules"), say("Automation"), identity.RulesView},
	{"slas", "clock", say("SLAs"), say("Automation"), identity.SLAsView},
	{"surveys", "star", say("Surveys"), say("Automation"), identity.SurveysView},
	{"webhooks", "hook", say("Webhooks"), say("Connect"), identity.WebhooksView},
	{"tokens", "lock", say("Access tokens"), say("Connect"), ""},
	{"portal", "key", say("Customer sign-in"), say("Connect"), identity.AccountsUpdate},
	{"audit", "list", say("Audit log"), say("Connect"), identity.AuditLogView},
	{"import", "inbox", say("Import"), say("Data"), identity.AccountsUpdate},
	{"export", "download", say("Account export"), say("Data"), identity.AccountsExport},
	{"retention", "trash", say("Retention"), say("Data"), identity.RetentionPoliciesView},
	{"profile", "user", say("Profile"), say("You"), ""},
	{"notifications", "bell", say("Notifications"), say("You"), ""},
}

// say marks a text for translation where it is shown.
func say(text string) string { return text }

// routeSetUp registers the pages of the set-up.
func (h *Handler) routeSetUp() {
	h.routeMembers(map[string]func(*visit) error{
		"GET /setup/team":        (*visit).setUpTeamPage,
		"POST /setup/team":       (*visit).setUpTeam,
		"GET /setup/mailbox":     (*visit).setUpMailboxPage,
		"POST /setup/mailbox":    (*visit).setUpMailbox,
		"GET /setup/colleagues":  (*visit).setUpColleaguesPage,
		"POST /setup/colleagues": (*visit).setUpColleagues,
	})
}

// routeSettings registers the pages below /a/{account}/settings.
func (h *Handler) routeSettings() {
	h.routeMembers(map[string]func(*visit) error{
		"GET /settings/{$}":                               (*visit).settingsHome,
		"GET /settings":                                   (*visit).settingsHome,
		"GET /settings/mailboxes":                         (*visit).mailboxesPage,
		"POST /settings/mailboxes":                        (*visit).addMailbox,
		"GET /settings/mailboxes/{id}":                    (*visit).mailboxPage,
		"POST /settings/mailboxes/{id}":                   (*visit).saveMailbox,
		"POST /settings/mailboxes/{id}/test":              (*visit).testMailbox,
		"POST /settings/mailboxes/{id}/outgoing":          (*visit).saveOutgoing,
		"POST /settings/mailboxes/{id}/signature":         (*visit).saveMailboxSignature,
		"POST /settings/mailboxes/{id}/form":              (*visit).saveAsked,
		"POST /settings/mailboxes/{id}/delete":            (*visit).deleteMailbox,
		"GET /settings/domains":                           (*visit).domainsPage,
		"POST /settings/domains":                          (*visit).addDomain,
		"POST /settings/domains/{id}/check":               (*visit).checkDomain,
		"POST /settings/domains/{id}/delete":              (*visit).deleteDomain,
		"GET /settings/ledger":                            (*visit).ledgerPage,
		"POST /settings/ledger/{mailbox}/{id}/replay":     (*visit).replayMail,
		"POST /settings/ledger/{mailbox}/{id}/ignore":     (*visit).ignoreMail,
		"GET /settings/ledger/{mailbox}/{id}/raw":         (*visit).rawMail,
		"GET /settings/members":                           (*visit).membersPage,
		"POST /settings/members":                          (*visit).inviteMember,
		"GET /settings/members/{id}":                      (*visit).memberPage,
		"POST /settings/members/{id}":                     (*visit).saveMember,
		"POST /settings/members/{id}/remove":              (*visit).removeMember,
		"POST /settings/members/{id}/disable":             (*visit).disableMember,
		"POST /settings/members/{id}/enable":              (*visit).enableMember,
		"POST /settings/members/{id}/second-factor":       (*visit).resetFactor,
		"POST /settings/members/second-factor":            (*visit).requireFactor,
		"POST /settings/members/{id}/passkeys":            (*visit).removeMemberPasskeys,
		"POST /settings/members/{id}/disconnect":          (*visit).disconnectMember,
		"POST /settings/join-rules":                       (*visit).addRule,
		"POST /settings/join-rules/{id}/again":            (*visit).ruleAgain,
		"POST /settings/join-rules/{id}/delete":           (*visit).deleteRule,
		"POST /settings/invitations/{id}/delete":          (*visit).withdrawInvitation,
		"GET /settings/hours":                             (*visit).hoursPage,
		"POST /settings/hours":                            (*visit).addCalendar,
		"GET /settings/hours/new":                         (*visit).newCalendarPage,
		"GET /settings/hours/{id}":                        (*visit).calendarPage,
		"POST /settings/hours/{id}":                       (*visit).saveCalendar,
		"POST /settings/hours/{id}/delete":                (*visit).deleteCalendar,
		"GET /settings/auto-replies":                      (*visit).autoRepliesPage,
		"POST /settings/auto-replies":                     (*visit).addAutoReply,
		"GET /settings/auto-replies/new":                  (*visit).newAutoReplyPage,
		"GET /settings/auto-replies/{id}":                 (*visit).autoReplyPage,
		"POST /settings/auto-replies/{id}":                (*visit).saveAutoReply,
		"POST /settings/auto-replies/{id}/delete":         (*visit).deleteAutoReply,
		"GET /settings/teams":                             (*visit).teamsPage,
		"POST /settings/teams":                            (*visit).addTeam,
		"GET /settings/teams/{id}":                        (*visit).teamPage,
		"POST /settings/teams/{id}":                       (*visit).saveTeam,
		"POST /settings/teams/{id}/add":                   (*visit).addToTeam,
		"POST /settings/teams/{id}/assignment":            (*visit).saveAssignment,
		"POST /settings/teams/{id}/remove":                (*visit).takeFromTeam,
		"POST /settings/teams/{id}/delete":                (*visit).deleteTeam,
		"GET /settings/roles":                             (*visit).rolesPage,
		"POST /settings/roles":                            (*visit).addRole,
		"GET /settings/roles/{id}":                        (*visit).rolePage,
		"POST /settings/roles/{id}":                       (*visit).saveRole,
		"POST /settings/roles/{id}/delete":                (*visit).deleteRole,
		"GET /settings/blocked":                           (*visit).blockedPage,
		"POST /settings/blocked":                          (*visit).addBlocked,
		"POST /settings/blocked/{id}/delete":              (*visit).deleteBlocked,
		"GET /settings/suppressions":                      (*visit).suppressionsPage,
		"POST /settings/suppressions":                     (*visit).addSuppression,
		"POST /settings/suppressions/{id}/delete":         (*visit).liftSuppression,
		"GET /settings/tags":                              (*visit).tagsPage,
		"POST /settings/tags":                             (*visit).addTag,
		"POST /settings/tags/{id}":                        (*visit).saveTag,
		"POST /settings/tags/{id}/delete":                 (*visit).deleteTag,
		"GET /settings/fields":                            (*visit).fieldsPage,
		"GET /settings/fields/new":                        (*visit).newFieldPage,
		"POST /settings/fields":                           (*visit).addField,
		"GET /settings/fields/{id}":                       (*visit).fieldPage,
		"POST /settings/fields/{id}":                      (*visit).saveField,
		"POST /settings/fields/{id}/delete":               (*visit).deleteField,
		"GET /settings/replies":                           (*visit).repliesPage,
		"GET /settings/replies/new":                       (*visit).newReplyPage,
		"POST /settings/replies":                          (*visit).addReply,
		"GET /settings/replies/{id}":                      (*visit).replyPage,
		"POST /settings/replies/{id}":                     (*visit).changeReply,
		"POST /settings/replies/{id}/delete":              (*visit).deleteReply,
		"GET /settings/replies/{id}/files/{file}":         (*visit).replyFile,
		"POST /settings/replies/{id}/files/{file}/remove": (*visit).removeReplyFile,
		"GET /settings/views":                             (*visit).viewsPage,
		"GET /settings/views/{id}":                        (*visit).viewPage,
		"POST /settings/views/{id}":                       (*visit).changeView,
		"POST /settings/views/{id}/delete":                (*visit).deleteView,
		"POST /availability":                              (*visit).setAvailability,
		"POST /views":                                     (*visit).saveView,
		"GET /settings/portal":                            (*visit).portalPage,
		"POST /settings/portal":                           (*visit).addPortalKey,
		"POST /settings/portal/{id}/delete":               (*visit).deletePortalKey,
	})
	h.routeAccess()
	h.routeRules()
	h.routeSLAs()
	h.routeSurveys()
	h.routeRetention()
}

// routeAccess registers the pages of programs' access, and those of the member.
func (h *Handler) routeAccess() {
	h.routeMembers(map[string]func(*visit) error{
		"GET /settings/webhooks":                       (*visit).webhooksPage,
		"POST /settings/webhooks":                      (*visit).addWebhook,
		"GET /settings/webhooks/{id}":                  (*visit).webhookPage,
		"POST /settings/webhooks/{id}":                 (*visit).saveWebhook,
		"POST /settings/webhooks/{id}/secret":          (*visit).rotateSecret,
		"POST /settings/webhooks/{id}/delete":          (*visit).deleteWebhook,
		"POST /settings/webhooks/{id}/again/{attempt}": (*visit).redeliver,
		"GET /settings/tokens":                         (*visit).tokensPage,
		"POST /settings/tokens":                        (*visit).addToken,
		"POST /settings/tokens/{id}/delete":            (*visit).deleteToken,
		"GET /settings/audit":                          (*visit).auditPage,
		"GET /settings/profile":                        (*visit).profilePage,
		"POST /settings/profile":                       (*visit).saveProfile,
		"POST /settings/signature":                     (*visit).saveSignature,
		"POST /settings/sessions/others":               (*visit).endOtherSessions,
		"POST /settings/sessions/{session}":            (*visit).endSession,
		"POST /settings/password":                      (*visit).savePassword,
		"GET /settings/notifications":                  (*visit).choicesPage,
		"POST /settings/notifications":                 (*visit).saveChoices,
		"POST /settings/preferences":                   (*visit).savePreferences,
		"POST /settings/picture":                       (*visit).savePicture,
		"GET /health":                                  (*visit).healthPage,
	})
}

// routeMembers registers pages for members.
func (h *Handler) routeMembers(pages map[string]func(*visit) error) {
	for pattern, fn := range pages {
		h.mux.HandleFunc(below(pattern), h.member(guarded(pattern, fn)))
	}
}

// guarded shows members without the permission for a page of the settings whom they can ask instead.
func guarded(pattern string, fn func(*visit) error) func(*visit) error {
	_, path, _ := strings.Cut(pattern, "/settings/")
	id, _, _ := strings.Cut(path, "/")
	at := slices.IndexFunc(sections, func(s section) bool { return s.id == id })
	if at < 0 || sections[at].need == "" {
		return fn
	}
	return func(v *visit) error {
		if !v.may(sections[at].need) {
			return v.notSeen(sections[at])
		}
		return fn(v)
	}
}

// notSeen is the page shown instead of one that the member may not see.
func (v *visit) notSeen(s section) error {
	p := problem{Icon: "lock", ID: v.id, Home: v.at("/"), Title: v.words.T("You cannot see this: %s", v.words.T(s.title)), Text: v.words.T("Ask an admin.")}
	names, err := v.adminNames()
	if err != nil {
		return err
	}
	if len(names) > 0 {
		p.Text = v.words.T("Ask an admin: %s.", v.words.list(names))
	}
	return v.show(screen{template: "problem", title: p.Title, data: p, status: http.StatusForbidden})
}

// adminNames returns the names of some members who can change permissions.
func (v *visit) adminNames() ([]string, error) {
	if !v.may(identity.MembershipsView) {
		return nil, nil
	}
	roles, err := v.Desk.Roles().All(v.ctx())
	if err != nil {
		return nil, err
	}
	admins := map[int64]bool{}
	for _, r := range roles {
		admins[r.ID] = slices.Contains(r.Permissions, identity.RolesUpdate)
	}
	page, err := v.Members().List(v.ctx(), storage.PageRequest{Limit: storage.MaxLimit})
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, m := range page.Items {
		if slices.ContainsFunc(m.RoleIDs, func(id int64) bool { return admins[id] }) && len(ids) < 3 {
			ids = append(ids, m.UserID)
		}
	}
	found, err := v.people(ids)
	var names []string
	for _, id := range ids {
		if p, ok := found[id]; ok {
			names = append(names, p.Name)
		}
	}
	return names, err
}

// settingsNav returns the navigation of the settings, which replaces the desk's.
func (v *visit) settingsNav(s *sidebar, nav string) {
	s.Settings, s.Back, s.Groups, s.Foot = true, v.at("/inbox/unassigned"), nil, nil
	for _, one := range sections {
		if one.need != "" && !v.may(one.need) || one.group == "Data" && (v.h.cfg.Errands == nil || !v.HoldsAll()) {
			continue
		}
		if n := len(s.Groups); n == 0 || s.Groups[n-1].Title != v.words.T(one.group) {
			s.Groups = append(s.Groups, navGroup{Title: v.words.T(one.group)})
		}
		g := &s.Groups[len(s.Groups)-1]
		g.Items = append(g.Items, navItem{ID: one.id, Text: v.words.T(one.title), Icon: one.icon, URL: v.at("/settings/" + one.id), Active: one.id == nav})
	}
}

// settingsHome redirects to the first page of the settings that the member may see.
func (v *visit) settingsHome() error {
	for _, one := range sections {
		if one.need == "" || v.may(one.need) {
			return v.see(v.at("/settings/" + one.id))
		}
	}
	return v.missing()
}

// settingsPage shows a page of the settings.
func (v *visit) settingsPage(nav, title string, data any, status int) error {
	return v.show(screen{template: "settings-" + nav, title: title, data: data, nav: v.sectionOf(nav), settings: true, status: status})
}

// sectionOf returns the section to which a template belongs.
func (v *visit) sectionOf(template string) string {
	switch template {
	case "retention-policy":
		return "retention"
	case "import-run":
		return "import"
	case "mailbox":
		return "mailboxes"
	case "member":
		return "members"
	case "role":
		return "roles"
	case "team":
		return "teams"
	case "calendar":
		return "hours"
	case "rule":
		return "rules"
	case "sla":
		return "slas"
	case "auto-reply":
		return "auto-replies"
	case "webhook":
		return "webhooks"
	case "field":
		return "fields"
	case "reply":
		return "replies"
	case "view":
		return "views"
	}
	return template
}

// saved redirects to a page with a notice.
func (v *visit) saved(path, text string) error {
	v.say(toast{Text: text})
	return v.see(v.at("/settings/" + path))
}

// unless redirects to a page with the error's message if the member can act on it; other errors are returned.
func (v *visit) unless(err error, path, done string) error {
	if err == nil {
		return v.saved(path, done)
	}
	return v.instead(err, v.at("/settings/"+path))
}

// instead redirects to a page that explains why the action was not taken, if the member can act on it.
func (v *visit) instead(err error, to string) error {
	f, ok := asFault(err)
	if !ok || f.Kind != fault.Conflict && f.Kind != fault.Invalid && f.Kind != fault.Disabled {
		return err
	}
	text := f.Message
	for _, problem := range v.problems(err) {
		text = problem
	}
	v.say(toast{Text: v.words.T(text), Bad: true})
	return v.see(to)
}

// older returns the address of the next part of a list, "" at its end.
func (v *visit) older(path, cursor string) string {
	if cursor == "" {
		return ""
	}
	return v.at(path) + "?after=" + url.QueryEscape(cursor)
}

func (v *visit) pageOf(limit int) storage.PageRequest {
	return storage.PageRequest{Limit: limit, Cursor: v.r.URL.Query().Get("after")}
}
