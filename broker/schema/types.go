package schema

import "fmt"

// Type is the type of a schema; the numbers are the wire protocol's Schema.Type.
type Type int32

// The types that have rules of their own. All others are primitive: the type says everything.
const (
	None           Type = 0 // plain bytes
	String         Type = 1
	JSON           Type = 2
	Protobuf       Type = 3 // defined by an Avro record
	Avro           Type = 4
	KeyValue       Type = 15
	ProtobufNative Type = 20
	AutoConsume    Type = 21 // a consumer that takes what there is
)

// names lists the types' names of the admin API by number.
func names() []string {
	return []string{"NONE", "STRING", "JSON", "PROTOBUF", "AVRO", "BOOLEAN", "INT8", "INT16", "INT32", "INT64", "FLOAT", "DOUBLE",
		"DATE", "TIME", "TIMESTAMP", "KEY_VALUE", "INSTANT", "LOCAL_DATE", "LOCAL_TIME", "LOCAL_DATE_TIME", "PROTOBUF_NATIVE", "AUTO_CONSUME"}
}

// String returns the name that the admin API uses.
func (t Type) String() string {
	if all := names(); t >= 0 && int(t) < len(all) {
		return all[t]
	}
	return fmt.Sprintf("TYPE_%d", int32(t))
}

// ParseType reads a name of the admin API; false for one that no schema can have.
func ParseType(name string) (Type, bool) {
	for i, n := range names() {
		if n == name {
			return Type(i), Type(i).Registers()
		}
	}
	return None, false
}

// Registers says whether a schema of this type is kept; the others only say that their client has none of its own.
func (t Type) Registers() bool { return t >= None && t < AutoConsume }

// Definition is a schema as far as the rules look at it.
type Definition struct {
	Type       Type
	Data       []byte
	Properties map[string]string
}
