package helpdesk

// publicProvider reports whether anybody can have an address of a domain.
func publicProvider(domain string) bool { return false }
