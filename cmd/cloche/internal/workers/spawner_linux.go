package workers

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cloche-dev/cloche/hostfuncs/mcptools"
)

// Names of the hidden commands by which the program becomes a spawner or a worker.
const (
	SpawnerCommand = "worker-spawner"
	WorkerCommand  = "worker"
)

// inherited is the descriptor that a spawner or a worker has from who started it.
const inherited = 3

// An order to the spawner is its kind and the worker's number.
const orderBytes = 9

const (
	orderStart byte = 's' // with the worker's socket
	orderKill  byte = 'k'
)

func order(kind byte, id uint64) []byte { return binary.BigEndian.AppendUint64([]byte{kind}, id) }

// self starts this program again, with one command and one descriptor. Its environment is what Go itself and the
// search for certificates and time zones heed, and what a worker passes on to the MCP servers that it starts.
func self(command string, fd *os.File) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{os.Args[0], command}
	cmd.Env = []string{}
	heeded := []string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG", "GOTRACEBACK", "GORACE", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR"}
	for _, name := range append(heeded, mcptools.Inherited...) {
		if v, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	cmd.Stderr = os.Stderr
	cmd.ExtraFiles = []*os.File{fd}
	return cmd
}

// startSpawner starts a spawner in a process group of its own, so that Ctrl-C reaches the front alone.
func startSpawner() (*net.UnixConn, error) {
	conn, fd, err := pair(unix.SOCK_SEQPACKET)
	if err != nil {
		return nil, err
	}
	theirs := os.NewFile(uintptr(fd), "orders")
	defer theirs.Close()
	cmd := self(SpawnerCommand, theirs)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the process that starts workers: %w", err), conn.Close())
	}
	// Nobody waits for it: the front's wall would not let it. It ends with the front.
	return conn, nil
}

// Spawn is the spawner: it does what it is told until the front has gone, and ends when the last worker has.
func Spawn(logger *slog.Logger) error {
	orders, err := connOf(inherited)
	if err != nil {
		return fmt.Errorf("%w: cloche serve starts this command", err)
	}
	defer orders.Close()
	// Workers inherit no way to rights that the front has not, and one descriptor besides standard error.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("prctl PR_SET_NO_NEW_PRIVS: %w", err)
	}
	if err := unix.CloseRange(inherited+1, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close_range: %w", err) // what the front's parent left open
	}
	s := spawner{logger: logger, running: map[uint64]*os.Process{}}
	for {
		b := make([]byte, orderBytes+1)
		n, fd, err := receive(orders, b)
		if err != nil {
			s.end()
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if n != orderBytes {
			if fd >= 0 {
				_ = unix.Close(fd)
			}
			continue
		}
		switch id := binary.BigEndian.Uint64(b[1:]); {
		case b[0] == orderStart && fd >= 0:
			s.start(id, fd)
		case b[0] == orderKill:
			s.kill(id)
		}
	}
}

type spawner struct {
	logger *slog.Logger

	// mu guards running.
	mu      sync.Mutex
	running map[uint64]*os.Process
	waits   sync.WaitGroup
}

// start starts a worker with its socket. If it cannot, the front finds the socket closed.
func (s *spawner) start(id uint64, fd int) {
	control := os.NewFile(uintptr(fd), "control")
	defer control.Close()
	cmd := self(WorkerCommand, control)
	if err := cmd.Start(); err != nil {
		s.logger.Error("start worker", "class", "error", "worker", id, "error", err.Error())
		return
	}
	s.mu.Lock()
	s.running[id] = cmd.Process
	s.mu.Unlock()
	s.waits.Go(func() {
		_ = cmd.Wait()
		s.mu.Lock()
		delete(s.running, id)
		s.mu.Unlock()
		s.logger.Info("worker ended", "class", "operation", "worker", id, "how", cmd.ProcessState.String())
	})
}

func (s *spawner) kill(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.running[id]; p != nil {
		_ = p.Kill() // it may have ended by itself
	}
}

// orphanTime is how long workers may go on without a front, which is more than they should take to end.
const orphanTime = 2 * time.Minute

// end waits for the workers, which end when the front has.
func (s *spawner) end() {
	timer := time.AfterFunc(orphanTime, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, p := range s.running {
			_ = p.Kill()
		}
	})
	defer timer.Stop()
	s.waits.Wait()
}
