package limits_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/limits"
)

func TestUsageJSON(t *testing.T) {
	u := limits.Usage{
		Start:           52*time.Microsecond + 250*time.Nanosecond,
		Wall:            9_876_543 * time.Nanosecond,
		Compute:         8 * time.Millisecond,
		Fuel:            12_345_678,
		MemoryPeakBytes: 64 << 20,
		PrivateBytes:    528_384,
		OutputBytes:     331,
		HostCalls:       7,
	}
	const want = `{"start_us":52.25,"wall_ms":9.877,"compute_ms":8,"fuel":12345678,"memory_peak_bytes":67108864,` +
		`"private_bytes":528384,"disk_bytes":0,"output_bytes":331,"host_calls":7}`
	b, err := json.Marshal(u)
	if err != nil || string(b) != want {
		t.Fatalf("got  %s, %v\nwant %s", b, err, want)
	}
	var back limits.Usage
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	u.Wall = u.Wall.Round(time.Microsecond) // three decimals of a millisecond
	if back != u {
		t.Errorf("read back %+v, want %+v", back, u)
	}
}
