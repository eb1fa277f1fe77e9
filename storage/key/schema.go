package key

// ForSchema returns the key of one version of a schema; subject is the id of the name that the schema belongs to, drawn
// from the same numbers as the ids of topics.
func ForSchema(subject, version uint64) []byte { return join(Schema, subject, version) }

// ForSchemas returns the half-open range of all versions of one subject's schema.
func ForSchemas(subject uint64) (lower, upper []byte) { return span(Schema, subject) }

// ParseSchema splits the key of a schema version.
func ParseSchema(k []byte) (subject, version uint64, err error) {
	v, err := ints(k, Schema, 2)
	return v[0], v[1], err
}
