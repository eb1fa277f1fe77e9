package topic

import "google.golang.org/protobuf/encoding/protowire"

// propertiesField is the number of MessageMetadata.properties, a list of KeyValue with key 1 and value 2.
const propertiesField = 4

// hasProperty reports whether a message's metadata has a property with a value. Metadata that cannot be read has none.
func hasProperty(metadata []byte, key, value string) bool {
	for len(metadata) > 0 {
		num, typ, n := protowire.ConsumeTag(metadata)
		if n < 0 {
			return false
		}
		metadata = metadata[n:]
		if num == propertiesField && typ == protowire.BytesType {
			pair, n := protowire.ConsumeBytes(metadata)
			if n < 0 {
				return false
			}
			if isPair(pair, key, value) {
				return true
			}
			metadata = metadata[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(num, typ, metadata); n < 0 {
			return false
		}
		metadata = metadata[n:]
	}
	return false
}

func isPair(pair []byte, key, value string) bool {
	matched := 0
	for len(pair) > 0 {
		num, typ, n := protowire.ConsumeTag(pair)
		if n < 0 || typ != protowire.BytesType {
			return false
		}
		v, m := protowire.ConsumeBytes(pair[n:])
		if m < 0 {
			return false
		}
		if (num == 1 && string(v) == key) || (num == 2 && string(v) == value) {
			matched++
		}
		pair = pair[n+m:]
	}
	return matched == 2
}
