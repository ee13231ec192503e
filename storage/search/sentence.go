package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sentences splits a line of text into sentences. Marks of the end belong to their sentence.
func Sentences(text string) []string {
	var all []string
	begin := 0
	for i, r := range text {
		next := i + utf8.RuneLen(r)
		if !ends(r) || i < begin || !closes(text[begin:i], r, text[next:]) {
			continue
		}
		next += len(text[next:]) - len(strings.TrimLeftFunc(text[next:], closing))
		if s := strings.TrimSpace(text[begin:next]); s != "" {
			all = append(all, s)
		}
		begin = next
	}
	if s := strings.TrimSpace(text[begin:]); s != "" {
		all = append(all, s)
	}
	return all
}

// ends reports whether a character may end a sentence.
func ends(r rune) bool { return strings.ContainsRune(".!?…。！？｡؟۔।", r) }

// closing reports whether a character belongs to the sentence that ended before it.
func closing(r rune) bool { return ends(r) || strings.ContainsRune(`"'”’»)]」』）`, r) }

// closes reports whether a sentence ends with a mark between what it has so far and what follows. Those of scripts that are
// written without blanks always do; others are followed by a blank and no small letter, and a full stop comes after a word of
// several letters: "e.g.", "3.5" and "z. B." go on.
func closes(before string, mark rune, after string) bool {
	if strings.ContainsRune("。！？｡", mark) {
		return true
	}
	after = strings.TrimLeftFunc(after, closing)
	if after == "" {
		return true
	}
	rest := strings.TrimLeftFunc(after, unicode.IsSpace)
	if len(rest) == len(after) {
		return false
	}
	if first, _ := utf8.DecodeRuneInString(rest); unicode.IsLower(first) {
		return false
	}
	if mark != '.' {
		return true
	}
	words := strings.Fields(before)
	if len(words) == 0 {
		return false
	}
	last := strings.TrimLeft(words[len(words)-1], `"'“„«([`)
	return utf8.RuneCountInString(last) > 1 && !strings.Contains(last, ".") && !abbreviated[strings.ToLower(last)] && strings.ContainsFunc(last, unicode.IsLetter)
}

// abbreviated are words that are written with a full stop within sentences, before capital letters.
var abbreviated = map[string]bool{
	"mr": true, "mrs": true, "ms": true, "dr": true, "prof": true, "st": true, "vs": true, "etc": true, "no": true, "nr": true, "ca": true, "bzw": true,
	"ggf": true, "evtl": true, "inkl": true, "usw": true, "abb": true, "tel": true, "max": true, "min": true, "env": true, "fig": true, "art": true,
}
