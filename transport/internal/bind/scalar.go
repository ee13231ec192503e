package bind

import (
	"encoding"
	"errors"
	"math"
	"reflect"
	"strconv"
	"time"

	"github.com/helpwright/helpwright/transport/form"
)

// text returns the node's text, and reports a problem unless the node is of one of the kinds.
func text(d *decoding, n *form.Node, problem string, kinds ...form.Kind) (string, bool) {
	for _, k := range kinds {
		if n.Kind() != k {
			continue
		}
		if !n.Valid() {
			d.problem("must be valid UTF-8 without NUL")
			return "", false
		}
		return n.Text(), true
	}
	d.problem(problem)
	return "", false
}

func decodeString(d *decoding, n *form.Node, v reflect.Value) {
	if n.Kind() == form.Null {
		return
	}
	if s, ok := text(d, n, "must be a string", form.Text); ok {
		v.SetString(s)
	}
}

func decodeBool(d *decoding, n *form.Node, v reflect.Value) {
	const problem = "must be true or false"
	if isNull(n) {
		return
	}
	s, ok := text(d, n, problem, form.Bool, form.Text, form.Number)
	if !ok {
		return
	}
	switch s {
	case "true", "1", "on":
		v.SetBool(true)
	case "false", "0", "off":
		v.SetBool(false)
	default:
		d.problem(problem)
	}
}

func decodeInt(d *decoding, n *form.Node, v reflect.Value) {
	const problem = "must be an integer"
	if isNull(n) {
		return
	}
	s, ok := text(d, n, problem, form.Number, form.Text)
	if !ok {
		return
	}
	i, err := strconv.ParseInt(s, 10, v.Type().Bits())
	switch {
	case errors.Is(err, strconv.ErrRange):
		d.problem("is out of range")
	case err != nil || s[0] == '+':
		d.problem(problem)
	default:
		v.SetInt(i)
	}
}

func decodeUint(d *decoding, n *form.Node, v reflect.Value) {
	const problem = "must be an integer of 0 or more"
	if isNull(n) {
		return
	}
	s, ok := text(d, n, problem, form.Number, form.Text)
	if !ok {
		return
	}
	i, err := strconv.ParseUint(s, 10, v.Type().Bits())
	switch {
	case errors.Is(err, strconv.ErrRange):
		d.problem("is out of range")
	case err != nil:
		d.problem(problem)
	default:
		v.SetUint(i)
	}
}

func decodeFloat(d *decoding, n *form.Node, v reflect.Value) {
	const problem = "must be a number"
	if isNull(n) {
		return
	}
	s, ok := text(d, n, problem, form.Number, form.Text)
	if !ok {
		return
	}
	if !decimal(s) {
		d.problem(problem)
		return
	}
	f, err := strconv.ParseFloat(s, v.Type().Bits())
	if err != nil || math.IsInf(f, 0) {
		d.problem("is out of range")
		return
	}
	v.SetFloat(f)
}

// decimal reports whether s is a JSON number: ParseFloat would also accept hexadecimal, underscores and infinity.
func decimal(s string) bool {
	if s != "" && s[0] == '-' {
		s = s[1:]
	}
	if s == "" || s[0] < '0' || s[0] > '9' {
		return false
	}
	for _, c := range []byte(s) {
		switch {
		case c >= '0' && c <= '9', c == '.', c == 'e', c == 'E', c == '+', c == '-':
		default:
			return false
		}
	}
	_, err := strconv.ParseFloat(s, 64)
	return (err == nil || errors.Is(err, strconv.ErrRange)) && s[len(s)-1] != '.'
}

func decodeTime(d *decoding, n *form.Node, v reflect.Value) {
	const problem = "must be a time as in RFC 3339, such as 2006-01-02T15:04:05+00:00"
	if isNull(n) {
		return
	}
	s, ok := text(d, n, problem, form.Text)
	if !ok {
		return
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		d.problem(problem)
		return
	}
	v.Set(reflect.ValueOf(t.UTC()))
}

func decodeText(d *decoding, n *form.Node, v reflect.Value) {
	if isNull(n) {
		return
	}
	s, ok := text(d, n, "must be a string", form.Text)
	if !ok {
		return
	}
	u, _ := v.Addr().Interface().(encoding.TextUnmarshaler)
	if err := u.UnmarshalText([]byte(s)); err != nil {
		d.problem("is not valid: " + err.Error())
	}
}

func decodeFile(d *decoding, n *form.Node, v reflect.Value) {
	if isNull(n) { // an empty file input of a browser is an empty text
		return
	}
	if n.Kind() != form.Upload {
		d.problem("must be a file of a multipart body")
		return
	}
	v.Set(reflect.ValueOf(n.File()))
}

func decodeNode(d *decoding, n *form.Node, v reflect.Value) {
	b, _ := v.Addr().Interface().(NodeBinder)
	if problem := b.BindNode(n); problem != "" {
		d.problem(problem)
	}
}
