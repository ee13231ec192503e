// Package demo fills an empty database with a company that does not exist, for
// "helpwright demo": Halden makes coffee machines for the home. Its help centre lies in
// content, a folder as package exchange reads it; what its customers write, and how they
// are answered, lies in stories.
//
// Everything is made through the services, with a [Clock] that tells them when it
// happened, so that what the demo shows is what the services would have kept.
package demo
