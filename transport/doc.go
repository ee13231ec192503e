// Package transport is the engine of the HTTP API. It is independent of the help desk: the operations are in transport/api,
// and an application may serve its own in the same way.
//
// One [Table] of operations is the API. Serving, the OpenAPI document and the tests of authorization and of errors are
// derived from it. An operation is added with [Handle] (an object), [HandlePage] (a list), [HandleEmpty] (204),
// [HandleContent] (a file) or [HandleStream] (events). Its function gets a handle of the domain, which a [Resolver] made
// from the request, and a typed input. It never sees a token or a ResponseWriter.
//
// Inputs are structs with tags `json` (the body, in any of the three encodings), `path` and `query`; see [Handle]. Outputs
// are structs with `json` tags: a field without omitempty is documented as always present, and timestamps are [Time]. Errors
// are faults of storage/fault and become RFC 9457 problems in one place.
//
// All operations share rate limits ([Limiter], [Buckets]), a limit on memory and, for POST, the Idempotency-Key header;
// [Config] has them all.
//
// [Table.Handler] serves the table under any mux, also below http.StripPrefix.
package transport
