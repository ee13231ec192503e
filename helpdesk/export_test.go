package helpdesk

// KnownArea reports whether events of a type are shown to somebody in particular.
func KnownArea(kind string) bool {
	_, known := eventAreas[areaOf(kind)]
	return known && eventTypePattern.MatchString(kind)
}
