// Package demo fills an empty database with an invented company, for "helpwright demo": Halden makes coffee machines for the
// home. Its help centre is in content, a folder in the format of package exchange; its customers' messages and their answers
// are in stories.
//
// Everything is created through the services, with a [Clock] that provides the times, so that the demo shows exactly what
// the services would have stored.
package demo
