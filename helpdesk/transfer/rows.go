package transfer

import (
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
)

// user is a person that rows of the account refer to.
type user struct {
	ID              int64
	Name            string
	Email           string
	EmailVerifiedAt time.Time
	DisabledAt      time.Time
	SecondFactorAt  time.Time
	Picture         []byte `json:",omitempty"` // of a member
	PictureName     string `json:",omitempty"`
	Preferences     identity.Preferences
	Password        []byte `json:",omitempty"` // the hash, sealed
	Factor          []byte `json:",omitempty"` // the second-factor secret, sealed
	Member          bool   // of the account, at the time of the export
	Gone            bool   // the user no longer exists
	CreatedAt       time.Time
	UpdatedAt       time.Time
}

// settings are account settings that refer to later rows.
type settings struct {
	DefaultMailboxID int64
	NextNumber       int64
}

// cursor is the position up to which a folder was fetched.
type cursor struct {
	MailboxID   int64
	Folder      string
	UIDValidity uint32
	UID         uint32
}

// erasureKeys recognize the addresses of erased customers. They are not encrypted, because without them
// the import would bring back erased data.
type erasureKeys struct {
	Keys [][]byte
}

// labels are the tags of a conversation.
type labels struct {
	ConversationID int64
	TagIDs         []int64
}

// fieldValues are the values of the fields of a subject.
type fieldValues struct {
	SubjectID int64
	Values    []fieldValue
}

type fieldValue struct {
	FieldID int64
	Text    string
	Key     string
	Number  *float64 `json:",omitempty"`
}

// reference is a conversation's reference to a later one.
type reference struct {
	ConversationID int64
	RefersTo       int64
}

// LeftOut lists the nouns and tables that an archive does not contain, with the reason.
func LeftOut() map[string]string {
	return map[string]string{
		"Invitations":           "their links belong to the server that sent them: invite people again",
		"JoinRules":             "they refer to identity providers of the other server",
		"RuleRuns":              "they name events of the other server's log; the history says what rules did",
		"RulePasses":            "see RuleRuns",
		"RuleReplays":           "they look at the other server's log",
		"ReplayedConversations": "see RuleReplays",
		"ConversationFacts":     "they are folded again from what the archive has",
		"Readings":              "readers come to the other server: it counts them anew",
		"FactLogs":              "it is a position in the other server's log",
		"PushDevices":           "they belong to browsers registered with the other server: turn them on again",
		"WebhookDeliveries":     "they concern events of the other server's log",

		"hw_webhook_cursors":        "it is a position in the other server's log",
		"hw_tokens":                 "access tokens and sessions belong to a server: create new ones",
		"hw_invitations":            "see Invitations",
		"hw_join_rules":             "see JoinRules",
		"hw_user_identities":        "they are user ids at the other server's identity providers: connect the accounts again",
		"hw_passkeys":               "they only work at the other server's address: register them again",
		"hw_webhook_deliveries":     "see WebhookDeliveries",
		"hw_fetch_status":           "it is the other server's fetch status",
		"hw_presence":               "it says who is viewing what right now",
		"hw_jobs":                   "they belong to the other server; mail that waits to be filed is filed here",
		"hw_idempotency":            "it concerns requests to the other server",
		"hw_vault":                  "it holds the other server's certificates",
		"hw_vault_locks":            "see hw_vault",
		"hw_marks":                  "it ties a database to its own files",
		"hw_new_ids":                "it belongs to an import in progress",
		"hw_conversation_counts":    "it is counted again",
		"hw_conversation_search":    "it is rebuilt, like all search terms",
		"hw_customer_search":        "see hw_conversation_search",
		"hw_article_documents":      "see hw_conversation_search",
		"hw_conversation_facts":     "see ConversationFacts",
		"hw_fact_logs":              "see FactLogs",
		"hw_readings":               "see Readings",
		"hw_push_devices":           "see PushDevices",
		"hw_rule_runs":              "see RuleRuns",
		"hw_rule_passes":            "see RuleRuns",
		"hw_rule_replays":           "see RuleReplays",
		"hw_replayed_conversations": "see RuleReplays",
		"hw_article_postings":       "see hw_conversation_search",
		"hw_article_spellings":      "see hw_conversation_search",
		"hw_article_reactions":      "the revisions have the totals; who reacted depends on a key of the other server",
	}
}

// Tables maps the tables of bunstore in an archive to the nouns that contain them.
func Tables() map[string]string {
	return map[string]string{
		"hw_accounts": "account", "hw_users": "users", "hw_user_pictures": "users", "hw_roles": "roles", "hw_mailboxes": "mailboxes", "hw_fetch_cursors": "fetch_cursors",
		"hw_memberships": "memberships", "hw_membership_roles": "memberships", "hw_membership_mailboxes": "memberships",
		"hw_customers": "customers", "hw_customer_emails": "customers", "hw_customer_phones": "customers", "hw_customer_websites": "customers",
		"hw_conversations": "conversations", "hw_participants": "participants", "hw_interactions": "interactions",
		"hw_attachments": "attachments", "hw_deliveries": "deliveries", "hw_inbound_mails": "mails", "hw_tags": "tags", "hw_fields": "fields",
		"hw_conversation_tags": "conversation_tags", "hw_conversation_values": "conversation_values", "hw_customer_values": "customer_values", "hw_company_values": "company_values", "hw_views": "views", "hw_read_marks": "read_marks", "hw_conversation_redirects": "redirects",
		"hw_domains": "domains", "hw_pgp_keys": "pgp_keys", "hw_portal_keys": "portal_keys", "hw_suppressions": "suppressions",
		"hw_webhooks": "webhooks", "hw_moves": "moves", "hw_saved_replies": "saved_replies", "hw_reply_files": "reply_files",
		"hw_notifications": "notifications", "hw_followers": "followers", "hw_notify_choices": "notify_choices", "hw_member_mails": "member_mails",
		"hw_blocked_senders": "blocked_senders", "hw_erasures": "erasures", "hw_teams": "teams", "hw_signatures": "signatures", "hw_audit": "audit", "hw_events": "history",
		"hw_calendars": "calendars", "hw_auto_replies": "auto_replies", "hw_auto_responses": "auto_responses", "hw_slas": "slas", "hw_surveys": "surveys", "hw_ratings": "ratings", "hw_retention_policies": "retention_policies", "hw_rules": "rules", "hw_rule_sets": "rule_sets",
		"hw_companies": "companies", "hw_company_keys": "company_keys",
	}
}
