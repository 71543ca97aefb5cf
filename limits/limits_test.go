package limits_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/limits"
)

func TestDefaultHasNoZero(t *testing.T) {
	v := reflect.ValueOf(limits.Default())
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("default %s is zero", v.Type().Field(i).Name)
		}
	}
	if err := limits.Default().Validate(); err != nil {
		t.Errorf("defaults are not valid: %v", err)
	}
}

func TestDefaultIsWhatTheTableSays(t *testing.T) {
	const want = "fuel 500,000,000,000, timeout 30s, grace 40ms, memory 512 MiB, output 1 MiB, results 16 MiB, " +
		"disk 64 MiB, inodes 10,000, open files 256, host calls 10,000"
	if got := limits.Default().String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestOrFillsOnlyZeroFields(t *testing.T) {
	base := limits.Limits{Fuel: 1, Timeout: 2, MemoryBytes: 3}
	got := limits.Limits{Fuel: 10}.Or(base)
	if want := (limits.Limits{Fuel: 10, Timeout: 2, MemoryBytes: 3}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAtMost(t *testing.T) {
	most := limits.Limits{Timeout: time.Second, Fuel: 5}.WithDefaults()
	got := limits.Limits{Timeout: time.Minute, Fuel: 3}.WithDefaults().AtMost(most)
	if want := (limits.Limits{Timeout: time.Second, Fuel: 3}.WithDefaults()); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestWithDefaultsFillsEveryField(t *testing.T) {
	if got := (limits.Limits{}).WithDefaults(); got != limits.Default() {
		t.Errorf("got %v, want the defaults", got)
	}
	got := limits.Limits{Timeout: time.Second}.WithDefaults()
	if got.Timeout != time.Second || got.Fuel != limits.Default().Fuel {
		t.Errorf("got %v", got)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		name string
		in   limits.Limits
		want string // "" for valid
	}{
		{"zero means default", limits.Limits{}, ""},
		{"least", limits.Limits{Fuel: 1, Timeout: time.Millisecond, MemoryBytes: 1 << 20, Inodes: 16, OpenFiles: 8}, ""},
		{"most", limits.Limits{Timeout: 24 * time.Hour, MemoryBytes: 4 << 30, DiskBytes: 64 << 30}, ""},
		{"memory below", limits.Limits{MemoryBytes: 1<<20 - 1}, "memory is 1,048,575 bytes, must be from 1 MiB to 4 GiB"},
		{"memory above", limits.Limits{MemoryBytes: 4<<30 + 1}, "memory is 4,294,967,297 bytes, must be from 1 MiB to 4 GiB"},
		{"negative", limits.Limits{Timeout: -time.Second}, "timeout is -1s, must be from 1ms to 24h"},
		{"all at once", limits.Limits{Timeout: time.Nanosecond, OpenFiles: 7, DiskBytes: 65 << 30},
			"timeout is 1ns, must be from 1ms to 24h\n" +
				"disk is 65 GiB, must be from 1 byte to 64 GiB\n" +
				"open_files is 7, must be from 8 to 65,536"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := text(c.in.Validate()); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestResources(t *testing.T) {
	seen := map[string]bool{}
	for r := limits.Fuel; r <= limits.HostCalls; r++ {
		if r.Unit() == "units" || seen[r.String()] {
			t.Errorf("resource %d has name %q and unit %q", int(r), r, r.Unit())
		}
		seen[r.String()] = true
	}
	if got := limits.Resource(99).String(); got != "resource 99" {
		t.Errorf("unknown resource: %s", got)
	}
}

func ExampleExceededError() {
	fmt.Println(&limits.ExceededError{Resource: limits.Fuel, Limit: 5_000_000})
	fmt.Println(&limits.ExceededError{Resource: limits.WallTime, Limit: uint64(30 * time.Second)})
	fmt.Println(&limits.ExceededError{Resource: limits.Memory, Limit: 512 << 20})
	fmt.Println(&limits.ExceededError{Resource: limits.Inodes, Limit: 10_000})
	// Output:
	// fuel limit reached: 5,000,000 instructions
	// time limit reached: 30s
	// memory limit reached: 512 MiB
	// inodes limit reached: 10,000 files, folders and links
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
