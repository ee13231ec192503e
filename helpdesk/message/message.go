// Package message has the type of a mail message, which the parser returns and the help desk files.
package message

import (
	"time"

	"github.com/helpwright/helpwright/helpdesk/mailaddr"
)

// Message is an internet message (RFC 5322): the fields of its header, decoded, and its bodies and files (RFC 2045).
//
// HTML, if not empty, is the whole body: it contains the parts that are plain text only, escaped. Text, if not empty, is the
// whole body as plain text. A message written in HTML alone has no Text.
type Message struct {
	MessageID  string   // first well-formed id, without angle brackets; "": none
	InReplyTo  []string // ids, without duplicates
	References []string // ids in order, without duplicates

	From    []mailaddr.Address // the authors, see [Message.FirstAuthor]
	Sender  []mailaddr.Address // who sent it on their behalf; at most one, if it is well-formed
	ReplyTo []mailaddr.Address
	To, Cc  []mailaddr.Address
	Bcc     []mailaddr.Address // of a copy kept by its sender
	// DeliveredTo contains the envelope recipients that servers recorded in transit: Delivered-To, X-Original-To, Envelope-To,
	// X-Envelope-To, X-Delivered-To.
	DeliveredTo []mailaddr.Address

	Subject string
	Date    time.Time // UTC; zero: none, or not readable

	ReturnPath     string // address of the first Return-Path
	NullReturnPath bool   // Return-Path: <>, as bounces have
	// AutoSubmitted: a program sent this message by itself, and expects no answer (RFC 3834).
	AutoSubmitted bool
	// NoAutoReply: no program may answer this message, because a program sent it or its sender asks for that. A person who
	// expects an answer may have written it.
	NoAutoReply bool
	Language    string // first of Content-Language (RFC 3282); "": none
	ListID      string // list identifier (RFC 2919), without angle brackets
	ListPost    string // address by which a mailing list takes mails (RFC 2369)

	Text, HTML  string
	Attachments []Part
}

// Part is a part of a message that is not its body text.
type Part struct {
	Filename    string // safe to use as a file name, at most 255 bytes
	ContentType string // media type in lower case, without parameters
	Charset     string // declared charset of a text part in lower case; "": none
	ContentID   string // without angle brackets
	Location    string // Content-Location (RFC 2557)
	Inline      bool   // meant to be shown inside the body
	Body        []byte // decoded
}

// FirstAuthor returns the first address of From, or the zero Address.
func (m *Message) FirstAuthor() mailaddr.Address { return first(m.From) }

// FirstSender returns the address of Sender, or the zero Address.
func (m *Message) FirstSender() mailaddr.Address { return first(m.Sender) }

func first(all []mailaddr.Address) mailaddr.Address {
	if len(all) == 0 {
		return mailaddr.Address{}
	}
	return all[0]
}
