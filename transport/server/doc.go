// Package server puts the parts of a help desk together: the services, the API and the help centres over HTTP, mail in
// and out, jobs, webhooks and the sweeping of files. [New] takes one [Config], [Server.Handler] is the HTTP side, and
// [Server.Run] does everything that happens by itself.
//
// A store, blobs, a key and a relay are enough:
//
//	srv, err := server.New(server.Config{Store: db, Blobs: files, Keys: [][]byte{key}, Relay: relay, BaseURL: "https://help.example.org"})
//	...
//	http.Handle("/", srv.Handler())
//	go srv.Run(ctx)
//
// Each part can be replaced or tuned: what the parts share stands in [Config] itself, and what a single part knows in
// the part's own Config within it. No SQL driver is linked but for that of the store.
package server
