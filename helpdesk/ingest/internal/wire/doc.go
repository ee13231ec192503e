// Package wire contains what the protocols for fetching mail share: connecting to a server securely, the deadline and byte
// limit of every step, errors that name the step, and backoff. Packages imap and pop3 build on it. It depends neither on
// them nor on the help desk.
package wire
