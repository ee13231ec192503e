// Package exchange writes a site's content as a folder of Markdown files with YAML front matter, fit for git, and reads it
// back.
//
//	site.yaml                                     name, visibility, html_head, look
//	collections/<collection>/index.<locale>.md    a collection; the text is its summary
//	collections/<collection>/categories/<category>.<locale>.md
//	collections/<collection>/articles/<article>.<locale>.md
//	collections/<collection>/articles/<article>.<locale>.draft.md
//	files/<name>                                  site files
//
// The names in angle brackets are keys. They identify a resource in any site that the folder is imported into, and stay the
// same when titles change. Fields that all languages of a resource share are in the file of its source locale, which sets
// source: true. There, unfinished: true lets a version that readers do not see have no title or no content yet.
//
// Texts link to each other and to files by relative paths.
//
// [ReadDocs] reads a folder of ordinary Markdown documentation into the same form.
//
// [Exchange] imports and exports such a folder. [Save] and [Read] write and read it on disk. They follow no symbolic links,
// and Read reports all problems by file and line.
package exchange
