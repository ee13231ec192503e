// Package transfer moves a whole help desk account: [Export] writes it to an archive of storage/transfer, and an
// [Importer] reads it into any store, as a new account. kb/transfer does the same for the sites of the account's
// knowledge base; transport/server combines both in one call.
//
// # What is left out
//
// [LeftOut] lists what an archive does not contain, and why. Passwords, keys and second-factor secrets are included
// only under a passphrase. The keys of erased customers' tombstones are the exception: see [helpdesk.Erasure].
//
// # What changes state
//
// Two servers may have the account for a while, and nothing may happen twice. So fetched mailboxes arrive as
// forwarding ones that keep their connection settings until someone selects their type again; webhooks arrive turned off;
// unsent replies arrive as failed, so that a member can send them again; scheduled replies
// arrive as drafts; and no notification is mailed. Deleted objects that rows refer to, such as users or merged conversations,
// each keep a negative id of their own.
package transfer
