// Package subscription has the nouns of those who follow an account's events: the events as they are published (CloudEvents
// 1.0), webhooks (Standard Webhooks) and their deliveries, and the part of the store that keeps them.
package subscription
