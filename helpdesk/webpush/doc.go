// Package webpush sends messages to browsers through their push services: encrypted for the browser (RFC 8291) and signed by
// the server (RFC 8292). It needs nothing but the standard library.
package webpush
