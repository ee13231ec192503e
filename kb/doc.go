// Package kb is the knowledge base as a library: sites of an account, with collections, categories and articles in several
// languages.
//
// [New] returns a [Service] on a [Store]. The KB methods of bunstore and memstore return a store that shares the help desk's
// database and joins its transactions. A caller works through a handle, whose type determines what the caller can do:
//
//   - [Sites] creates and lists the sites of the caller's accounts ([Service.Sites])
//   - [Editor] manages one site, for members of its account ([Service.Editor])
//   - [Visitor] reads what one site has published; no method of it can return a draft
//     ([Service.Visitor])
//
// Opening a handle looks up the site and the caller's membership once; both then stay fixed. For a caller who is not a
// member the site does not exist (a NotFound fault). Every method of a handle checks a permission, then validates its input,
// then touches data. It returns faults (package storage/fault).
//
// [Service.Operator] opens a site for the operator of the program, and [Editor.Rehearsal] tries a change without making it.
// Package exchange stores a site as a folder of Markdown files, fit for git.
//
// The package does not depend on the help desk. [Config].Membership says who is a member of an account;
// transport/api.Members implements it with a helpdesk.Service.
package kb
