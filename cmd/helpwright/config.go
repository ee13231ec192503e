package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/alecthomas/kong"
)

// configFile is a file of settings. An unknown key is an error, as the intended setting would not take effect.
type configFile map[string]any

// readConfig reads a file of settings.
func readConfig(r io.Reader) (kong.Resolver, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxConfig+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxConfig {
		return nil, errors.New("the file of --config is too large")
	}
	if err := doubled(text); err != nil {
		return nil, err
	}
	file := configFile{}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("the file of --config: %w", err)
	}
	return file, nil
}

const maxConfig = 1 << 20

// doubled reports a duplicate key.
func doubled(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return nil //nolint:nilerr // the JSON decoder reports the problem
	}
	seen := map[string]bool{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		name, _ := key.(string)
		if seen[name] {
			return fmt.Errorf("the file of --config has %q twice", name)
		}
		seen[name] = true
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return nil //nolint:nilerr // the decoder of the settings reports the problem
		}
	}
	return nil
}

// Validate implements [kong.Resolver].
func (c configFile) Validate(app *kong.Application) error {
	known := map[string]bool{}
	for _, flag := range settingFlags(app) {
		known[keyOf(flag)] = true
	}
	var unknown []string
	for _, key := range slices.Sorted(maps.Keys(c)) {
		if !known[key] {
			unknown = append(unknown, fmt.Sprintf("%q is not a setting%s", key, likely(strings.ReplaceAll(key, "-", "_"), slices.Sorted(maps.Keys(known)))))
		}
		if c[key] == nil && known[key] {
			unknown = append(unknown, fmt.Sprintf("%q has no value: leave it out", key))
		}
	}
	if len(unknown) > 0 {
		return fmt.Errorf("the file of --config: %s", strings.Join(unknown, "; "))
	}
	return nil
}

// Resolve implements [kong.Resolver]. Variables overrule the file.
func (c configFile) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if len(flag.Envs) == 0 || variable(flag) != "" {
		return nil, nil //nolint:nilnil // there is no value
	}
	return c[keyOf(flag)], nil
}

// settingFlags returns the flags that are settings.
func settingFlags(app *kong.Application) []*kong.Flag {
	return slices.DeleteFunc(slices.Clone(app.Flags), func(f *kong.Flag) bool { return len(f.Envs) == 0 })
}

func keyOf(flag *kong.Flag) string { return strings.ReplaceAll(flag.Name, "-", "_") }

// variable returns the environment variable that sets a flag, "" if there is none.
func variable(flag *kong.Flag) string {
	for _, name := range flag.Envs {
		if _, ok := os.LookupEnv(name); ok {
			return name
		}
	}
	return ""
}

const variablePrefix = "HELPWRIGHT_"

// unknownVariables returns the variables that look like settings but are not. They are not errors, as other programs set
// variables, too: for example, Kubernetes for a service of the same name.
func unknownVariables(app *kong.Application, environment []string) []string {
	var known, unknown []string
	for _, flag := range settingFlags(app) {
		known = append(known, flag.Envs...)
	}
	for _, pair := range environment {
		name, _, _ := strings.Cut(pair, "=")
		rest, ours := strings.CutPrefix(name, variablePrefix)
		if !ours || slices.Contains(known, name) {
			continue
		}
		first, _, _ := strings.Cut(rest, "_")
		if first == "TEST" || first == "PORT" || first == "SERVICE" {
			continue
		}
		unknown = append(unknown, name+" is not a setting"+likely(name, known))
	}
	slices.Sort(unknown)
	return unknown
}

// likely suggests a similar name, if there is one.
func likely(name string, known []string) string {
	best, nearest := "", max(2, len(strings.TrimPrefix(name, variablePrefix))/3)+1
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d < nearest {
			best, nearest = k, d
		}
	}
	if best == "" {
		return ""
	}
	return ". Did you mean " + best + "?"
}

// distance returns how many characters have to be added, removed or replaced (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// setting is an effective setting.
type setting struct {
	name   string // variable
	value  string
	origin string // its source
	hidden string // the secret part: "", "url" or "all"
	usual  bool   // it has the default value
}

// shown returns the value without secrets.
func (s setting) shown() string {
	switch {
	case s.value == "" || s.hidden == "":
		return s.value
	case s.hidden == "url" && strings.HasPrefix(s.value, "file:"):
		return s.value
	case s.hidden == "url":
		var parts []string
		for part := range strings.FieldsSeq(s.value) {
			parts = append(parts, withoutPassword(part))
		}
		return strings.Join(parts, " ")
	}
	return "(hidden)"
}

// withoutPassword returns an address without its password.
func withoutPassword(address string) string {
	if !strings.Contains(address, "://") {
		if strings.HasPrefix(address, "sqlite:") {
			return address
		}
		return "(hidden)"
	}
	u, err := url.Parse(address)
	if err != nil {
		return "(hidden)"
	}
	if _, has := u.User.Password(); has {
		u.User = url.UserPassword(u.User.Username(), "hidden")
	}
	query := u.Query()
	for name := range query {
		if strings.Contains(strings.ToLower(name), "pass") {
			query.Set(name, "hidden")
			u.RawQuery = query.Encode()
		}
	}
	return u.String()
}

// inForce returns all effective settings, after the command line was parsed.
func inForce(ctx *kong.Context, file string) []setting {
	given, fromFile := map[*kong.Flag]bool{}, map[*kong.Flag]bool{}
	for _, p := range ctx.Path {
		if p.Flag != nil && p.Resolved {
			fromFile[p.Flag] = true
		} else if p.Flag != nil {
			given[p.Flag] = true
		}
	}
	var all []setting
	for _, flag := range settingFlags(ctx.Model) {
		s := setting{name: flag.Envs[0], value: valueText(flag.Target), origin: "default", hidden: flag.Tag.Get("secret")}
		switch name := variable(flag); {
		case given[flag]:
			s.origin = "--" + flag.Name
		case name != "":
			s.origin = "variable"
		case fromFile[flag]:
			s.origin = file
		default:
			s.usual = true
		}
		all = append(all, s)
	}
	return all
}

func valueText(v reflect.Value) string {
	if list, ok := v.Interface().([]string); ok {
		return strings.Join(list, ",")
	}
	return fmt.Sprint(v.Interface())
}

// portable returns the settings that another server with the same data should share: no secrets and no locations.
func portable(all []setting) map[string]string {
	values := map[string]string{}
	for _, s := range all {
		if s.hidden == "" && s.name != "HELPWRIGHT_DATA" && !strings.HasPrefix(s.name, "AWS_") {
			values[s.name] = s.value
		}
	}
	return values
}

type configCmd struct {
	Show configShowCmd `cmd:"" help:"Print the effective settings, where each comes from, and what is wrong with them. Secrets are hidden."`
}

type configShowCmd struct{}

// Run prints the settings.
func (configShowCmd) Run(s *session) error {
	w := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
	for _, one := range s.shown {
		fmt.Fprintf(w, "%s\t%s\t%s\n", one.name, one.shown(), one.origin)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return s.settings.check()
}
