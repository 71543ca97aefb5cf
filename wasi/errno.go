package wasi

import (
	"strconv"

	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/wasi/vfs"
)

// Errno is preview1's error number, as every function but proc_exit returns it. Zero is success.
type Errno uint16

// The error numbers of preview1 that this host returns, with the numbers of its specification.
const (
	ErrnoSuccess     Errno = 0
	ErrnoAcces       Errno = 2
	ErrnoAgain       Errno = 6
	ErrnoBadf        Errno = 8
	ErrnoBusy        Errno = 10
	ErrnoExist       Errno = 20
	ErrnoFault       Errno = 21
	ErrnoFbig        Errno = 22
	ErrnoIlseq       Errno = 25
	ErrnoIntr        Errno = 27
	ErrnoInval       Errno = 28
	ErrnoIo          Errno = 29
	ErrnoIsdir       Errno = 31
	ErrnoLoop        Errno = 32
	ErrnoMfile       Errno = 33
	ErrnoMlink       Errno = 34
	ErrnoNametoolong Errno = 37
	ErrnoNfile       Errno = 41
	ErrnoNoent       Errno = 44
	ErrnoNospc       Errno = 51
	ErrnoNotdir      Errno = 54
	ErrnoNotempty    Errno = 55
	ErrnoNotsock     Errno = 57
	ErrnoNotsup      Errno = 58
	ErrnoOverflow    Errno = 61
	ErrnoPerm        Errno = 63
	ErrnoRofs        Errno = 69
	ErrnoSpipe       Errno = 70
	ErrnoStale       Errno = 72
	ErrnoXdev        Errno = 75
	ErrnoNotcapable  Errno = 76
)

var errnoNames = map[Errno]string{
	ErrnoSuccess: "SUCCESS", ErrnoAcces: "ACCES", ErrnoAgain: "AGAIN", ErrnoBadf: "BADF", ErrnoBusy: "BUSY",
	ErrnoExist: "EXIST", ErrnoFault: "FAULT", ErrnoFbig: "FBIG", ErrnoIlseq: "ILSEQ",
	ErrnoIntr: "INTR", ErrnoInval: "INVAL", ErrnoIo: "IO", ErrnoIsdir: "ISDIR", ErrnoLoop: "LOOP",
	ErrnoMfile: "MFILE", ErrnoMlink: "MLINK", ErrnoNametoolong: "NAMETOOLONG", ErrnoNfile: "NFILE",
	ErrnoNoent: "NOENT", ErrnoNospc: "NOSPC", ErrnoNotdir: "NOTDIR",
	ErrnoNotempty: "NOTEMPTY", ErrnoNotsock: "NOTSOCK", ErrnoNotsup: "NOTSUP",
	ErrnoOverflow: "OVERFLOW", ErrnoPerm: "PERM", ErrnoRofs: "ROFS", ErrnoSpipe: "SPIPE",
	ErrnoStale: "STALE", ErrnoXdev: "XDEV", ErrnoNotcapable: "NOTCAPABLE",
}

// String returns the specification's name, such as "NOENT".
func (e Errno) String() string {
	if name, ok := errnoNames[e]; ok {
		return name
	}
	return "errno " + strconv.Itoa(int(e))
}

// Error makes an Errno a Go error, for host functions that are not preview1's (see [State.ReadStdin]).
func (e Errno) Error() string { return "wasi: " + e.String() }

var vfsErrnos = [...]Errno{
	vfs.ErrNotExist:     ErrnoNoent,
	vfs.ErrExist:        ErrnoExist,
	vfs.ErrNotDir:       ErrnoNotdir,
	vfs.ErrIsDir:        ErrnoIsdir,
	vfs.ErrLoop:         ErrnoLoop,
	vfs.ErrNotEmpty:     ErrnoNotempty,
	vfs.ErrCrossDevice:  ErrnoXdev,
	vfs.ErrReadOnly:     ErrnoRofs,
	vfs.ErrNoSpace:      ErrnoNospc,
	vfs.ErrQuotaInodes:  ErrnoNospc,
	vfs.ErrNameTooLong:  ErrnoNametoolong,
	vfs.ErrPathTooLong:  ErrnoNametoolong,
	vfs.ErrTooDeep:      ErrnoNametoolong,
	vfs.ErrIllegalName:  ErrnoIlseq,
	vfs.ErrNotCapable:   ErrnoNotcapable,
	vfs.ErrPerm:         ErrnoPerm,
	vfs.ErrAccess:       ErrnoAcces,
	vfs.ErrInvalid:      ErrnoInval,
	vfs.ErrFileTooBig:   ErrnoFbig,
	vfs.ErrBusy:         ErrnoBusy,
	vfs.ErrNotSupported: ErrnoNotsup,
	vfs.ErrIO:           ErrnoIo,
	vfs.ErrBadHandle:    ErrnoBadf,
	vfs.ErrStale:        ErrnoStale,
	vfs.ErrTooManyLinks: ErrnoMlink,
	vfs.ErrHostSpace:    ErrnoNospc,
	vfs.ErrHostFiles:    ErrnoNfile,
	vfs.ErrOverflow:     ErrnoOverflow,
}

// errno is toErrno for what the guest asked for: Config.Reached is told of a limit that refused it.
func (s *State) errno(err error) Errno {
	if err == nil {
		return ErrnoSuccess
	}
	return s.refused(err)
}

func (s *State) refused(err error) Errno {
	errno := toErrno(err)
	if e, ok := err.(vfs.Error); ok && s.reached != nil {
		if r := ResourceOf(e); r != 0 {
			s.reached(r)
		}
	}
	return errno
}

// ResourceOf is what there is too little of, for an error by which a limit of the run's refuses something. For other
// errors it is zero.
func ResourceOf(e vfs.Error) limits.Resource {
	switch e {
	case vfs.ErrNoSpace:
		return limits.Disk
	case vfs.ErrQuotaInodes:
		return limits.Inodes
	case vfs.ErrNameTooLong:
		return limits.NameLength
	case vfs.ErrPathTooLong:
		return limits.PathLength
	case vfs.ErrTooDeep:
		return limits.PathDepth
	}
	return 0
}

// toErrno is the one conversion of Go errors into error numbers. What package vfs does not know becomes IO.
//
// An error that is none of vfs's is the answer of vfs.Options.Check: the run is over, and ends here.
func toErrno(err error) Errno {
	if err == nil {
		return ErrnoSuccess
	}
	e, ok := err.(vfs.Error)
	if !ok {
		panic(err)
	}
	return ErrnoOf(e)
}

// ErrnoOf is what a guest gets for an error of package vfs.
func ErrnoOf(e vfs.Error) Errno {
	if int(e) < len(vfsErrnos) && vfsErrnos[e] != ErrnoSuccess {
		return vfsErrnos[e]
	}
	return ErrnoIo
}
