;; Nested try_tables: which handler is the nearest, clauses in order, labels counted from outside.
;;
;; pick 0 = 10
;; pick 1 = 21
;; pick 2 = 32
;; pick 3 = 99
;; inner_first 1 = 1
;; order 0 = 1
;; order 1 = 2
;; handler_throws 4 = 54
;; far 1 = 500
;; far 2 = 600
;; empty 1 = exception 1 1
(module
  (tag $a (param i32))
  (tag $b (param i32))
  (tag $c)
  (func $throw (param $which i32)
    block $other
      block $c
        block $b
          block $a
            local.get $which
            br_table $a $b $c $other
          end
          i32.const 10
          throw $a
        end
        i32.const 20
        throw $b
      end
      throw $c
    end)

  ;; The inner try_table catches $a, the outer one $b, and then $c.
  (func (export "pick") (param i32) (result i32)
    block $onC
      block $onB (result i32)
        try_table (catch $b $onB) (catch $c $onC)
          block $onA (result i32)
            try_table (catch $a $onA)
              (call $throw (local.get 0))
            end
            i32.const 99
            return
          end
          return
        end
        unreachable
      end
      i32.const 1
      i32.add
      return
    end
    i32.const 32)

  (func (export "inner_first") (param i32) (result i32)
    block $outer
      try_table (catch_all $outer)
        block $inner
          try_table (catch_all $inner)
            (call $throw (local.get 0))
          end
        end
        i32.const 1
        return
      end
    end
    i32.const 2)

  ;; The first clause that fits wins, whatever comes after it.
  (func (export "order") (param i32) (result i32)
    (local $r i32)
    block $second
      block $first
        block $value (result i32)
          try_table (catch $a $value) (catch_all $second) (catch $b $value)
            (call $throw (local.get 0))
          end
          i32.const 0
        end
        drop
        i32.const 1
        return
      end
    end
    i32.const 2)

  ;; What a handler throws goes to the handler around its try_table.
  (func (export "handler_throws") (param i32) (result i32)
    block $outer (result i32)
      try_table (catch $b $outer)
        block $inner (result i32)
          try_table (catch $a $inner)
            local.get 0
            throw $a
          end
          unreachable
        end
        i32.const 50
        i32.add
        throw $b
      end
      unreachable
    end)

  ;; The clause leads out of several blocks, among them a loop, at once.
  (func (export "far") (param i32) (result i32)
    block $b (result i32)
      block $a (result i32)
        loop $again
          block
            try_table (catch $a $a) (catch $b $b)
              loop
                block
                  (i32.sub (local.get 0) (i32.const 1))
                  call $throw
                end
              end
            end
          end
          br $again
        end
        unreachable
      end
      i32.const 50
      i32.mul
      return
    end
    i32.const 30
    i32.mul)

  ;; A try_table without clauses lets everything through.
  (func (export "empty") (param i32) (result i32)
    try_table
      local.get 0
      throw $a
    end
    i32.const 0)
)
