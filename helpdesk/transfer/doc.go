// Package transfer moves the whole account of a help desk: [Export] writes it into an archive of storage/transfer, an
// [Importer] takes it from there into any store, as a new account. kb/transfer does the same for the sites of the account's
// knowledge base; with transport/server both are one call.
//
// # What is left out
//
// [LeftOut] names what an archive does not have, and why. Passwords, keys and what second factors are checked with are in it
// only under a passphrase. Those of the tombstones of erased customers are not: see [helpdesk.Erasure].
//
// # What arrives in another state
//
// Two servers may know the account for a while, and nothing may happen twice. So mailboxes that were fetched arrive as
// forwarded ones, with all that they were fetched by, until somebody chooses their type again; webhooks arrive switched off;
// answers that were still to be sent arrive as failed ones, which a member can send again; answers with a time to be sent at
// arrive as drafts; and no notification is mailed. What is gone, such as a deleted user or a conversation that was merged,
// keeps a number of its own below zero.
package transfer
