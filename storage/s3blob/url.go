package s3blob

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/helpwright/helpwright/storage/fault"
)

// Scheme is the scheme of the addresses that [ParseURL] reads.
const Scheme = "s3:"

// ParseURL parses an address as used in settings:
//
//	s3://[ACCESS_KEY:SECRET_KEY@]BUCKET[/PREFIX][?endpoint=URL&region=NAME&path-style=true&credentials=role]
//
// Characters of the keys that a URL cannot contain are percent-encoded. Errors are Invalid faults of the field "URL", which
// never contain secrets.
func ParseURL(address string) (Config, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme+":" != Scheme || u.Host == "" || u.Fragment != "" {
		return Config{}, fault.Field("URL", "must be s3://BUCKET/PREFIX?endpoint=URL&region=NAME")
	}
	cfg := Config{Bucket: u.Host, AccessKey: u.User.Username()}
	cfg.SecretKey, _ = u.User.Password()
	if prefix := strings.Trim(u.Path, "/"); prefix != "" {
		cfg.Prefix = prefix + "/"
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Config{}, fault.Field("URL", "has a query that cannot be read")
	}
	for name, values := range query {
		if !slices.Contains([]string{"endpoint", "region", "path-style", "credentials"}, name) {
			return Config{}, fault.Field("URL", "may only have endpoint, region, path-style and credentials in its query")
		}
		if len(values) != 1 || values[0] == "" {
			return Config{}, fault.Field("URL", "must have "+name+" once, and not empty")
		}
	}
	cfg.Endpoint, cfg.Region = query.Get("endpoint"), query.Get("region")
	if from := query.Get("credentials"); from != "" {
		if cfg.Role = from == "role"; !cfg.Role {
			return Config{}, fault.Field("URL", "must have credentials=role, or none")
		}
	}
	if style := query.Get("path-style"); style != "" {
		if cfg.PathStyle, err = strconv.ParseBool(style); err != nil {
			return Config{}, fault.Field("URL", "must have path-style=true or path-style=false")
		}
	}
	return cfg, nil
}
