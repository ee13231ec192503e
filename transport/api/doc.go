// Package api holds the operations of the help desk's API and of the knowledge base's,
// one file for each noun, with what they take and answer.
//
// [New] makes the table of them, which serves as an http.Handler:
//
//	table, err := api.New(api.Config{Service: svc, KB: knowledge})
//	mux.Handle(table.Base()+"/", table.Handler())
//
// An application adds operations of its own to the table, or mounts it beside its own
// pages. How operations are served (binding, errors, entity tags, limits) is the engine's,
// package transport.
//
// Callers are known by an access token, or in a browser by the cookie that POST
// /auth/login sets: HttpOnly, SameSite=Lax, Secure where the site is https. With the
// cookie, everything but GET and HEAD is 403 (code cross_origin) unless
// Sec-Fetch-Site is same-origin or, from a browser that does not send it, Origin is
// this site's. An access token needs none of this: no browser adds it by itself.
//
// To add an operation: write its input struct, its output struct with `json` tags, a
// function from handle and input to output, and the line that adds them to the table;
// then `go generate ./transport/api` for the document, [OpenAPI].
package api
