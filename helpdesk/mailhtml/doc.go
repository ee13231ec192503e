// Package mailhtml makes the HTML of mails fit to be shown, and converts between it
// and plain text.
//
// [Clean] comes first: what it returns is safe inside of an agent's page and balanced,
// so that nothing of it reaches what follows. [Fold], [Preview], [CIDs] and
// [RewriteImages] are views on cleaned HTML and remove nothing from what is stored.
// [FromText], [FromInput] and [Text] convert.
//
// All functions take any bytes, never panic, take time in proportion to their input
// and keep no state.
package mailhtml
