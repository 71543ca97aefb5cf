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

// lowerFile is an open file of the lower layer, for reading.
type lowerFile struct {
	File
	o *overlay
}

func (f *lowerFile) Stat() (Stat, error) { return f.o.lowerStat(f.File.Stat()) }

func (f *lowerFile) SetTimes(Times) error { return ErrReadOnly }

// step implements stepper.
func (f *lowerFile) step(off int64) (bool, error) {
	if s, ok := f.File.(stepper); ok {
		return s.step(off)
	}
	return true, nil
}
