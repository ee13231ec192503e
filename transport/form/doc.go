// Package form reads request bodies of all three encodings (form, multipart, JSON) into one tree, so that one decoder and
// one set of limits serve them all.
//
// Names of form fields are in bracket notation: `a[b]`, `a[0][b]`, `a[]`, mixed and nested. `[]` appends: each one is a new
// element, as in PHP. A name that comes again replaces the value before it, unless its target is a list, which takes them
// all.
//
// Malformed brackets (`a[b`, `a]`, `a[b]c`, `[a]`) are an error on that field, not a literal key: a mistyped name must not
// look like a field left out.
package form
