package runtimes

import "time"

// Progress hears how a setup goes on. Its methods are called from one goroutine at a time and must not block
// for long.
type Progress interface {
	// Stage begins the next stage and so ends the one before. Name is such as "compile python.wasm".
	// Estimate is how long it took on the reference machine, 0 when that says nothing (a download).
	Stage(name string, estimate time.Duration)
	// Update says that the stage has done so many of total units (bytes or functions).
	Update(done, total int64)
	// Note says something that the user should know, such as that another process is waited for.
	Note(text string)
	// End ends the last stage.
	End()
}

// Silent is a Progress that nobody watches.
type Silent struct{}

func (Silent) Stage(string, time.Duration) {}
func (Silent) Update(int64, int64)         {}
func (Silent) Note(string)                 {}
func (Silent) End()                        {}
