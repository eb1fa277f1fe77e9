package maintain

// WithoutExchange makes o behave as on a file system that cannot exchange two folders.
func WithoutExchange(o Options) Options {
	o.exchange = func(string, string) (bool, error) { return false, nil }
	return o
}
