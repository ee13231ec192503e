package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" help:"The shell that the script is for." enum:"bash,zsh,fish"`
}

// Run prints the script for the shell to load at its start.
func (c *completionCmd) Run(s *session) error {
	_, err := fmt.Fprint(s.stdout, completions[c.Shell])
	return err
}

// completions are scripts that call the program itself for the candidates, so they fit every version of it.
var completions = map[string]string{
	"bash": `# helpwright completion bash >/etc/bash_completion.d/helpwright
_helpwright() {
	local IFS=$'\n'
	COMPREPLY=($("${COMP_WORDS[0]}" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1))
}
complete -o default -F _helpwright helpwright
`,
	"zsh": `#compdef helpwright
# helpwright completion zsh >"${fpath[1]}/_helpwright"
_helpwright() {
	local -a found
	local line
	for line in "${(@f)$("${words[1]}" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
		[[ -n $line ]] && found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
	done
	if (( ${#found} )); then _describe helpwright found; else _files; fi
}
if [ "${funcstack[1]}" = _helpwright ]; then _helpwright "$@"; else compdef _helpwright helpwright; fi
`,
	"fish": `# helpwright completion fish >~/.config/fish/completions/helpwright.fish
function __helpwright_complete
	set -l words (commandline -opc)
	set -l found ($words[1] complete -- $words[2..] (commandline -ct) 2>/dev/null)
	if set -q found[1]; string join \n -- $found; else; __fish_complete_path (commandline -ct); end
end
complete -c helpwright -f -a '(__helpwright_complete)'
`,
}

type completeCmd struct {
	Words []string `arg:"" optional:"" passthrough:"" help:"The words of the line so far; the last one may be incomplete."`
}

// Run prints the candidates for the last word, one per line with a tab and a description.
func (c *completeCmd) Run(s *session) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		return usageError{errors.New("complete needs the words of the line so far, the last one may be empty")}
	}
	for _, found := range candidates(s.model, words[:len(words)-1], words[len(words)-1]) {
		fmt.Fprintf(s.stdout, "%s\t%s\n", found.word, found.help)
	}
	return nil
}

// candidate is a possible next word, with its description.
type candidate struct{ word, help string }

// candidates returns the candidates with the prefix of the last word.
func candidates(app *kong.Application, before []string, last string) []candidate {
	node, value := follow(app, before)
	var all []candidate
	switch {
	case value != nil:
		all = choices(value)
	case strings.HasPrefix(last, "-"):
		for _, flag := range commandFlags(app, node) {
			all = append(all, candidate{"--" + flag.Name, firstSentence(flag.Help)})
		}
	default:
		for _, child := range node.Children {
			if !child.Hidden {
				all = append(all, candidate{child.Name, firstSentence(child.Help)})
			}
		}
		for _, positional := range node.Positional {
			all = append(all, choices(positional)...)
		}
	}
	return slices.DeleteFunc(all, func(c candidate) bool { return !strings.HasPrefix(c.word, last) })
}

// follow finds the command in the words, and the flag that needs a value if the last word is one.
func follow(app *kong.Application, words []string) (node *kong.Node, value *kong.Value) {
	node = app.Node
	for _, word := range words {
		if value != nil {
			value = nil
			continue
		}
		if name, long := strings.CutPrefix(word, "--"); long {
			for _, flag := range commandFlags(app, node) {
				if flag.Name == name && !flag.IsBool() {
					value = flag.Value
				}
			}
			continue
		}
		for _, child := range node.Children {
			if child.Name == word {
				node = child
				break
			}
		}
	}
	return node, value
}

// commandFlags returns the flags of a command, its own first, then the settings that it uses.
func commandFlags(app *kong.Application, node *kong.Node) []*kong.Flag {
	var flags []*kong.Flag
	if node != app.Node {
		flags = append(flags, node.Flags...)
	}
	used := settingsOf(node.Path())
	for _, flag := range app.Flags {
		if len(flag.Envs) == 0 || slices.Contains(used, flag.Name) || slices.Contains(used, "*") {
			flags = append(flags, flag)
		}
	}
	return slices.DeleteFunc(flags, func(f *kong.Flag) bool { return f.Tag != nil && f.Tag.Hidden })
}

// choices returns the possible values of a flag or an argument, if there are few.
func choices(v *kong.Value) []candidate {
	var all []candidate
	for _, one := range v.EnumSlice() {
		if one != "" {
			all = append(all, candidate{one, ""})
		}
	}
	return all
}

func firstSentence(text string) string {
	first, _, _ := strings.Cut(text, ". ")
	return strings.TrimSuffix(strings.Join(strings.Fields(first), " "), ".")
}
