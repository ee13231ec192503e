package transfer

import "time"

// user is a person whom rows of the account name.
type user struct {
	ID              int64
	Name            string
	Email           string
	EmailVerifiedAt time.Time
	DisabledAt      time.Time
	SecondFactorAt  time.Time
	Password        []byte `json:",omitempty"` // the hash, sealed
	Factor          []byte `json:",omitempty"` // what codes are checked with, sealed
	Member          bool   // of the account, at the time of the export
	Gone            bool   // there is no such user any more
	CreatedAt       time.Time
	UpdatedAt       time.Time
}

// settings are those of the account that name what comes after it.
type settings struct {
	DefaultMailboxID int64
	NextNumber       int64
}

// cursor is how far a folder was fetched.
type cursor struct {
	MailboxID   int64
	Folder      string
	UIDValidity uint32
	UID         uint32
}

// erasureKeys are the keys by which the addresses of erased customers are recognized. They are in the clear: without them
// the archive would bring back what was erased.
type erasureKeys struct {
	Keys [][]byte
}

// labels are the tags of a conversation.
type labels struct {
	ConversationID int64
	TagIDs         []int64
}

// reference is that a conversation refers to one that comes after it.
type reference struct {
	ConversationID int64
	RefersTo       int64
}

// LeftOut are the nouns and tables that an archive does not have, with the reason.
func LeftOut() map[string]string {
	return map[string]string{
		"Invitations":       "their links name the server that has sent them: invite again",
		"JoinRules":         "they name identity providers of the other server",
		"PushDevices":       "they are of browsers that know the other server: switch them on again",
		"WebhookDeliveries": "they are about events of the log that is left out",

		"hw_events":              "the log of a server is for who follows that server; moves and the audit log say what became of things",
		"hw_webhook_cursors":     "it is a place in the log that is left out",
		"hw_tokens":              "access tokens and sessions are of a server: make others",
		"hw_invitations":         "see Invitations",
		"hw_join_rules":          "see JoinRules",
		"hw_user_identities":     "they are the users' ids at the other server's identity providers: connect them again",
		"hw_passkeys":            "they work at the other server's address only: register them again",
		"hw_webhook_deliveries":  "see WebhookDeliveries",
		"hw_fetch_status":        "it tells how another server fetches",
		"hw_presence":            "it tells who looks at what right now",
		"hw_jobs":                "they are the work of another server; what waits to be filed is filed here",
		"hw_idempotency":         "it is about requests to another server",
		"hw_vault":               "it has certificates of another server",
		"hw_vault_locks":         "see hw_vault",
		"hw_marks":               "it ties a database to its files",
		"hw_new_ids":             "it is about an import that goes on",
		"hw_conversation_counts": "it is counted anew",
		"hw_conversation_search": "it is made anew, as are all terms that things are found by",
		"hw_customer_search":     "see hw_conversation_search",
		"hw_article_documents":   "see hw_conversation_search",
		"hw_push_devices":        "see PushDevices",
		"hw_article_terms":       "see hw_conversation_search",
		"hw_article_spellings":   "see hw_conversation_search",
		"hw_article_reactions":   "their numbers are in the revisions; who reacted is known by a key of another server",
	}
}

// Tables are the tables of bunstore whose rows an archive has, by the noun that has them.
func Tables() map[string]string {
	return map[string]string{
		"hw_accounts": "account", "hw_users": "users", "hw_roles": "roles", "hw_mailboxes": "mailboxes", "hw_fetch_cursors": "fetch_cursors",
		"hw_memberships": "memberships", "hw_membership_roles": "memberships", "hw_membership_mailboxes": "memberships",
		"hw_customers": "customers", "hw_customer_emails": "customers", "hw_customer_phones": "customers", "hw_customer_websites": "customers",
		"hw_conversations": "conversations", "hw_participants": "participants", "hw_interactions": "interactions",
		"hw_attachments": "attachments", "hw_deliveries": "deliveries", "hw_inbound_mails": "mails", "hw_tags": "tags",
		"hw_conversation_tags": "conversation_tags", "hw_views": "views", "hw_read_marks": "read_marks", "hw_conversation_redirects": "redirects",
		"hw_domains": "domains", "hw_pgp_keys": "pgp_keys", "hw_portal_keys": "portal_keys", "hw_suppressions": "suppressions",
		"hw_webhooks": "webhooks", "hw_moves": "moves", "hw_saved_replies": "saved_replies", "hw_reply_files": "reply_files",
		"hw_notifications": "notifications", "hw_followers": "followers", "hw_notify_choices": "notify_choices", "hw_member_mails": "member_mails",
		"hw_blocked_senders": "blocked_senders", "hw_erasures": "erasures", "hw_teams": "teams", "hw_signatures": "signatures", "hw_audit": "audit",
	}
}
