// Package server assembles a help desk: the services, the API and the help centres over HTTP, inbound and outbound mail,
// jobs, webhooks and the sweeping of files. [New] takes one [Config], [Server.Handler] is the HTTP side, and [Server.Run]
// does all background work.
//
// A store, blobs, a key and a relay are enough:
//
//	srv, err := server.New(server.Config{Store: db, Blobs: files, Keys: [][]byte{key}, Relay: relay, BaseURL: "https://help.example.org"})
//	...
//	http.Handle("/", srv.Handler())
//	go srv.Run(ctx)
//
// Each part can be replaced or tuned: settings that the parts share are in [Config] itself, those of a single part in the
// part's own Config within it. The only SQL driver linked is the store's.
package server
