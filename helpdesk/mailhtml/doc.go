// Package mailhtml prepares the HTML of messages for display, and converts between HTML and plain text.
//
// [Clean] comes first: its result is safe inside an agent's page and balanced, so that it cannot affect what follows.
// [Fold], [Preview], [CIDs] and [RewriteImages] derive views from cleaned HTML and leave the stored HTML unchanged.
// [FromText], [FromInput] and [Text] convert.
//
// All functions accept any bytes, never panic, run in linear time and keep no state.
package mailhtml
