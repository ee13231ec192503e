// Package transport is the door of the module: the HTTP API over the domains.
//
// [API] is the help desk's API; an application adds its own operations to the
// table, or mounts it beside its own pages.
//
// One [Table] of operations is the API. Serving, the OpenAPI document and the
// tests of authorization and of errors come from it. An operation is added with
// [Handle] (an object), [HandlePage] (a list), [HandleEmpty] (204) or
// [HandleContent] (a file); its function gets a handle of the domain, which a
// [Resolver] made out of the request, and a typed input, and never sees a token or
// a ResponseWriter.
//
// Inputs are structs with tags `json` (the body, in any of the three encodings),
// `path` and `query`; see [Handle].
//
// To add an operation: write its input struct, its output struct with `json` tags
// (a field without omitempty is documented as always there; timestamps are
// [Time]), a function from handle and input to output, and one line that adds them
// to the table; then `go generate ./transport` for the document. Errors are faults
// of storage/fault and become RFC 9457 problems in one place.
//
// Around all operations lie limits of requests ([Limiter], [Buckets]) and, for
// POST, the Idempotency-Key header; [Config] has both.
//
// Who asks is known by an access token, or in a browser by the cookie that POST
// /auth/login sets: HttpOnly, SameSite=Lax, Secure where the site is https. With the
// cookie, everything but GET and HEAD is 403 (code cross_origin) unless
// Sec-Fetch-Site is same-origin or, from a browser that does not send it, Origin is
// this site's. An access token needs none of this: no browser adds it by itself.
//
// [Table.Handler] serves the table under any mux, also below http.StripPrefix.
package transport
