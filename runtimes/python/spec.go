package python

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"time"

	"github.com/cloche-dev/cloche/engine/rewrite"
	"github.com/cloche-dev/cloche/runtimes"
)

// Where the image expects its read-only mounts, when it is baked and in every instance of it.
const (
	// StdlibDir is python-stdlib.zip, served as a folder (imports take a quarter less time than from the
	// zip itself, whose name the interpreter has compiled in).
	StdlibDir = "/usr/local/lib/python315.zip"
	// MatplotlibDataDir is matplotlib/mpl-data.zip of that zip, served as a folder.
	MatplotlibDataDir = StdlibDir + "/matplotlib/mpl-data"
	// FontFile is Noto Sans SC Regular, the fallback for what matplotlib's own font does not
	// have. Without it Chinese in charts is drawn as boxes.
	FontFile = "/usr/share/fonts/cloche/NotoSansSC-Regular.ttf"
	// WheelsDir has a folder for each of the wheels that every sandbox has.
	WheelsDir = "/usr/local/lib/cloche-wheels"
)

// webClients are the wheels of WheelsDir, artifacts by the names of their packages: requests, httpx and what they need.
var webClients = []string{"requests", "urllib3", "certifi", "idna", "httpx", "httpcore", "anyio", "h11"}

// The folders that must exist and be writable, when baking and in every instance.
const (
	workDir = runtimes.WorkDir
	tempDir = "/tmp"
)

// Spec says what Python is made of and how it is started.
func Spec() runtimes.Spec {
	return runtimes.Spec{
		Driver:    New(),
		Artifacts: append([]string{"python", "noto-sans-sc"}, webClients...),
		Module:    "python.wasm",
		Rewrite: rewrite.Options{
			ExportFuncs: map[string]string{
				expAttach:       expAttach,
				expCallNoArgs:   expCallNoArgs,
				expErrClear:     expErrClear,
				expProtectStack: expProtectStack,
				expSetInterrupt: expSetInterrupt,
				expThreadState:  expThreadState,
			},
			KeepExports: []string{"memory", expInitialize, expExecute, expAlloc},
		},
		Start:       []string{expInitialize},
		Args:        []string{"python"},
		Env:         environment(),
		Mounts:      mounts,
		Revision:    revision(),
		CompileTime: 60 * time.Second,
		BootTime:    10 * time.Second,
	}
}

// environment is the interpreter's when its image is baked, and so every program's;
// [runtimes.Turn.Env] comes on top.
func environment() []string {
	return []string{
		"HOME=" + workDir,
		"JOBLIB_MULTIPROCESSING=0",
		"LANG=C.UTF-8",
		"LOGNAME=user",
		"MPLCONFIGDIR=" + tempDir + "/.matplotlib",
		"PYTHONTZPATH=", // zoneinfo reads the package tzdata
		"TMPDIR=" + tempDir,
		"TZ=UTC",
		"USER=user",
		"XDG_CACHE_HOME=" + tempDir + "/.cache",
		"XDG_CONFIG_HOME=" + tempDir + "/.config",
	}
}

// revision changes with the guest's files.
func revision() string {
	h := sha256.New()
	err := fs.WalkDir(guestFiles, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := guestFiles.ReadFile(path)
		fmt.Fprintf(h, "%s %d\n", path, len(b))
		h.Write(b)
		return err
	})
	if err != nil { // the files are part of the program
		panic(err)
	}
	return hex.EncodeToString(h.Sum(nil))
}
