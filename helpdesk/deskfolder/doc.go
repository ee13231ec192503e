// Package deskfolder keeps how a desk is set up in a folder of YAML files, one for each kind: tags, fields, calendars, teams,
// saved replies with their macros, views, automatic replies, surveys, SLAs and rules. The files name things and never number
// them, so that a folder can be compared, kept under version control and applied to another account: members by their mail
// address, mailboxes by theirs, the rest by name. Secrets, members and customers are not in it.
//
// [Export] reads a desk, [Save] writes the folder and [Read] reads it. [Plan] tells what a folder would change and [Apply]
// changes it, in one transaction. See section 11 of the specification of automation.
package deskfolder
