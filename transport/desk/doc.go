// Package desk serves the agents' pages: the inbox, conversations, customers and settings, as one [http.Handler] that can be
// mounted under any path.
//
// Pages are rendered on the server and work without scripts. The script assets/desk.js loads parts of the same pages: a
// request with a Desk-Target header that names the ids of elements is answered with those elements alone, each in a
// <template data-swap>. GET requests change nothing; changes are made by POST of a form, answered with 303.
//
// All pages use a [helpdesk.Desk] as the API does, so members see and do only what their roles allow.
package desk
