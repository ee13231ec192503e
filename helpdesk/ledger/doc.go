// Package ledger has the nouns of inbound mail: how a mailbox is fetched, each received message and what became of it, the
// parsed message on its way to a conversation, and what is known about its author. The part of the store that keeps them is
// here; package helpdesk has the services that use them.
package ledger
