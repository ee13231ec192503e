// Package contenthtml makes what authors write fit to be read: it cleans the HTML of
// articles, turns Markdown into it and takes the words out of it.
//
// [Clean] comes first: what it returns runs nothing, is balanced, so that nothing of
// it reaches what follows, and gives every heading an anchor. [Text] and [Headings]
// are views on it. [FromMarkdown] is the other way in and cleans alike.
//
// All functions take any bytes, never panic, take time in proportion to their input
// and keep no state.
package contenthtml
