// Package rules is the pure part of rules that act by themselves: which conditions there are, whether they hold, and what
// actions would change. It knows no store and no clock. Everything is plain values, as texts: ids and numbers in decimal, true
// or false, times as of RFC 3339 in UTC, days such as 2026-01-31.
//
// A [Vocabulary] has the fields that conditions can be about, with [Check] rules are validated, [Compile] makes a [Set] of
// them, and [Compiled.Matches] tells whether one holds for [Facts].
package rules
