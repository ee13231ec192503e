package contenthtml

// Normal returns HTML, cleaned and without the white space that browsers do not show.
func Normal(s string) string { return normal(cleaned(s)) }
