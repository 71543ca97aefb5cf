package rewrite

import (
	"errors"

	"github.com/cloche-dev/cloche/engine/wasmbin"
)

// segment is a stretch of a function: entered at its start, executed to its end.
type segment struct {
	start int  // offset in the function's instructions
	cost  int  // of its instructions
	dom   int  // a segment that every way to this one has passed before
	own   bool // must be charged where it starts
	loop  bool // starts at a loop's header

	payer  int // the segment that charges for this one
	ahead  int // what it charges for others
	charge int // what it charges, 0 unless it is its own payer
}

// noSegment stands for code that cannot be reached.
const noSegment = -1

// plan cuts a function into segments and decides where they are charged.
type plan struct {
	*fueling
	segments []segment
	blocks   []planBlock
	now      int          // current segment
	summary  *callSummary // to be filled, or nil
}

// planBlock is an open block.
type planBlock struct {
	op       wasmbin.Opcode
	outside  int  // the segment in which it was opened
	targeted bool // something branches to its end
}

// begin starts a segment.
func (p *plan) begin(start, dom int) *segment {
	p.segments = append(p.segments, segment{start: start, dom: dom})
	p.now = len(p.segments) - 1
	return &p.segments[p.now]
}

func (p *plan) pay(cost int) {
	if p.now != noSegment {
		p.segments[p.now].cost += cost
	}
}

// leave pays for an instruction after which nothing is reached.
func (p *plan) leave(cost int) {
	p.pay(cost)
	p.now = noSegment
}

// target notes a branch. Labels that do not exist are found when the module is validated.
func (p *plan) target(label uint32) {
	if uint64(label) < uint64(len(p.blocks)) {
		p.blocks[len(p.blocks)-1-int(label)].targeted = true
	}
}

// errNotLowered is returned for instructions that lowerExceptions would have replaced.
var errNotLowered = errors.New("exceptions must be lowered first")

// cut finds the segments of a function.
func (p *plan) cut(expr []byte) error {
	p.blocks = append(p.blocks[:0], planBlock{op: wasmbin.OpBlock})
	p.begin(0, 0).own = true
	look := -1 // where a look at the pending exception has begun
	var last wasmbin.Instr
	r := wasmbin.NewInstrReader(expr)
	for in := (wasmbin.Instr{}); r.Next(&in); {
		switch in.Op {
		case wasmbin.OpNop:
		case wasmbin.OpBlock, wasmbin.OpLoop, wasmbin.OpIf:
			p.open(&in)
		case wasmbin.OpElse:
			p.orElse(&in)
		case wasmbin.OpEnd:
			p.close(&in)
		case wasmbin.OpBr:
			p.target(in.Index)
			p.leave(1)
		case wasmbin.OpBrIf, wasmbin.OpBrOnNull, wasmbin.OpBrOnNonNull:
			p.target(in.Index)
			if in.Start == look {
				break // exceptions are rare: what follows the call is not another segment
			}
			p.pay(1)
			if p.now != noSegment {
				p.begin(in.End, p.now)
			}
		case wasmbin.OpBrTable:
			for _, l := range in.Labels {
				p.target(l)
			}
			p.leave(brTableCost)
		case wasmbin.OpReturn, wasmbin.OpUnreachable:
			p.leave(1)
		case wasmbin.OpReturnCall:
			p.leave(callCost + p.tinyCall(in.Index))
		case wasmbin.OpReturnCallIndirect, wasmbin.OpReturnCallRef:
			p.leave(indirectCost)
		case wasmbin.OpThrow, wasmbin.OpThrowRef, wasmbin.OpTryTable:
			return errNotLowered
		case wasmbin.OpGlobalGet:
			if in.Index == p.excTag {
				look = in.End
				break
			}
			p.pay(1)
		default:
			p.pay(p.cost(&in, &last))
		}
		if p.summary != nil {
			p.summary.add(&in, &last)
		}
		last.Op, last.Value = in.Op, in.Value
	}
	return r.Err()
}

// cost is the cost of an instruction that is followed by the next one. last is the one before it.
func (p *plan) cost(in, last *wasmbin.Instr) int {
	switch in.Op {
	case wasmbin.OpCall:
		return callCost + p.tinyCall(in.Index)
	case wasmbin.OpCallIndirect, wasmbin.OpCallRef:
		return indirectCost
	case wasmbin.OpMemoryCopy, wasmbin.OpMemoryFill, wasmbin.OpMemoryInit:
		if n, short := shortBulk(last); short {
			return callCost + n/bytesPerFuel
		}
	}
	if _, ok := bulkOf(in, last); ok {
		return callCost
	}
	return 1
}

func (p *plan) open(in *wasmbin.Instr) {
	if in.Op == wasmbin.OpIf {
		p.pay(1)
	}
	p.blocks = append(p.blocks, planBlock{op: in.Op, outside: p.now})
	if p.now == noSegment {
		return
	}
	switch in.Op {
	case wasmbin.OpIf:
		p.begin(in.End, p.now)
	case wasmbin.OpLoop:
		s := p.begin(in.End, p.now)
		s.loop, s.own = true, true
	}
}

func (p *plan) orElse(in *wasmbin.Instr) {
	b := &p.blocks[len(p.blocks)-1]
	b.op = wasmbin.OpElse
	if p.now != noSegment {
		b.targeted = true
	}
	if p.now = b.outside; p.now != noSegment {
		p.begin(in.End, b.outside)
	}
}

func (p *plan) close(in *wasmbin.Instr) {
	b := p.blocks[len(p.blocks)-1]
	p.blocks = p.blocks[:len(p.blocks)-1]
	switch {
	case b.outside == noSegment:
		p.now = noSegment
	case b.op == wasmbin.OpLoop:
		// Executed once for all the times around: the segment before the loop pays for it, not one in the loop.
		if p.now != noSegment {
			p.begin(in.End, b.outside)
		}
	case b.targeted || b.op == wasmbin.OpIf:
		p.begin(in.End, b.outside)
	}
}

// assign decides which segment pays for which. A segment comes after the one that dominates it.
func (p *plan) assign() {
	for i := range p.segments {
		s := &p.segments[i]
		s.payer = i
		if !s.own {
			payer := p.segments[s.dom].payer
			if d := &p.segments[payer]; d.ahead+s.cost <= ahead {
				s.payer = payer
				d.ahead += s.cost
				d.charge += s.cost
				continue
			}
		}
		s.charge += s.cost
	}
}

// summarize reads what chooseEntries and callers need to know about a function.
func (f *fueling) summarize(fn *wasmbin.Func) (callSummary, error) {
	_, expr, err := wasmbin.SplitBody(fn.Body)
	if err != nil {
		return callSummary{}, err
	}
	s := callSummary{leaf: true}
	p := plan{fueling: &fueling{m: f.m, excTag: f.excTag}, summary: &s} // tiny functions are not known yet
	if err := p.cut(expr); err != nil {
		return callSummary{}, err
	}
	for i := range p.segments {
		s.cost += p.segments[i].cost
	}
	return s, nil
}
