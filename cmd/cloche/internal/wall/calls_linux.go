//go:build amd64 || arm64

package wall

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Calls that running guests take, whatever the Config. Where a call can do more than is needed its arguments are
// looked at, further down.
var always = []uintptr{
	// The Go scheduler: threads, waiting, timers, preemption.
	unix.SYS_FUTEX, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY,
	unix.SYS_CLOCK_GETTIME, unix.SYS_GETTIMEOFDAY, unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN,
	unix.SYS_SIGALTSTACK, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_RESTART_SYSCALL, unix.SYS_GETTID, unix.SYS_GETPID,
	unix.SYS_EXIT, unix.SYS_EXIT_GROUP, unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT,
	unix.SYS_EVENTFD2, unix.SYS_PPOLL,
	// Memory. mmap and mprotect are looked at.
	unix.SYS_MUNMAP, unix.SYS_MREMAP, unix.SYS_MADVISE, unix.SYS_BRK, unix.SYS_MEMFD_CREATE,
	// What is open.
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_WRITEV, unix.SYS_PREAD64, unix.SYS_PWRITE64, unix.SYS_LSEEK, unix.SYS_CLOSE,
	unix.SYS_PIPE2, unix.SYS_FSTAT, unix.SYS_FSTATFS, unix.SYS_GETDENTS64, unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_FLOCK,
	// Names. Landlock says which.
	unix.SYS_NEWFSTATAT, unix.SYS_STATX, unix.SYS_READLINKAT, unix.SYS_FACCESSAT, unix.SYS_FACCESSAT2, unix.SYS_GETCWD,
	// What changes nothing, and is asked for.
	unix.SYS_GETUID, unix.SYS_GETEUID, unix.SYS_GETGID, unix.SYS_GETEGID, unix.SYS_UNAME, unix.SYS_GETRANDOM, unix.SYS_GETRUSAGE,
}

// Calls that change files. openat is looked at.
var writing = []uintptr{
	unix.SYS_MKDIRAT, unix.SYS_UNLINKAT, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_LINKAT, unix.SYS_SYMLINKAT,
	unix.SYS_FTRUNCATE, unix.SYS_FALLOCATE, unix.SYS_UTIMENSAT, unix.SYS_FCHMOD, unix.SYS_FCHMODAT,
}

// Calls on sockets that are there.
var talking = []uintptr{
	unix.SYS_ACCEPT4, unix.SYS_GETSOCKNAME, unix.SYS_GETPEERNAME, unix.SYS_GETSOCKOPT, unix.SYS_SETSOCKOPT, unix.SYS_SHUTDOWN,
	unix.SYS_RECVFROM, unix.SYS_SENDTO, unix.SYS_RECVMSG, unix.SYS_SENDMSG,
}

// Calls that copy within the kernel, where faults let programs write to files that they may only read. Go tries them first, and
// copies by itself where they are absent, or refuse what is open.
var copying = []rule{
	{call: unix.SYS_COPY_FILE_RANGE, answer: answerAbsent}, {call: unix.SYS_SENDFILE, answer: answerAbsent},
	{call: unix.SYS_SPLICE, answer: answerInvalid},
}

// Calls that nothing here ever makes, and that whoever takes over a process begins with: they end it. clone is among
// them when it is not for a thread.
var fatal = []uintptr{
	unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_CLONE, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV,
	unix.SYS_KCMP, unix.SYS_PIDFD_GETFD, unix.SYS_SETUID, unix.SYS_SETGID, unix.SYS_SETREUID, unix.SYS_SETREGID,
	unix.SYS_SETRESUID, unix.SYS_SETRESGID, unix.SYS_SETGROUPS, unix.SYS_CAPSET, unix.SYS_MOUNT, unix.SYS_UMOUNT2,
	unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_SETNS, unix.SYS_UNSHARE, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT,
	unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE,
	unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_PERSONALITY, unix.SYS_IO_URING_SETUP, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_SETHOSTNAME,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL,
}

// namespaces are the flags of clone that make new ones.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID |
	unix.CLONE_NEWNET | unix.CLONE_NEWCGROUP

// uffdRegister and uffdUnregister have the kernel note which pages of a session are written, on a descriptor that was
// opened before the wall stood and can do nothing else (UFFD_FEATURE_WP_ASYNC; see engine/memimage).
const (
	uffdRegister   = 0xc020aa00
	uffdUnregister = 0x8010aa01
)

// pagemapScan is the ioctl that finds the pages a guest has written (PAGEMAP_SCAN of linux/fs.h).
const pagemapScan = 0xc0606610

