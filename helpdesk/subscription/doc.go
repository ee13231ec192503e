// Package subscription has the types for following an account's events: queries of the event log, events in the form in which
// they are published (CloudEvents 1.0), webhooks (Standard Webhooks) and their deliveries, and the part of the store that
// keeps them. The methods that use them are those of helpdesk.Desk and helpdesk.Dispatch.
package subscription
