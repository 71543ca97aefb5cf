package python

// WithBytecode is withBytecode, for tests.
var WithBytecode = withBytecode
