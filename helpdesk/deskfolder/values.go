package deskfolder

import "go.yaml.in/yaml/v3"

// Values are the values of a condition or an action. In a file, a single one stands without a list.
type Values []string

// MarshalYAML implements [yaml.Marshaler].
func (v Values) MarshalYAML() (any, error) {
	if len(v) == 1 {
		return v[0], nil
	}
	list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, text := range v {
		var one yaml.Node
		one.SetString(text)
		list.Content = append(list.Content, &one)
	}
	return list, nil
}

// UnmarshalYAML implements [yaml.Unmarshaler].
func (v *Values) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.ScalarNode {
		var list []string
		err := node.Decode(&list)
		*v = list
		return err
	}
	if node.Tag == "!!null" {
		*v = nil
		return nil
	}
	var one string
	err := node.Decode(&one)
	*v = Values{one}
	return err
}
