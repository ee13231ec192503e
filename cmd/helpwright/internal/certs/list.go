package certs

import (
	"io/fs"
	"strings"

	"github.com/helpwright/helpwright/storage"
)

// listed returns the keys of items below top, without the prefix of the vault: those of files and folders directly below it,
// or with recursive all of them.
func listed(items []storage.VaultItem, top string, recursive bool) ([]string, error) {
	var keys []string
	seen := map[string]bool{}
	for _, item := range items {
		rest, below := strings.CutPrefix(item.Key, top+"/")
		if !below {
			continue
		}
		parts := strings.Split(rest, "/")
		if !recursive {
			parts = parts[:1]
		}
		path := top
		for _, part := range parts {
			path += "/" + part
			if !seen[path] {
				seen[path] = true
				keys = append(keys, strings.TrimPrefix(path, vaultPrefix))
			}
		}
	}
	if len(items) == 0 {
		return nil, fs.ErrNotExist
	}
	return keys, nil
}
