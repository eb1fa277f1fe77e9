package schema

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hamba/avro/v2"
)

// ErrIncompatible is wrapped by the error of every schema that may not follow the existing ones.
var ErrIncompatible = errors.New("incompatible schema")

// Check says whether next may follow the versions, which are in order and without deleted ones.
// It refuses with ErrIncompatible. Without versions every schema may be the first.
func Check(s Strategy, versions []Definition, next Definition) error {
	if len(versions) == 0 || s == AlwaysCompatible {
		return nil
	}
	last := versions[len(versions)-1]
	switch {
	case s == AlwaysIncompatible:
		return fmt.Errorf("%w: the strategy %s allows no new version", ErrIncompatible, s)
	case last.Type != next.Type:
		return fmt.Errorf("%w: the topic's schema has type %s, the new one %s", ErrIncompatible, last.Type, next.Type)
	case !s.transitive():
		versions = versions[len(versions)-1:]
	}
	for _, old := range versions {
		if old.Type != next.Type {
			continue // from before a change of type that a former strategy allowed
		}
		if s.backward() {
			if err := readable(next, old); err != nil {
				return fmt.Errorf("%w: the new schema cannot read what an existing one wrote: %w", ErrIncompatible, err)
			}
		}
		if s.forward() {
			if err := readable(old, next); err != nil {
				return fmt.Errorf("%w: an existing schema cannot read what the new one writes: %w", ErrIncompatible, err)
			}
		}
	}
	return nil
}

// readable says whether reader can read what writer, of the same type, wrote.
func readable(reader, writer Definition) error {
	if Same(reader, writer) {
		return nil
	}
	switch reader.Type {
	case Avro, Protobuf, JSON:
		return readableAvro(reader, writer)
	case ProtobufNative:
		return sameRoot(reader, writer)
	case KeyValue:
		return readablePair(reader, writer)
	}
	return nil
}

func readableAvro(reader, writer Definition) error {
	r, err := parseAvro(reader.Data)
	if err != nil {
		return err
	}
	w, err := parseAvro(writer.Data)
	if err != nil {
		return err
	}
	return avro.NewSchemaCompatibility().Compatible(r, w)
}

// sameRoot compares what Pulsar compares of Protobuf descriptors: the name of the root message.
// Fields have numbers, so that both sides skip what they do not know.
func sameRoot(a, b Definition) error {
	var x, y struct {
		Root string `json:"rootMessageTypeName"`
	}
	if err := errors.Join(json.Unmarshal(a.Data, &x), json.Unmarshal(b.Data, &y)); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if x.Root != y.Root {
		return fmt.Errorf("the root message is %q on one side and %q on the other", x.Root, y.Root)
	}
	return nil
}

func readablePair(reader, writer Definition) error {
	rk, rv, err := reader.split()
	if err != nil {
		return err
	}
	wk, wv, err := writer.split()
	if err != nil {
		return err
	}
	for _, part := range [][2]Definition{{rk, wk}, {rv, wv}} {
		if part[0].Type != part[1].Type {
			return fmt.Errorf("types %s and %s differ in a key-value schema", part[0].Type, part[1].Type)
		}
		if err := readable(part[0], part[1]); err != nil {
			return err
		}
	}
	return nil
}
