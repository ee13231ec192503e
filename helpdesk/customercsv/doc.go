// Package customercsv exports and imports customers as a table of comma-separated values (RFC 4180).
//
// A table that [Export] wrote can be changed in a spreadsheet and imported again. Tables of others may have other columns, which
// [Match] recognizes by their names, separators (comma, semicolon, tab) and encodings (UTF-8, UTF-16, Windows-1252).
package customercsv
