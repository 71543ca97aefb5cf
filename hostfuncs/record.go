package hostfuncs

// ToolCall is the record of one call of a tool.
type ToolCall struct {
	Name string `json:"name"`
	// Outcome is one of the Outcome constants.
	Outcome string `json:"outcome"`
	// Milliseconds is how long the call took, waiting for its turn included.
	Milliseconds float64 `json:"ms"`
}

// The outcomes of a call.
const (
	OutcomeOK        = "ok"
	OutcomeError     = "error"     // the tool failed
	OutcomeRefused   = "refused"   // it was not called: unknown, over budget, bad arguments, or the gate said no
	OutcomeTimeout   = "timeout"   // the tool took longer than it may
	OutcomeCancelled = "cancelled" // the program gave up, or its run ended
)

// HTTPRequest is the record of one request, allowed or not. Each hop of a redirect is a request.
type HTTPRequest struct {
	Method string `json:"method"`
	URL    string `json:"url"`
	Status int    `json:"status,omitempty"` // of the answer; 0 when there was none
	Bytes  uint64 `json:"bytes,omitempty"`  // of the answer's body, as the program got them
	// Allowed says whether the policy let it out. Reason is the rule that did, or why not, or what went wrong.
	Allowed bool   `json:"allowed"`
	Reason  string `json:"reason,omitempty"`
}
