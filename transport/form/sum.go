package form

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// Sum writes the value into a hash: equal values give equal bytes, regardless of the order of names in a group and of the
// boundary of a multipart body. The contents of files are read.
func (n *Node) Sum(hash io.Writer) error {
	write := func(texts ...string) error {
		for _, text := range texts {
			if _, err := hash.Write(binary.AppendUvarint(nil, uint64(len(text)))); err != nil {
				return err
			}
			if _, err := io.WriteString(hash, text); err != nil {
				return err
			}
		}
		return nil
	}
	if n == nil {
		return write("absent")
	}
	if err := write(fmt.Sprint(n.kind, len(n.more), len(n.nodes)), n.text); err != nil {
		return err
	}
	if err := write(n.more...); err != nil {
		return err
	}
	if n.file != nil {
		return n.file.sum(hash, write)
	}
	if n.kind != Group {
		for _, child := range n.nodes {
			if err := child.Sum(hash); err != nil {
				return err
			}
		}
		return nil
	}
	for _, name := range slices.Sorted(slices.Values(n.names)) {
		if err := write(name); err != nil {
			return err
		}
		if err := n.Get(name).Sum(hash); err != nil {
			return err
		}
	}
	return nil
}

func (f *File) sum(hash io.Writer, write func(texts ...string) error) error {
	if err := write(f.Filename, f.ContentType, fmt.Sprint(f.Size)); err != nil {
		return err
	}
	content, err := f.Open()
	if err != nil {
		return err
	}
	defer content.Close() //nolint:errcheck // only read
	_, err = io.Copy(hash, content)
	return err
}
