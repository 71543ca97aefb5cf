package python

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/wasi/vfs"
)

// Files of the artifacts, in their folders.
const (
	stdlibZip     = "python-stdlib.zip"
	matplotlibZip = "matplotlib/mpl-data.zip" // in stdlibZip
	fontTTF       = "NotoSansSC_400Regular.ttf"
)

// fileTime is the time of files that are not in an archive; the same everywhere, since it may get into an image.
var fileTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// mounts opens what every sandbox sees read-only. The files stay open as long as the file systems are in use.
func mounts(dirs map[string]string) ([]vfs.Mount, error) {
	archive, size, err := open(filepath.Join(dirs["python"], stdlibZip))
	if err != nil {
		return nil, err
	}
	stdlib, err := vfs.NewZip(archive, size, vfs.ZipOptions{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", stdlibZip, err)
	}
	data, dataSize, err := member(archive, size, matplotlibZip)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", stdlibZip, err)
	}
	mpl, err := vfs.NewZip(data, dataSize, vfs.ZipOptions{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", matplotlibZip, err)
	}
	font, fontSize, err := open(filepath.Join(dirs["noto-sans-sc"], fontTTF))
	if err != nil {
		return nil, err
	}
	mounts := []vfs.Mount{
		{Path: StdlibDir, FS: stdlib},
		{Path: MatplotlibDataDir, FS: mpl},
		{Path: FontFile, FS: vfs.NewFileFS(font, fontSize, fileTime)},
	}
	for _, name := range webClients {
		wheel, err := openWheel(dirs[name], name)
		if err != nil {
			return nil, err
		}
		mounts = append(mounts, vfs.Mount{Path: WheelsDir + "/" + name, FS: wheel})
	}
	return mounts, nil
}

// openWheel opens an artifact that is a wheel, which is a zip archive.
func openWheel(dir, name string) (vfs.FS, error) {
	a, err := runtimes.LookupArtifact(name)
	if err != nil {
		return nil, err
	}
	f, size, err := open(filepath.Join(dir, a.File))
	if err != nil {
		return nil, err
	}
	z, err := vfs.NewZip(f, size, vfs.ZipOptions{})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", a.File, err), f.Close())
	}
	return z, nil
}

func open(name string) (*os.File, int64, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// member is one file of a zip: where it lies if it is stored as it is, else a copy.
func member(archive io.ReaderAt, size int64, name string) (io.ReaderAt, int64, error) {
	z, err := zip.NewReader(archive, size)
	if err != nil {
		return nil, 0, err
	}
	for _, f := range z.File {
		if f.Name != name {
			continue
		}
		n := int64(f.UncompressedSize64)
		if f.Method == zip.Store {
			at, err := f.DataOffset()
			return io.NewSectionReader(archive, at, n), n, err
		}
		r, err := f.Open()
		if err != nil {
			return nil, 0, err
		}
		defer r.Close()
		b, err := io.ReadAll(io.LimitReader(r, n))
		return bytes.NewReader(b), int64(len(b)), err
	}
	return nil, 0, fmt.Errorf("it has no %s", name)
}
