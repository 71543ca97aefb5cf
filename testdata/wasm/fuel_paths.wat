;; Loops, branches, calls and recursion, for counting fuel.
;;
;; sum 10 = 55
;; sum 1000 = 500500
;; arms 0 = 1
;; arms 1 = 2
;; arms 2 = 3
;; fib 15 = 610
;; even 100 = 1
;; nested 12 = 144
;; tree 0 = 64
(module
  (type $i (func (param i32) (result i32)))
  (table 2 funcref)
  (elem (i32.const 0) func $even $odd)

  (func (export "sum") (param $n i32) (result i32)
    (local $s i32)
    loop $l
      (local.set $s (i32.add (local.get $s) (local.get $n)))
      (local.tee $n (i32.sub (local.get $n) (i32.const 1)))
      br_if $l
    end
    local.get $s)

  ;; Arms of different length: the count follows the one taken.
  (func (export "arms") (param i32) (result i32)
    (local $x i32)
    block $default
      block $two
        block $one
          block $zero
            local.get 0
            br_table $zero $one $two $default
          end
          i32.const 1
          return
        end
        (local.set $x (i32.add (local.get $x) (i32.const 3)))
        (local.set $x (i32.mul (local.get $x) (i32.const 5)))
        (local.set $x (i32.sub (local.get $x) (i32.const 7)))
        (local.set $x (i32.add (local.get $x) (i32.const 3)))
        (local.set $x (i32.mul (local.get $x) (i32.const 5)))
        (local.set $x (i32.sub (local.get $x) (i32.const 7)))
        (local.set $x (i32.add (local.get $x) (i32.const 3)))
        (local.set $x (i32.mul (local.get $x) (i32.const 5)))
        (local.set $x (i32.sub (local.get $x) (i32.const 7)))
        i32.const 2
        return
      end
      i32.const 3
      return
    end
    i32.const 4)

  (func $fib (export "fib") (param i32) (result i32)
    (i32.lt_u (local.get 0) (i32.const 2))
    if
      local.get 0
      return
    end
    (call $fib (i32.sub (local.get 0) (i32.const 1)))
    (call $fib (i32.sub (local.get 0) (i32.const 2)))
    i32.add)

  ;; Mutual recursion through the table.
  (func $even (export "even") (param i32) (result i32)
    local.get 0
    i32.eqz
    if
      i32.const 1
      return
    end
    (call_indirect (type $i) (i32.sub (local.get 0) (i32.const 1)) (i32.const 1)))
  (func $odd (param i32) (result i32)
    local.get 0
    i32.eqz
    if
      i32.const 0
      return
    end
    (call_indirect (type $i) (i32.sub (local.get 0) (i32.const 1)) (i32.const 0)))

  (func (export "nested") (param $n i32) (result i32)
    (local $i i32)
    (local $j i32)
    (local $s i32)
    loop $outer
      (local.set $j (i32.const 0))
      loop $inner
        (local.set $s (i32.add (local.get $s) (i32.const 1)))
        (local.tee $j (i32.add (local.get $j) (i32.const 1)))
        local.get $n
        i32.lt_u
        br_if $inner
      end
      (local.tee $i (i32.add (local.get $i) (i32.const 1)))
      local.get $n
      i32.lt_u
      br_if $outer
    end
    local.get $s)

  ;; Sixty-four calls without a loop or recursion.
  (func $leaf (result i32) i32.const 1)
  (func $t1 (result i32) (i32.add (call $leaf) (call $leaf)))
  (func $t2 (result i32) (i32.add (call $t1) (call $t1)))
  (func $t3 (result i32) (i32.add (call $t2) (call $t2)))
  (func $t4 (result i32) (i32.add (call $t3) (call $t3)))
  (func $t5 (result i32) (i32.add (call $t4) (call $t4)))
  (func (export "tree") (param i32) (result i32) (i32.add (call $t5) (call $t5)))
)