func each(answer uint32, calls ...[]uintptr) (rules []rule) {
	for _, list := range calls {
		for _, c := range list {
			rules = append(rules, rule{call: c, answer: answer})
		}
	}
	return rules
}

// one allows a call with one of the values as the argument of that number.
func one(call uintptr, arg int, values ...uint32) (rules []rule) {
	for _, v := range values {
		rules = append(rules, rule{call, []test{{arg, equal, v}}, answerAllow})
	}
	return rules
}

// calls is what the kernel answers. What is looked at comes first: for calls without tests kernels keep the answer
// (since Linux 5.11), so that their place does not matter.
func calls(c Config) filter {
	rules := []rule{{unix.SYS_CLONE, []test{{0, anyBit, unix.CLONE_THREAD}, {0, noBit, namespaces}}, answerAllow}}
	rules = append(rules, one(unix.SYS_TGKILL, 0, uint32(os.Getpid()))...)
	rules = append(rules, one(unix.SYS_IOCTL, 1, pagemapScan, uffdRegister, uffdUnregister, unix.TCGETS, unix.TIOCGWINSZ)...)
	rules = append(rules, one(unix.SYS_FCNTL, 1, unix.F_GETFL, unix.F_SETFL, unix.F_GETFD, unix.F_SETFD, unix.F_DUPFD_CLOEXEC,
		unix.F_ADD_SEALS, unix.F_GET_SEALS, unix.F_GETPIPE_SZ, unix.F_SETPIPE_SZ)...)
	rules = append(rules, one(unix.SYS_PRCTL, 0, unix.PR_SET_VMA)...) // Go names its memory
	if c.Terminal {
		rules = append(rules, one(unix.SYS_IOCTL, 1, unix.TCSETS, unix.TCSETSW, unix.TCSETSF)...)
	}
	var exec []test
	if !c.Code {
		exec = []test{{2, noBit, unix.PROT_EXEC}}
	}
	rules = append(rules, rule{unix.SYS_MMAP, exec, answerAllow}, rule{unix.SYS_MPROTECT, exec, answerAllow})

	open, plain := []test(nil), [][]uintptr{always, alwaysHere}
	if len(c.Write) > 0 {
		plain = append(plain, writing)
	} else {
		open = []test{{2, noBit, unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC}}
	}
	rules = append(rules, rule{unix.SYS_OPENAT, open, answerAllow})
	if c.Serve || len(c.Connect) > 0 {
		plain = append(plain, talking)
	}
	if c.Profile {
		rules = append(rules, one(unix.SYS_SETITIMER, 0, unix.ITIMER_PROF)...)
	}
	if c.Pass {
		rules = append(rules, one(unix.SYS_SOCKETPAIR, 0, unix.AF_UNIX)...)
	}
	if len(c.Connect) > 0 {
		plain = append(plain, []uintptr{unix.SYS_CONNECT})
		for _, family := range []uint32{unix.AF_INET, unix.AF_INET6} {
			// Multipath TCP, which Landlock does not see, has a protocol number past 255.
			rules = append(rules, rule{unix.SYS_SOCKET, []test{{0, equal, family}, {2, atMost, 255}}, answerAllow})
		}
	}
	rules = append(append(rules, each(answerAllow, plain...)...), copying...)
	// The flags of clone3 lie in memory, where no filter can see them. The C library falls back on clone.
	rules = append(rules, rule{call: unix.SYS_CLONE3, answer: answerAbsent})
	return filter{arch: auditArch, rules: append(rules, each(answerKill, fatal, fatalHere)...)}
}

// allowed is the number of calls that f allows in some form.
func (f filter) allowed() int {
	seen := map[uintptr]bool{}
	for _, r := range f.rules {
		if r.answer == answerAllow {
			seen[r.call] = true
		}
	}
	return len(seen)
}

// filterCalls lets the kernel refuse all system calls but those of c, on all threads.
func filterCalls(c Config) (Layer, error) {
	l := Layer{Name: "system calls"}
	if !canFilter() {
		l.Why = "the kernel or the container does not offer seccomp filters"
		return l, nil
	}
	f := calls(c)
	// no_new_privs and the filter must come from the same thread, which gives both to all.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return l, fmt.Errorf("prctl PR_SET_NO_NEW_PRIVS: %w", err)
	}
	if err := install(f.program()); err != nil {
		return l, err
	}
	l.Is = fmt.Sprintf("%d system calls by seccomp", f.allowed())
	return l, nil
}
