// Package sending has the nouns of outbound mail: domains and their DNS records, the deliveries of a reply and the reports
// that come back, suppressed addresses, and the mails that the system writes itself. Package helpdesk has the services that
// use them.
package sending
