package rewrite

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cloche-dev/cloche/engine/wasmbin"
)

// funcNames holds the function names of the name section, by index.
type funcNames struct {
	list []wasmbin.Name
}

// takeNames removes the name section, and the debugging sections that rewriting makes wrong, from m.
func takeNames(m *wasmbin.Module) (*funcNames, error) {
	var names funcNames
	for _, c := range m.Customs {
		if c.Name != wasmbin.NameSection {
			continue
		}
		list, err := wasmbin.FuncNames(c.Bytes)
		if err != nil {
			return nil, fmt.Errorf("decode name section: %w", err)
		}
		names.list = list
	}
	m.Customs = slices.DeleteFunc(m.Customs, func(c wasmbin.Custom) bool {
		return c.Name == wasmbin.NameSection || strings.HasPrefix(c.Name, ".debug_")
	})
	return &names, nil
}

// add names a function that was appended to the module.
func (n *funcNames) add(index int, name string) {
	n.list = append(n.list, wasmbin.Name{Index: uint32(index), Name: name})
}

// payload encodes the names, nil when there are none.
func (n *funcNames) payload() []byte {
	if len(n.list) == 0 {
		return nil
	}
	return wasmbin.AppendFuncNames(nil, n.list)
}

// selectExports drops the exports that are not in o.KeepExports and adds those of o.ExportFuncs.
func selectExports(m *wasmbin.Module, names *funcNames, o Options) error {
	if o.KeepExports != nil {
		m.Exports = slices.DeleteFunc(m.Exports, func(e wasmbin.Export) bool { return !slices.Contains(o.KeepExports, e.Name) })
	}
	wanted := make(map[string][]string) // function name -> export names
	for _, export := range slices.Sorted(maps.Keys(o.ExportFuncs)) {
		name := o.ExportFuncs[export]
		wanted[name] = append(wanted[name], export)
	}
	for _, n := range names.list {
		for _, export := range wanted[n.Name] {
			if err := addExport(m, wasmbin.Export{Name: export, Kind: wasmbin.KindFunc, Index: n.Index}); err != nil {
				return err
			}
		}
		delete(wanted, n.Name)
	}
	if len(wanted) > 0 {
		missing := slices.Sorted(maps.Keys(wanted))
		return fmt.Errorf("no function is named %s", strings.Join(missing, ", "))
	}
	return nil
}

// addExport adds an export. The same item may be exported under that name already; another one may not.
func addExport(m *wasmbin.Module, e wasmbin.Export) error {
	for _, have := range m.Exports {
		if have.Name == e.Name {
			if have == e {
				return nil
			}
			return fmt.Errorf("export %q exists already", e.Name)
		}
	}
	m.Exports = append(m.Exports, e)
	return nil
}

// exportMemory makes sure that memory 0 is the module's own and exported as "memory". It returns its limits in pages.
func exportMemory(m *wasmbin.Module) (minPages, maxPages uint32, err error) {
	if m.Imported(wasmbin.KindMemory) > 0 {
		return 0, 0, fmt.Errorf("the module imports its memory")
	}
	if len(m.Memories) == 0 {
		return 0, 0, nil
	}
	l := m.Memories[0]
	if l.Is64 {
		return 0, 0, fmt.Errorf("the module's memory is addressed by 64 bits")
	}
	const most = 1 << 16
	maxPages = most
	if l.HasMax {
		maxPages = uint32(min(l.Max, most))
	}
	return uint32(l.Min), maxPages, addExport(m, wasmbin.Export{Name: "memory", Kind: wasmbin.KindMemory})
}

// exportGlobals exports every mutable global as cloche.g<index>, unless a pass has given it a name of ours, and
// returns these names without FuelGlobal.
func exportGlobals(m *wasmbin.Module) ([]string, error) {
	ours := make(map[uint32]string)
	for _, e := range m.Exports {
		if e.Kind == wasmbin.KindGlobal && (e.Name == ExcTag || e.Name == ExcVal || e.Name == FuelGlobal) {
			ours[e.Index] = e.Name
		}
	}
	var list []string
	for i, g := range m.GlobalTypes() {
		name, named := ours[uint32(i)]
		switch {
		case !g.Mutable || name == FuelGlobal:
			continue
		case !named:
			name = fmt.Sprintf("cloche.g%d", i)
			if err := addExport(m, wasmbin.Export{Name: name, Kind: wasmbin.KindGlobal, Index: uint32(i)}); err != nil {
				return nil, err
			}
		}
		list = append(list, name)
	}
	return list, nil
}

// addGlobal adds a mutable global that starts as zero, exported under name, and returns its index.
func addGlobal(m *wasmbin.Module, t wasmbin.ValType, name string) (uint32, error) {
	index := uint32(m.Imported(wasmbin.KindGlobal) + len(m.Globals))
	m.Globals = append(m.Globals, wasmbin.Global{
		GlobalType: wasmbin.GlobalType{Type: t, Mutable: true},
		Init:       append(appendZero(nil, t), byte(wasmbin.OpEnd)),
	})
	return index, addExport(m, wasmbin.Export{Name: name, Kind: wasmbin.KindGlobal, Index: index})
}
