package desk

// permissionWord translates a part of a permission, an area or an action. Unknown parts are shown as in the API.
func (v *visit) permissionWord(part string) string {
	text, known := map[string]string{
		"accounts": say("Accounts"), "memberships": say("Members"), "roles": say("Roles"), "mailboxes": say("Mailboxes"), "customers": say("Customers"), "companies": say("Companies"),
		"conversations": say("Conversations"), "interactions": say("Messages and notes"), "tags": say("Tags"), "fields": say("Fields"), "views": say("Saved views"), "domains": say("Sending domains"),
		"pgp_keys": say("OpenPGP keys"), "calendars": say("Business hours"), "auto_replies": say("Automatic replies"), "rules": say("Rules"), "slas": say("SLAs"), "surveys": say("Surveys"), "retention_policies": say("Retention policies"), "webhooks": say("Webhooks"), "audit_log": say("Audit log"), "portal": say("Customer sign-in"), "sites": say("Help centres"),
		"collections": say("Collections"), "categories": say("Categories"), "articles": say("Articles"), "feedback": say("Feedback"), "files": say("Files"), "themes": say("Themes"),
		"view": say("See"), "create": say("Add"), "update": say("Change"), "delete": say("Delete"), "assign": say("Assign"), "publish": say("Publish"),
		"export": say("Export"), "note": say("Write notes"), "connection": say("Set up the connection"), "use": say("Use"),
	}[part]
	if !known {
		return part
	}
	return v.words.T(text)
}
