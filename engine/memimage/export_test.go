package memimage

// ArenaPages is the number of frozen pages that somebody owns.
func ArenaPages() uint64 {
	a, err := theArena()
	if err != nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.used
}
