;; try_table in loops, locals changed before a throw, multi-value blocks and try_tables with parameters.
;;
;; count 10 = 5005
;; lowered: locals 3 = 33
;; multi 4 = 4021
;; params 2 = 72
;; params 0 = 40
;; branch_out 5 = 5
;; br_table 0 = 100
;; br_table 1 = 200
;; br_table 2 = 307
;; many 1000 = 499500
(module
  (type $two (func (param i32) (result i32 i32)))
  (tag $e (param i32))
  (func $odd (param i32) (result i32)
    (i32.and (local.get 0) (i32.const 1))
    if
      local.get 0
      throw $e
    end
    i32.const 1000)

  ;; Half of the calls throw. Both ways go on with the loop.
  (func (export "count") (param $n i32) (result i32)
    (local $i i32)
    (local $caught i32)
    (local $sum i32)
    loop $next
      block $done
        block $h (result i32)
          try_table (catch $e $h)
            (local.set $sum (i32.add (local.get $sum) (call $odd (local.get $i))))
            br $done
          end
          unreachable
        end
        drop
        (local.set $caught (i32.add (local.get $caught) (i32.const 1)))
      end
      (local.tee $i (i32.add (local.get $i) (i32.const 1)))
      local.get $n
      i32.lt_u
      br_if $next
    end
    (i32.add (local.get $sum) (local.get $caught)))

  ;; What was stored in a local before the throw is seen by the handler (wazero 1.12 forgets it and answers 3).
  (func (export "locals") (param $n i32) (result i32)
    (local $a i32)
    block $h (result i32)
      try_table (catch $e $h)
        (local.set $a (i32.const 10))
        (local.set $a (i32.mul (local.get $a) (local.get $n)))
        (call $odd (local.get $n))
        local.set $a
      end
      i32.const -1
    end
    local.get $a
    i32.add)

  (func $pair (type $two) (param i32) (result i32 i32)
    local.get 0
    i32.const 21
    (i32.gt_u (local.get 0) (i32.const 100))
    if
      local.get 0
      throw $e
    end)
  (func (export "multi") (param i32) (result i32)
    block $h (result i32)
      try_table (result i32 i32) (catch $e $h)
        (call $pair (local.get 0))
      end
      local.set 0
      i32.const 1000
      i32.mul
      local.get 0
      i32.add
      return
    end)

  ;; The operands become parameters of the try_table.
  (func (export "params") (param i32) (result i32)
    block $h (result i32)
      i32.const 30
      i32.const 10
      try_table (param i32 i32) (result i32) (catch $e $h)
        i32.add
        local.get 0
        if (param i32) (result i32)
          local.get 0
          i32.add
          throw $e
        end
      end
      return
    end
    i32.const 30
    i32.add)

  (func (export "branch_out") (param i32) (result i32)
    block $out (result i32)
      try_table $t (result i32) (catch $e $out)
        local.get 0
        local.get 0
        br_if $t
        drop
        local.get 0
        br $out
      end
    end)

  (func (export "br_table") (param i32) (result i32)
    (local $r i32)
    block $h (result i32)
      block $two
        block $one
          try_table $zero (catch $e $h)
            block
              local.get 0
              br_table $zero $one 0
            end
            i32.const 7
            throw $e
          end
          i32.const 100
          return
        end
        i32.const 200
        return
      end
      unreachable
    end
    i32.const 300
    i32.add)

  (func $always (param i32)
    local.get 0
    throw $e)
  (func (export "many") (param $n i32) (result i32)
    (local $i i32)
    (local $sum i32)
    loop $next
      block $h (result i32)
        try_table (catch $e $h)
          (call $always (local.get $i))
        end
        unreachable
      end
      local.get $sum
      i32.add
      local.set $sum
      (local.tee $i (i32.add (local.get $i) (i32.const 1)))
      local.get $n
      i32.lt_u
      br_if $next
    end
    local.get $sum)
)
