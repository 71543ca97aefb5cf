package workers

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// pair makes two sockets that are connected to each other, and to nothing else. The second is a bare descriptor, to be
// passed on and closed.
func pair(kind int) (*net.UnixConn, int, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, -1, fmt.Errorf("socketpair: %w", err)
	}
	conn, err := connOf(fds[0])
	if err != nil {
		_ = unix.Close(fds[1])
		return nil, -1, err
	}
	return conn, fds[1], nil
}

// connOf makes a connection of a descriptor, which becomes its own.
func connOf(fd int) (*net.UnixConn, error) {
	f := os.NewFile(uintptr(fd), "socket")
	defer f.Close() // the connection has a copy
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("descriptor %d is a socket of another kind", fd), conn.Close())
	}
	return u, nil
}

// pass sends a message with a descriptor, which is closed here in any case.
func pass(to *net.UnixConn, message []byte, fd int) error {
	defer unix.Close(fd)
	_, _, err := to.WriteMsgUnix(message, unix.UnixRights(fd), nil)
	return err
}

// receive reads into message, and the descriptor that came with it: -1 if there was none.
func receive(from *net.UnixConn, message []byte) (n, fd int, err error) {
	oob := make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := from.ReadMsgUnix(message, oob)
	if err != nil {
		return 0, -1, err
	}
	if n == 0 {
		return 0, -1, io.EOF
	}
	list, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(list) == 0 {
		return n, -1, err
	}
	fds, err := unix.ParseUnixRights(&list[0])
	if err != nil || len(fds) == 0 {
		return n, -1, err
	}
	return n, fds[0], nil
}
