package schema

// Strategy says which new schemas may follow those that a topic has, by Pulsar's names.
type Strategy string

// The strategies. Backward: the new schema reads what the old one wrote; forward: the old one
// reads what the new one writes; full: both. Transitive ones look at all versions, not only the last.
const (
	Undefined          Strategy = "UNDEFINED"
	AlwaysIncompatible Strategy = "ALWAYS_INCOMPATIBLE"
	AlwaysCompatible   Strategy = "ALWAYS_COMPATIBLE"
	Backward           Strategy = "BACKWARD"
	Forward            Strategy = "FORWARD"
	Full               Strategy = "FULL" // the default
	BackwardTransitive Strategy = "BACKWARD_TRANSITIVE"
	ForwardTransitive  Strategy = "FORWARD_TRANSITIVE"
	FullTransitive     Strategy = "FULL_TRANSITIVE"
)

// Known says whether s is one of the strategies that decide something.
func (s Strategy) Known() bool {
	switch s {
	case AlwaysIncompatible, AlwaysCompatible, Backward, Forward, Full, BackwardTransitive, ForwardTransitive, FullTransitive:
		return true
	}
	return false
}

// FromAutoUpdate translates a value of the older policy schema_auto_update_compatibility_strategy;
// Undefined for one it does not know.
func FromAutoUpdate(old string) Strategy {
	switch old {
	case "AutoUpdateDisabled":
		return AlwaysIncompatible
	case "AlwaysCompatible":
		return AlwaysCompatible
	case "Backward":
		return Backward
	case "Forward":
		return Forward
	case "Full":
		return Full
	case "BackwardTransitive":
		return BackwardTransitive
	case "ForwardTransitive":
		return ForwardTransitive
	case "FullTransitive":
		return FullTransitive
	}
	return Undefined
}

func (s Strategy) transitive() bool {
	return s == BackwardTransitive || s == ForwardTransitive || s == FullTransitive
}

func (s Strategy) backward() bool {
	return s == Backward || s == BackwardTransitive || s == Full || s == FullTransitive
}

func (s Strategy) forward() bool {
	return s == Forward || s == ForwardTransitive || s == Full || s == FullTransitive
}

// ForConsumer returns what a consumer's schema is checked by: it only has to read what is there,
// so the last version matters, backward; the strategies that look at no or at all versions stay.
func (s Strategy) ForConsumer() Strategy {
	switch s {
	case Backward, Forward, Full, ForwardTransitive:
		return Backward
	}
	return s
}
