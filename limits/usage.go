package limits

import (
	"encoding/json"
	"math"
	"time"
)

// Usage is what a run used. In JSON the durations are start_us, wall_ms and compute_ms, numbers with up to
// three decimals; the rest are whole numbers.
type Usage struct {
	// Start is the time from the request until the guest's first instruction.
	Start time.Duration
	// Wall is the time of the run as a clock on the wall saw it; Compute is the part of it that the guest
	// computed, waiting for the host (sleep, input, tools, fetch) taken off.
	Wall, Compute time.Duration
	// Fuel is the number of instructions, as [Limits.Fuel] counts them.
	Fuel uint64
	// MemoryPeakBytes is the largest size that the linear memory had. It never shrinks during a run.
	MemoryPeakBytes uint64
	// PrivateBytes is the part of the linear memory that is the run's own: pages that it changed, which
	// are no longer shared with the image.
	PrivateBytes uint64
	// DiskBytes is held by the sandbox's in-memory files at the end.
	DiskBytes uint64
	// OutputBytes is what the guest wrote to standard output and error, dropped output included.
	OutputBytes uint64
	// HostCalls is the number of calls through the door, as [Limits.HostCalls] counts them.
	HostCalls uint64
}

type usageJSON struct {
	StartUS         float64 `json:"start_us"`
	WallMS          float64 `json:"wall_ms"`
	ComputeMS       float64 `json:"compute_ms"`
	Fuel            uint64  `json:"fuel"`
	MemoryPeakBytes uint64  `json:"memory_peak_bytes"`
	PrivateBytes    uint64  `json:"private_bytes"`
	DiskBytes       uint64  `json:"disk_bytes"`
	OutputBytes     uint64  `json:"output_bytes"`
	HostCalls       uint64  `json:"host_calls"`
}

// MarshalJSON implements [json.Marshaler]. Every field is present: a zero here is a measurement.
func (u Usage) MarshalJSON() ([]byte, error) {
	return json.Marshal(usageJSON{
		StartUS:         inUnits(u.Start, time.Microsecond),
		WallMS:          inUnits(u.Wall, time.Millisecond),
		ComputeMS:       inUnits(u.Compute, time.Millisecond),
		Fuel:            u.Fuel,
		MemoryPeakBytes: u.MemoryPeakBytes,
		PrivateBytes:    u.PrivateBytes,
		DiskBytes:       u.DiskBytes,
		OutputBytes:     u.OutputBytes,
		HostCalls:       u.HostCalls,
	})
}

// UnmarshalJSON implements [json.Unmarshaler].
func (u *Usage) UnmarshalJSON(b []byte) error {
	var j usageJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*u = Usage{
		Start:           fromUnits(j.StartUS, time.Microsecond),
		Wall:            fromUnits(j.WallMS, time.Millisecond),
		Compute:         fromUnits(j.ComputeMS, time.Millisecond),
		Fuel:            j.Fuel,
		MemoryPeakBytes: j.MemoryPeakBytes,
		PrivateBytes:    j.PrivateBytes,
		DiskBytes:       j.DiskBytes,
		OutputBytes:     j.OutputBytes,
		HostCalls:       j.HostCalls,
	}
	return nil
}

// inUnits is d in the unit, rounded to three decimals.
func inUnits(d, unit time.Duration) float64 {
	return math.Round(float64(d)/float64(unit)*1000) / 1000
}

func fromUnits(v float64, unit time.Duration) time.Duration {
	return time.Duration(math.Round(v * float64(unit)))
}
