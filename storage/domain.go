package storage

// Domain is what a domain announces to those that it shares accounts and their event log with: the permissions that roles
// can grant, and who may view its events.
type Domain struct {
	// Permissions are all permissions of the domain, as <area>.<action>. The built-in roles owner and admin hold all of them.
	Permissions []string
	// Roles are the permissions that the other built-in roles hold in the domain, by the role's key.
	Roles map[string][]string
	// Areas maps the area of an event type, the part before the dot, to the permission that viewing its events needs.
	Areas map[string]string
}
