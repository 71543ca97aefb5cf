package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// allowedByUnit checks that the system calls in strace's record of a server, those before its wall stands too, are among those that
// packaging/cloche.service allows.
func allowedByUnit(t *testing.T, record []byte) {
	t.Helper()
	list, err := exec.Command("systemd-analyze", "syscall-filter").Output()
	if err != nil {
		t.Logf("systemd-analyze cannot be used here, so that the unit is not looked at: %v", err)
		return
	}
	unit, err := os.ReadFile("../../packaging/cloche.service")
	if err != nil {
		t.Fatal(err)
	}
	allowed := unitCalls(string(unit), callGroups(string(list)))
	if allowed["ptrace"] || !allowed["read"] {
		t.Fatal("the unit is not understood")
	}
	made := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\d+ +([a-z]\w*)\(`).FindAllSubmatch(record, -1) {
		made[string(m[1])] = true
	}
	if len(made) < 30 {
		t.Errorf("the record has only %d calls", len(made))
	}
	for call := range made {
		if !allowed[call] {
			t.Errorf("the unit does not allow %s, which the server needs", call)
		}
	}
}

// callGroups are systemd's groups of system calls, as systemd-analyze lists them.
func callGroups(list string) map[string][]string {
	groups, current := map[string][]string{}, ""
	for line := range strings.Lines(list) {
		name := strings.TrimSpace(line)
		switch {
		case name == "" || strings.HasPrefix(name, "#"):
		case strings.HasPrefix(line, "@"):
			current = name
		default:
			groups[current] = append(groups[current], name)
		}
	}
	return groups
}

// unitCalls are the calls that a unit allows. The first line of its filter is a list of those; later ones add, or with ~ take away.
func unitCalls(unit string, groups map[string][]string) map[string]bool {
	allowed := map[string]bool{}
	var set func(name string, to bool)
	set = func(name string, to bool) {
		for _, member := range groups[name] {
			set(member, to)
		}
		allowed[name] = to
	}
	set("@default", true)
	for _, m := range regexp.MustCompile(`(?m)^SystemCallFilter=(~?)(.*)$`).FindAllStringSubmatch(unit, -1) {
		for name := range strings.FieldsSeq(m[2]) {
			set(name, m[1] == "")
		}
	}
	return allowed
}
