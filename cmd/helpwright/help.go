package main

import (
	"slices"

	"github.com/alecthomas/kong"
)

// Settings used by commands.
var (
	everything = []string{"*"}
	bucket     = []string{"aws-access-key-id", "aws-secret-access-key", "aws-session-token", "aws-region"}
	stored     = append([]string{"data", "database-url", "blob-url"}, bucket...)
	sealed     = append([]string{"secret-key"}, stored...)
)

// settingsOf returns the settings that a command uses, by its path. A command that is not listed has none.
func settingsOf(path string) []string {
	switch path {
	case "serve", "config show":
		return everything
	case "demo":
		return []string{"listen", "base-url", "max-attachment", "max-site-file", "rate-limit", "public-rate-limit", "trusted-proxies"}
	case "healthcheck":
		return []string{"listen"}
	case "log level", "log format":
		return []string{"metrics-listen"}
	case "migrate":
		return stored
	case "blobs copy":
		return append([]string{"data"}, bucket...)
	case "user create", "token create", "kb export", "blobs adopt", "blobs sweep", "backup", "restore", "jobs list", "jobs retry", "jobs drop",
		"customers erase", "customers erased list", "customers erased export", "customers erased apply",
		"reports rebuild", "desk export", "desk plan", "desk apply",
		"account export", "account import",
		"keys list", "keys add", "keys rotate", "keys drop",
		"user list", "user show", "user disable", "user enable", "user delete", "user reset-second-factor", "user remove-passkeys":
		return sealed
	case "user reset-password":
		return append([]string{"listen", "base-url", "bootstrap-email"}, sealed...)
	case "mail import":
		return append([]string{"trusted-authserv-ids", "intake-domain"}, sealed...)
	case "import zendesk", "import helpscout", "import freescout":
		return append([]string{"intake-domain"}, sealed...)
	case "kb import":
		return append([]string{"max-site-file"}, sealed...)
	case "doctor":
		return append([]string{
			"listen", "tls-listen", "tls-cert", "tls-key", "acme-email", "acme-hosts", "base-url", "lmtp-listen", "metrics-listen",
			"intake-listen", "intake-tls-cert", "intake-tls-key", "intake-domain", "smtp-url", "allow-private-hosts", "dns-server", "spf",
		}, sealed...)
	}
	return nil
}

// printHelp shows commands first, and then only the settings that a command uses.
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	used := []string{"data"}
	if selected := ctx.Selected(); selected != nil {
		used = settingsOf(selected.Path())
	}
	for _, flag := range ctx.Model.Flags {
		if len(flag.Envs) > 0 {
			flag.Hidden = !slices.Contains(used, flag.Name) && !slices.Contains(used, "*")
		}
	}
	return kong.DefaultHelpPrinter(options, ctx)
}
