// Package wire is what the protocols share by which mail is fetched: how a server is reached and secured, the deadline
// and the limit of bytes of every step, the errors that name the step, and how long to wait after one. Packages imap and
// pop3 build on it; it knows neither of them, and no help desk.
package wire
