package vfs

// upperFile is an open file of the upper layer.
type upperFile struct {
	*memFile
	o *overlay
}

func (f *upperFile) Stat() (Stat, error) {
	nd, err := f.inode()
	if err != nil {
		return Stat{}, err
	}
	return f.o.upperStat(nd), nil
}

func (f *upperFile) Dup(fs FS) (File, error) {
	o, ok := fs.(*overlay)
	if !ok || o.m.table.get(f.ino) == nil {
		return nil, ErrStale
	}
	return o.openUpper(f.ino, OpenRead)
}

// lowerFile is an open file of the lower layer, for reading.
type lowerFile struct {
	File
	o *overlay
}

func (f *lowerFile) Stat() (Stat, error) { return f.o.lowerStat(f.File.Stat()) }

func (f *lowerFile) SetTimes(Times) error { return ErrReadOnly }

func (f *lowerFile) Dup(fs FS) (File, error) {
	o, ok := fs.(*overlay)
	if !ok {
		return nil, ErrStale
	}
	file, err := f.File.Dup(o.lower)
	if err != nil {
		return nil, err
	}
	return &lowerFile{file, o}, nil
}

// step implements stepper.
func (f *lowerFile) step(off int64) (bool, error) {
	if s, ok := f.File.(stepper); ok {
		return s.step(off)
	}
	return true, nil
}
