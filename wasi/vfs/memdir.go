package vfs

import (
	"slices"
	"strings"
)

// pageEntries is the most entries of one page; a full page is split in two.
const pageEntries = 128

type dirent struct {
	name string
	ino  uint64
	kind Kind
}

type dirPage struct {
	gen     uint64
	entries []dirent // sorted by name, never empty
}

// dirData holds the entries of a folder in order of their names. The slice of pages belongs to one inode;
// the pages may be shared, and are copied before they are changed.
type dirData struct {
	pages []*dirPage
	count int
}

// find returns the page and position of a name, or where it would be put.
func (d *dirData) find(name string) (page, pos int, found bool) {
	lo, hi := 0, len(d.pages) // the last page whose first name is not after name
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if d.pages[mid].entries[0].name <= name {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return 0, 0, false
	}
	pos, found = slices.BinarySearchFunc(d.pages[lo-1].entries, name, func(e dirent, name string) int {
		return strings.Compare(e.name, name)
	})
	return lo - 1, pos, found
}

func (d *dirData) get(name string) (dirent, bool) {
	if page, pos, ok := d.find(name); ok {
		return d.pages[page].entries[pos], true
	}
	return dirent{}, false
}

// own makes a page changeable.
func (d *dirData) own(gen uint64, page int) *dirPage {
	p := d.pages[page]
	if p.gen != gen {
		p = &dirPage{gen, slices.Clone(p.entries)}
		d.pages[page] = p
	}
	return p
}

// put adds an entry, or replaces the one of that name.
func (d *dirData) put(gen uint64, e dirent) {
	if len(d.pages) == 0 {
		d.pages = append(d.pages, &dirPage{gen, []dirent{e}})
		d.count = 1
		return
	}
	page, pos, found := d.find(e.name)
	p := d.own(gen, page)
	if found {
		p.entries[pos] = e
		return
	}
	d.count++
	p.entries = slices.Insert(p.entries, pos, e)
	if len(p.entries) > pageEntries {
		// Names mostly come in rising order: the page before stays nearly full.
		cut := len(p.entries) / 2
		if pos == len(p.entries)-1 && page == len(d.pages)-1 {
			cut = len(p.entries) - 8
		}
		d.pages = slices.Insert(d.pages, page+1, &dirPage{gen, slices.Clone(p.entries[cut:])})
		clear(p.entries[cut:])
		p.entries = p.entries[:cut]
	}
}

func (d *dirData) remove(gen uint64, name string) {
	page, pos, found := d.find(name)
	if !found {
		return
	}
	d.count--
	p := d.own(gen, page)
	if p.entries = slices.Delete(p.entries, pos, pos+1); len(p.entries) == 0 {
		d.pages = slices.Delete(d.pages, page, page+1)
	}
}

// each calls f for every entry in order of the names until f returns false.
func (d *dirData) each(f func(e *dirent) bool) {
	for _, p := range d.pages {
		for i := range p.entries {
			if !f(&p.entries[i]) {
				return
			}
		}
	}
}
