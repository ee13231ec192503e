// Package exchange writes a site's content as a folder of Markdown files with YAML
// front matter, fit to be kept in git, and reads it back.
//
//	site.yaml                                     name, visibility, html_head, look
//	collections/<collection>/index.<locale>.md    a collection; the text is its summary
//	collections/<collection>/categories/<category>.<locale>.md
//	collections/<collection>/articles/<article>.<locale>.md
//	collections/<collection>/articles/<article>.<locale>.draft.md
//	files/<name>                                  site files
//
// The names in angle brackets are keys: they say which file is which article, in
// whatever site the folder is read into, and stay when a title changes. What all
// languages of a thing share stands in the file of its source locale, which says
// source: true.
//
// Texts link to each other and to files by relative paths.
//
// [ReadDocs] reads a folder of ordinary Markdown documentation in the same form.
//
// [Exchange] joins a site with such a folder. [Save] and [Read] keep one on disk: they
// follow no symbolic links, and Read names all that is wrong by file and line.
package exchange
