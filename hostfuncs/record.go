package hostfuncs

// ToolCall is the record of one call of a tool.
type ToolCall struct {
	Name string `json:"name"`
	// Outcome is one of the Outcome constants.
	Outcome string `json:"outcome"`
	// Milliseconds is how long the call took, waiting for its turn included.
	Milliseconds float64 `json:"ms"`
	// RequestBytes are those of the arguments, ReplyBytes those of the result, as JSON.
	RequestBytes int `json:"request_bytes"`
	ReplyBytes   int `json:"reply_bytes,omitempty"`
	// Rule is one of the Rule constants: the one by which the call was refused.
	Rule string `json:"rule,omitempty"`
}

// The rules by which a call of a tool is refused.
const (
	RuleUnknown   = "unknown tool"
	RuleRunCalls  = "calls of the run"
	RuleToolCalls = "calls of the tool"
	RuleSize      = "size of the arguments"
	RuleSchema    = "schema"
	RuleGate      = "gate"
)

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
	// RequestBytes are those of the body that was sent. Milliseconds is how long it took until the answer's head was there, or it
	// was known that there would be none.
	RequestBytes int     `json:"request_bytes,omitempty"`
	Milliseconds float64 `json:"ms,omitempty"`
	// Allowed says whether the policy let it out. Reason is the rule that did, or why not, or what went wrong.
	Allowed bool   `json:"allowed"`
	Reason  string `json:"reason,omitempty"`
}
