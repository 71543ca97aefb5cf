package wall

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// What Landlock lets be done below a folder. Executing is never among it, nor are devices, sockets and pipes.
const (
	readFile  = ll.AccessFSReadFile
	readDir   = readFile | ll.AccessFSReadDir
	writeFile = readFile | ll.AccessFSWriteFile | ll.AccessFSTruncate
	writeDir  = readDir | writeFile | ll.AccessFSMakeReg | ll.AccessFSMakeDir | ll.AccessFSMakeSym |
		ll.AccessFSRemoveFile | ll.AccessFSRemoveDir
)

// Versions of Landlock that brought what is used here.
const (
	landlockRefer = 2 // rename and link between folders
	landlockTCP   = 4
)

// restrictFiles confines the process to the files and TCP ports of c, by Landlock.
func restrictFiles(c Config) (Layer, error) {
	l := Layer{Name: "files"}
	version, err := ll.LandlockGetABIVersion()
	if err != nil || version < 1 {
		l.Why = "the kernel or the container does not offer Landlock"
		if err != nil {
			l.Why += fmt.Sprintf(" (%v)", err)
		}
		return l, nil
	}
	rules, err := fileRules(c, version)
	if err != nil {
		return l, err
	}
	l.Is = fmt.Sprintf("files by Landlock %d", version)
	config := landlock.V7
	switch {
	case slices.Contains(c.Connect, 0):
		config.HandledAccessNet = ll.AccessNetBindTCP
	case version < landlockTCP:
		l.Why = fmt.Sprintf("Landlock is version %d, and confines TCP from %d on (Linux 6.7)", version, landlockTCP)
	default:
		l.Is = fmt.Sprintf("files and TCP by Landlock %d", version)
		rules = append(rules, portRules(c.Connect)...)
	}
	return l, config.BestEffort().Restrict(rules...)
}

func fileRules(c Config, version int) ([]landlock.Rule, error) {
	read := c.Read
	if c.Cache != "" {
		read = append([]string{c.Cache}, read...)
	}
	var rules []landlock.Rule
	for _, name := range read {
		dir, err := isDir(name)
		if err != nil {
			return nil, fmt.Errorf("let %s be read: %w", name, err)
		}
		rights := landlock.AccessFSSet(readFile)
		if dir {
			rights = readDir
		}
		rules = append(rules, landlock.PathAccess(rights, name))
	}
	for _, name := range c.Write {
		if dir, err := isDir(name); err != nil || !dir {
			return nil, fmt.Errorf("let files in %s be written: it is no folder (%v)", name, err)
		}
		rule := landlock.PathAccess(writeDir, name)
		if version >= landlockRefer {
			rule = rule.WithRefer()
		}
		rules = append(rules, rule)
	}
	if len(c.Connect) > 0 {
		for _, name := range networkFiles() {
			rights := landlock.AccessFSSet(readFile)
			if dir, err := isDir(name); err == nil && dir {
				rights = readDir
			}
			rules = append(rules, landlock.PathAccess(rights, name).IgnoreIfMissing())
		}
	}
	return rules, nil
}

// networkFiles are what looking up names and checking certificates reads.
func networkFiles() []string {
	names := []string{
		"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/services",
		"/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/usr/share/ca-certificates", "/usr/local/share/ca-certificates",
	}
	// Where a link leads to, files are replaced by renaming new ones.
	if target, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil && filepath.Dir(target) != "/etc" {
		names = append(names, filepath.Dir(target))
	}
	for _, env := range []string{"SSL_CERT_FILE", "SSL_CERT_DIR"} {
		names = append(names, filepath.SplitList(os.Getenv(env))...)
	}
	return names
}

func portRules(ports []uint16) []landlock.Rule {
	if len(ports) == 0 {
		return nil
	}
	rules := []landlock.Rule{landlock.ConnectTCP(53)} // answers that are too long for UDP
	for _, p := range ports {
		if p != 53 {
			rules = append(rules, landlock.ConnectTCP(p))
		}
	}
	return rules
}

func isDir(name string) (bool, error) {
	info, err := os.Stat(name)
	if err != nil {
		return false, err
	}
	return info.IsDir(), nil
}
