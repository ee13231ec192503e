// Package desk is the pages that agents work in: the inbox, conversations, customers and
// settings, as one [http.Handler] that can be mounted under any path.
//
// Pages are rendered on the server and work without scripts. With scripts, the module
// assets/desk.js asks for parts of the same pages: a request with a Desk-Target header that
// names the ids of elements is answered with those elements alone, each in a
// <template data-swap>. GET requests change nothing; what changes something is a POST of a
// form, answered with 303.
//
// All pages use a [helpdesk.Desk] as the API does, so that a member sees and does what their
// roles allow.
package desk
