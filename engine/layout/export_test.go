package layout

// Same compares two files of code as Rewrite does.
func Same(old, new []byte) error {
	from, err := parse(old)
	if err != nil {
		return err
	}
	to, err := parse(new)
	if err != nil {
		return err
	}
	return same(from, to)
}

// Code tells where the code in a file begins and ends.
func Code(file []byte) (begin, end int) {
	f, err := parse(file)
	if err != nil {
		panic(err)
	}
	end = len(file) - len(rest) - 4
	return end - len(f.code), end
}
