// Package contenthtml prepares what authors write for display: it cleans the HTML of articles, converts Markdown to such
// HTML and extracts its text.
//
// [Clean] comes first: its output runs no scripts, is balanced, so that it cannot affect the page after it, and has an
// anchor for every heading. [Text] and [Headings] work on it. [FromMarkdown] cleans its output in the same way.
//
// All functions accept any bytes, never panic, take time proportional to their input and keep no state.
package contenthtml
