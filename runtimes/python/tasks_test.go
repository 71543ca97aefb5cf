package python_test

import "testing"

// TestTaskNames: a program's first task is Task-1, as if nothing had run before it.
func TestTaskNames(t *testing.T) {
	r := open(t).run("import asyncio\nasync def f(): return asyncio.current_task().get_name()\nprint(asyncio.run(f()))").ok(t)
	if r.stdout != "Task-1\n" {
		t.Errorf("the first task is %q", r.stdout)
	}
}
