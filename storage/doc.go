// Package storage holds what a backend author needs and both domains share: keyset paging ([Seek], [Page]), optional values
// ([Opt]), the transactional outbox ([Outbox], [Job], [Event]), files ([Blobs]) and encryption of secrets ([Sealer]).
//
// It imports the standard library only. Each domain declares the interfaces of its own data (helpdesk.Store); adapters
// implement both. The conformance suite storagetest checks an adapter.
package storage
