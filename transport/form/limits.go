package form

import "github.com/helpwright/helpwright/storage/fault"

// Limits bound the cost of a body. Zero fields take the defaults.
type Limits struct {
	Fields   int   // values of a body, files included; default 10,000; over it: TooLarge
	Depth    int   // names in one path (`a[b][c]` has three); default 16
	Items    int   // elements of one list, and its highest index plus one; default 1,000
	Name     int   // bytes of one name of a path; default 256
	Files    int   // files of a multipart body; default 100; over it: TooLarge
	Memory   int64 // bytes of a multipart body's files kept in memory, the rest go to temporary files; default 1 MiB
	TextSize int64 // bytes of all text of a multipart body; default 2 MiB; over it: TooLarge
}

// WithDefaults fills the zero fields.
func (l Limits) WithDefaults() Limits {
	set(&l.Fields, 10_000)
	set(&l.Depth, 16)
	set(&l.Items, 1_000)
	set(&l.Name, 256)
	set(&l.Files, 100)
	set(&l.Memory, 1<<20)
	set(&l.TextSize, 2<<20)
	return l
}

func set[T int | int64](v *T, def T) {
	if *v == 0 {
		*v = def
	}
}

func tooMany() error { return fault.New(fault.TooLarge, "The body has too many fields.") }
