package runtimes

import "time"

// SetUser makes the cache believe that the program runs as another user.
func (c *Cache) SetUser(uid int) error {
	c.euid = uid
	return c.check()
}

// Collect runs the collection of old entries as if it were another time.
func (c *Cache) Collect(name string, now time.Time) { c.collect(name, now) }

// FolderOf is the name of an entry's folder.
func FolderOf(e Entry) string { return e.folder() }
