// Package kb is the knowledge base as a library: sites of an account, with
// collections, categories and articles in several languages.
//
// [New] makes a [Service] over a [Store], which bunstore and memstore give out by
// their method KB: it lies in the same database as the help desk's and joins the
// same transactions. A caller works through a handle, and the handle's type says
// what can be done with it:
//
//   - [Sites]: makes and lists the sites of the caller's accounts ([Service.Sites])
//   - [Editor]: manages one site, for members of its account ([Service.Editor])
//   - [Visitor]: reads what one site has published; has no method that could ask
//     for a draft ([Service.Visitor])
//
// Making a handle finds the site and the caller's membership once and fixes both: a
// stranger gets not-found. Every method of a handle first asks for a permission,
// then validates its input, then touches data, and returns faults (package
// storage/fault).
//
// [Service.Operator] opens a site for whoever runs the program, [Editor.Rehearsal]
// tries a change without making it. Package exchange keeps a site as a folder of
// Markdown, fit for git.
//
// The package does not know the help desk. Who is a member of an account is asked
// of [Config].Membership; transport.Members answers from a helpdesk.Service.
package kb
