;; An exception thrown through direct and indirect calls, caught by its tag, with its value.
;;
;; direct 7 = 107
;; direct 0 = 1
;; indirect 9 = 109
;; deep 50 = 150
;; uncaught 5 = exception 1 5
;; below 3 = 1003
;; noreturn 8 = 8
;; tail 4 = 104
(module
  (type $i (func (param i32) (result i32)))
  (tag $e (param i32))
  (table 2 funcref)
  (elem (i32.const 0) func $thrower $innocent)

  (func $thrower (param i32) (result i32)
    local.get 0
    i32.eqz
    if
      i32.const 1
      return
    end
    local.get 0
    throw $e)
  (func $innocent (param i32) (result i32) local.get 0)

  (func (export "direct") (param i32) (result i32)
    block $h (result i32)
      try_table (catch $e $h)
        (call $thrower (local.get 0))
        return
      end
      i32.const -1
      return
    end
    i32.const 100
    i32.add)

  (func (export "indirect") (param i32) (result i32)
    block $h (result i32)
      try_table (result i32) (catch $e $h)
        (call_indirect (type $i) (local.get 0) (i32.const 0))
      end
      drop
      i32.const -1
    end
    i32.const 100
    i32.add)

  ;; The exception crosses as many frames as the parameter says.
  (func $down (param $n i32) (param $v i32) (result i32)
    local.get $n
    i32.eqz
    if
      local.get $v
      throw $e
    end
    (call $down (i32.sub (local.get $n) (i32.const 1)) (local.get $v))
    i32.const 1
    i32.add)
  (func (export "deep") (param i32) (result i32)
    block $h (result i32)
      try_table (catch $e $h)
        (call $down (local.get 0) (local.get 0))
        drop
      end
      i32.const -1
    end
    i32.const 100
    i32.add)

  (func (export "uncaught") (param i32) (result i32)
    (call $thrower (local.get 0)))

  ;; Values wait on the operand stack while the call below them throws.
  (func (export "below") (param i32) (result i32)
    i32.const 1000
    block $h (result i32)
      i32.const 5
      i64.const 6
      try_table (catch $e $h)
        f32.const 1.5
        i64.const 1
        (call $thrower (local.get 0))
        drop drop drop
      end
      unreachable
    end
    i32.add)

  ;; A function that only throws: what follows its call is unreachable.
  (func $fail (param i32)
    local.get 0
    throw $e)
  (func $wrapper (param i32) (result i64)
    (call $fail (local.get 0))
    unreachable)
  (func (export "noreturn") (param i32) (result i32)
    block $h (result i32)
      try_table (catch $e $h)
        (call $wrapper (local.get 0))
        unreachable
      end
      unreachable
    end)

  ;; The function that catches calls one that hands its frame over to the thrower.
  (func $relay (param i32) (result i32)
    block $h (result i32)
      try_table (catch $e $h)
        (call $thrower (local.get 0))
        return
      end
      unreachable
    end
    throw $e)
  (func (export "tail") (param i32) (result i32)
    block $h (result i32)
      try_table (catch $e $h)
        (call $relay (local.get 0))
        return
      end
      unreachable
    end
    i32.const 100
    i32.add)
)
