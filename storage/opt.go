package storage

// Opt is an optional value: absent (leave the field as it is), null (clear it) or given. The zero value is absent.
type Opt[T any] struct {
	value T
	set   bool
	null  bool
}

// Some is a given value.
func Some[T any](v T) Opt[T] { return Opt[T]{value: v, set: true} }

// Null is the explicit absence of a value.
func Null[T any]() Opt[T] { return Opt[T]{set: true, null: true} }

// IsSet reports whether the value was given or is null.
func (o Opt[T]) IsSet() bool { return o.set }

// IsNull reports whether the value is explicitly null.
func (o Opt[T]) IsNull() bool { return o.null }

// Get returns the value and whether one was given; false for absent and for null.
func (o Opt[T]) Get() (T, bool) { return o.value, o.set && !o.null }

// Or returns the given value, the zero value for null, and old when absent.
func (o Opt[T]) Or(old T) T {
	if !o.set {
		return old
	}
	return o.value
}

// SetNull makes o null. It is for decoders.
func (o *Opt[T]) SetNull() { *o = Null[T]() }

// Target marks o as given and returns a *T to decode into. It is for decoders.
func (o *Opt[T]) Target() any {
	o.set, o.null = true, false
	return &o.value
}
