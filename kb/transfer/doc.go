// Package transfer moves all sites of an account's knowledge base: [Export] writes them into an archive of storage/transfer,
// an [Importer] takes them from there into any store. The account itself is moved by helpdesk/transfer; with
// transport/server both are one call.
//
// A site whose address is taken arrives at another path, without its custom domain and subdomain.
package transfer
