package python

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/cloche-dev/cloche/wasi/vfs"
)

// Files of the artifacts, in their folders.
const (
	stdlibZip     = "python-stdlib.zip"
	matplotlibZip = "matplotlib/mpl-data.zip" // in stdlibZip
	fontTTF       = "NotoSansSC_400Regular.ttf"
)

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
	info, err := font.Stat()
	if err != nil {
		return nil, err
	}
	return []vfs.Mount{
		{Path: StdlibDir, FS: stdlib},
		{Path: MatplotlibDataDir, FS: mpl},
		{Path: FontFile, FS: vfs.NewFileFS(font, fontSize, info.ModTime())},
	}, nil
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
