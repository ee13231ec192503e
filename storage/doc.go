// Package storage is what the author of a backend must know, and nothing of the
// two domains that stand on it: keyset paging ([Seek], [Page]), optional values
// ([Opt]), the outbox that is part of every transaction ([Outbox], [Job],
// [Event]), files ([Blobs]) and the sealing of secrets ([Sealer]).
//
// It imports the standard library only. The interfaces of the domains' own data
// are declared by the domains (helpdesk.Store); adapters implement both. The
// conformance suite storagetest proves an adapter.
package storage
