// Package api has the operations of the help desk's API and of the knowledge base's, one file for each noun, with their
// inputs and outputs.
//
// [New] makes the table of operations, which serves as an http.Handler:
//
//	table, err := api.New(api.Config{Service: svc, KB: knowledge})
//	mux.Handle(table.Base()+"/", table.Handler())
//
// An application adds operations of its own to the table, or mounts it beside its own pages. Package transport, the engine,
// serves the operations: binding, errors, entity tags, limits.
//
// Callers authenticate with an access token or, in a browser, with the cookie that POST /auth/login sets: HttpOnly,
// SameSite=Lax, Secure if the site is https. With the cookie, all methods except GET and HEAD are answered with 403 (code
// cross_origin) unless Sec-Fetch-Site is same-origin or, if the browser does not send it, Origin is this site's. Access
// tokens need none of this, as no browser adds them by itself.
//
// To add an operation: write its input struct, its output struct with `json` tags, a function from handle and input to
// output, and the line that adds them to the table; then `go generate ./transport/api` for the document, [OpenAPI].
package api
