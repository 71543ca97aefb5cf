// Package workers runs the programs of each key of a server in a process of its own, so that who breaks out of a sandbox,
// or ends a process, has only what that key has anyhow.
//
// Three kinds of processes take part, all of them the same program:
//
//	front     [Fleet]: asks who sends a request, and passes it on; it runs no program and stands behind the tightest wall
//	spawner   [Spawn]: starts processes for the front, which its wall forbids to start any; it reads no byte of a client
//	worker    [Inherit]: a server for one key, behind a wall of its own; it inherits one socket
//
// The socket is the control socket between front and worker. Down it go the worker's [Job], once, and then a descriptor for
// each connection that the front opens; up it comes one line of JSON for each piece of news (see news). When the front shuts its
// side, or is gone, the worker ends in order; when the worker's side is shut, it has ended. No worker has a name that another
// process could connect to.
//
// A Fleet may be used from several goroutines. Its mutex is never held while anything is waited for.
package workers

import (
	"errors"
	"log/slog"
	"time"

	"github.com/cloche-dev/cloche/web"
)

// Config says how a [Fleet] works.
type Config struct {
	// Max is how many workers live at once. When one more is needed the one that was asked for least lately is ended, if
	// nothing would be lost by that.
	Max int
	// Idle is how long nobody asks for a worker before it is ended.
	Idle time.Duration
	// Grace is how long the programs of a worker that is to end may go on.
	Grace time.Duration
	// Patience is how long a worker may leave a question after its health unanswered, and take to start.
	Patience time.Duration
	// Job is what the worker of a key is to do. Its Secret is set by the fleet.
	Job func(*web.Key) Job
	// Record is told of the runs of each key.
	Record func(*web.Key, web.Ran)
	Logger *slog.Logger
}

// Job is what a worker is to do.
type Job struct {
	// Settings are those of its server, with the one key, whose hash is that of the secret which the front shows.
	Settings web.Settings
	// Cache is the folder of the interpreters.
	Cache  string
	NoWall bool
}

// ErrLost says that the spawner ended, so that no worker can be started any longer.
var ErrLost = errors.New("the process that starts workers has ended")
