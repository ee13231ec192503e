package desk

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/storage/fault"
)

// reason says why the form was refused, in the member's language.
func (v *visit) reason(err error, code int) string {
	f, _ := asFault(err)
	switch {
	case f == nil || code >= http.StatusInternalServerError:
		return v.words.T("Something went wrong on the server. What you wrote is kept here.")
	case len(f.Fields) > 0:
		var all []string
		for _, field := range slices.Sorted(maps.Keys(f.Fields)) {
			all = append(all, v.fieldProblem(field, strings.Join(f.Fields[field], " ")))
		}
		return strings.Join(slices.Compact(all), ". ")
	case f.Kind == fault.TooLarge:
		return v.tooLarge(f.Message)
	case f.Kind == fault.RateLimited && f.Message == "":
		return v.words.T("Too many requests. Try again in a minute.")
	}
	return v.words.T(f.Text())
}

// tooLarge says how large a file may be. The service's faults name the limit that applies.
func (v *visit) tooLarge(message string) string {
	limit, found := strings.CutPrefix(message, "The file is larger than ")
	if !found {
		return v.words.T(message)
	}
	limit, _, _ = strings.Cut(limit, " ")
	return v.named(v.words.T("Largest file: %s MB", limit))
}

// named puts the name of the form's file before a text, if the form has one file.
func (v *visit) named(text string) string {
	if name := v.formValue("file"); name != "" {
		return name + ": " + text
	}
	return text
}

// fieldProblem says what is wrong with a field, such as "to[1]", and quotes what it holds if that is short.
func (v *visit) fieldProblem(field, problem string) string {
	name, _, _ := strings.Cut(field, "[")
	value := v.formValue(field)
	switch {
	case name == "file" && value != "":
		return value + ": " + v.words.T(cmp.Or(plainFile[problem], plain[problem], problem))
	case problem == "is not an email address" && value != "":
		return v.words.T("%s is not an email address", value)
	}
	if text := plain[problem]; text != "" {
		return v.words.T(text)
	}
	if first := problem[:min(1, len(problem))]; first != strings.ToLower(first) { // a sentence
		return v.words.T(problem)
	}
	return strings.ReplaceAll(name, "_", " ") + ": " + v.words.T(problem)
}

// plainFile is plain for problems of files, which follow their name.
var plainFile = map[string]string{
	"files of this type are not accepted": say("this type is not allowed"),
	"programs are not accepted":           say("this type is not allowed"),
	"is required":                         say("This is required"),
}

// formValue returns what the form holds in a field, "" if that is too long to quote. Its lists of addresses have an item
// each, and its one file a name.
func (v *visit) formValue(field string) string {
	name, index, listed := strings.Cut(field, "[")
	value := ""
	if v.r.PostForm == nil { // it was not read
		return ""
	}
	switch {
	case name == "file":
		if form := v.r.MultipartForm; form != nil && len(form.File["file"]) == 1 {
			value = form.File["file"][0].Filename
		}
	case listed:
		index, _, _ = strings.Cut(index, "]")
		items := split(v.r.PostFormValue(name))
		if at := number(index); at < int64(len(items)) {
			value = items[at]
		}
	default:
		value = v.r.PostFormValue(name)
	}
	if len(value) > 120 {
		return ""
	}
	return value
}
