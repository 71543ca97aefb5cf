package rewrite

import (
	"fmt"
	"slices"

	"github.com/cloche-dev/cloche/engine/wasmbin"
)

// callSummary is what a function costs and calls, in the indices before the refill function is imported.
type callSummary struct {
	cost     int  // of all its instructions, once each
	leaf     bool // without calls, loops and bulk instructions
	calls    []uint32
	indirect []uint32 // signatures
	refs     []uint32
	bulk     []bulkOp
}

// tiny reports whether the callers pay for the function.
func (s *callSummary) tiny() bool { return s.leaf && s.cost <= tinyCost }

// add notes an instruction; last is the one before it.
func (s *callSummary) add(in, last *wasmbin.Instr) {
	switch in.Op {
	case wasmbin.OpLoop:
		s.leaf = false
	case wasmbin.OpCall, wasmbin.OpReturnCall:
		s.calls, s.leaf = append(s.calls, in.Index), false
	case wasmbin.OpCallIndirect, wasmbin.OpCallRef, wasmbin.OpReturnCallIndirect, wasmbin.OpReturnCallRef:
		s.indirect, s.leaf = append(s.indirect, in.Index), false
	case wasmbin.OpRefFunc:
		s.refs = append(s.refs, in.Index)
	default:
		if op, ok := bulkOf(in, last); ok {
			s.bulk, s.leaf = append(s.bulk, op), false
		}
	}
}

// chooseEntries picks the functions that check fuel when they are entered, so that
//
//   - every cycle of calls has one: those that a depth-first search of the call graph finds on its way when it comes
//     back to them. Calls by signature may lead to every function of that signature whose reference exists; where
//     the search comes back to such a call, it picks the caller;
//   - without checks in them, a function and all that it calls, once for each call in the code, cost at most
//     [maxUnchecked]: the function that would pass the bound is picked.
//
// Loops need no thought here, they check on their own.
func (f *fueling) chooseEntries() ([]bool, error) {
	g, err := f.callGraph()
	if err != nil {
		return nil, err
	}
	// Large functions first: they spread the cost of their check over more work.
	roots := make([]int, len(f.calls))
	for i := range roots {
		roots[i] = i
	}
	slices.SortStableFunc(roots, func(a, b int) int { return f.calls[b].cost - f.calls[a].cost })
	for _, root := range roots {
		g.search(root)
	}
	return g.entries, nil
}

// callGraph has a node for every defined function, and after them one for every signature.
type callGraph struct {
	*fueling
	succ    [][]uint32
	class   []uint32 // signature -> first equal signature
	state   []visitState
	cost    []int // of a node's functions up to checks, known when it is done
	entries []bool
}

type visitState byte

const (
	unseen visitState = iota
	open              // the search is below it
	done
)

func (f *fueling) callGraph() (*callGraph, error) {
	class, err := typeClasses(f.m)
	if err != nil {
		return nil, err
	}
	n, imported := len(f.calls), int(f.refill)
	refs := make([][]uint32, n)
	for i := range f.calls {
		refs[i] = f.calls[i].refs
	}
	taken, err := addressTaken(f.m, refs, imported+n)
	if err != nil {
		return nil, err
	}
	nodes := n + len(f.m.Types)
	g := &callGraph{
		fueling: f, class: class, succ: make([][]uint32, nodes), state: make([]visitState, nodes), cost: make([]int, nodes),
		entries: make([]bool, n),
	}
	for i := range f.calls {
		for _, callee := range f.calls[i].calls {
			if uint64(callee) >= uint64(imported+n) {
				return nil, fmt.Errorf("function %d calls function %d, which does not exist", imported+i, callee)
			}
			if int(callee) >= imported {
				g.succ[i] = append(g.succ[i], callee-f.refill)
			}
		}
		for _, sig := range f.calls[i].indirect {
			if uint64(sig) >= uint64(len(class)) {
				return nil, fmt.Errorf("function %d calls by signature %d, which does not exist", imported+i, sig)
			}
			g.succ[i] = append(g.succ[i], uint32(g.signature(sig)))
		}
		if taken[imported+i] {
			node := g.signature(f.m.Funcs[i].Type)
			g.succ[node] = append(g.succ[node], uint32(i))
		}
	}
	return g, nil
}

// signature is the node of all functions with an equal signature.
func (g *callGraph) signature(sig uint32) int { return len(g.calls) + int(g.class[sig]) }

// search visits what can be reached from a function and has not been seen yet.
func (g *callGraph) search(root int) {
	if g.state[root] != unseen {
		return
	}
	type visit struct{ node, next int }
	stack := []visit{{node: root}}
	g.state[root] = open
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.next == len(g.succ[top.node]) {
			g.finish(top.node)
			stack = stack[:len(stack)-1]
			continue
		}
		to := int(g.succ[top.node][top.next])
		top.next++
		switch {
		case g.state[to] == unseen:
			g.state[to] = open
			stack = append(stack, visit{node: to})
		case g.state[to] == open && to < len(g.entries):
			g.entries[to] = true
		case g.state[to] == open: // a call by signature, made by the function on top
			g.entries[top.node] = true
		}
	}
}

// finish adds up what a node costs without a check. All that it leads to is done, or open and then checked.
func (g *callGraph) finish(node int) {
	g.state[node] = done
	unchecked := func(to int) int {
		if to < len(g.entries) && g.entries[to] {
			return 0
		}
		return g.cost[to]
	}
	if node >= len(g.entries) {
		for _, to := range g.succ[node] {
			g.cost[node] = max(g.cost[node], unchecked(int(to)))
		}
		return
	}
	cost := g.calls[node].cost
	for _, to := range g.succ[node] {
		cost += unchecked(int(to))
	}
	g.cost[node] = cost
	if cost > maxUnchecked {
		g.entries[node] = true
	}
}
