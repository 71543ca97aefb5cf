;; Exceptions as values: catch_ref, catch_all_ref, throw_ref; locals, parameters, results, blocks of exnref.
;;
;; cleanup 6 = 7006
;; keep 3 = 303
;; value_and_ref 5 = 510
;; pass 9 = 9
;; null = trap
;; is_null = 12
;; global = 77
;; twice 2 = 4
;; uncaught 8 = exception 1 8
(module
  (tag $e (param i32))
  (tag $none)
  (global $saved (mut exnref) (ref.null exn))
  (global $cleanups (mut i32) (i32.const 0))
  (func $throw (param i32)
    local.get 0
    throw $e)

  ;; The shape of a C++ cleanup: catch everything, tidy up, go on throwing.
  (func $with_cleanup (param i32)
    (local $x exnref)
    block $h (result exnref)
      try_table (catch_all_ref $h)
        (call $throw (local.get 0))
      end
      return
    end
    local.set $x
    (global.set $cleanups (i32.add (global.get $cleanups) (i32.const 7)))
    local.get $x
    throw_ref)
  (func (export "cleanup") (param i32) (result i32)
    (global.set $cleanups (i32.const 0))
    block $h (result i32)
      try_table (catch $e $h)
        (call $with_cleanup (local.get 0))
      end
      unreachable
    end
    (i32.mul (global.get $cleanups) (i32.const 1000))
    i32.add)

  ;; Another exception is thrown and caught before the first one is thrown again.
  (func (export "keep") (param i32) (result i32)
    (local $x exnref)
    block $h (result exnref)
      try_table (catch_all_ref $h)
        (call $throw (local.get 0))
      end
      unreachable
    end
    local.set $x
    block $other
      try_table (catch $none $other)
        throw $none
      end
    end
    block $again (result i32)
      try_table (catch $e $again)
        local.get $x
        throw_ref
      end
      unreachable
    end
    i32.const 300
    i32.add)

  (func (export "value_and_ref") (param i32) (result i32)
    (local $x exnref)
    (local $v i32)
    block $h (result i32 exnref)
      try_table (catch_ref $e $h)
        (call $throw (local.get 0))
      end
      unreachable
    end
    local.set $x
    local.set $v
    block $again (result i32)
      try_table (catch $e $again)
        local.get $x
        throw_ref
      end
      unreachable
    end
    (i32.add (i32.mul (local.get $v) (i32.const 100)))
    (i32.add (local.get $v)))

  (func $catch (param i32) (result exnref)
    block $h (result exnref)
      try_table (catch_all_ref $h)
        (call $throw (local.get 0))
      end
      unreachable
    end)
  (func $rethrow (param $x exnref)
    local.get $x
    block (param exnref)
      throw_ref
    end)
  (func (export "pass") (param i32) (result i32)
    block $h (result i32)
      try_table (catch $e $h)
        (call $rethrow (call $catch (local.get 0)))
      end
      unreachable
    end)

  (func (export "null") (result i32)
    ref.null exn
    throw_ref)

  (func (export "is_null") (result i32)
    (local $x exnref)
    local.get $x
    ref.is_null
    i32.const 10
    i32.mul
    (ref.is_null (call $catch (i32.const 1)))
    i32.add
    ref.null func
    ref.is_null
    i32.const 2
    i32.mul
    i32.add)

  (func (export "global") (result i32)
    (global.set $saved (call $catch (i32.const 77)))
    block $h (result i32)
      try_table (catch $e $h)
        global.get $saved
        throw_ref
      end
      unreachable
    end)

  ;; One exnref may be thrown more than once.
  (func (export "twice") (param i32) (result i32)
    (local $x exnref)
    (local $sum i32)
    (local.set $x (call $catch (local.get 0)))
    block $a (result i32)
      try_table (catch $e $a)
        local.get $x
        throw_ref
      end
      unreachable
    end
    local.set $sum
    block $b (result i32)
      try_table (catch $e $b)
        local.get $x
        throw_ref
      end
      unreachable
    end
    local.get $sum
    i32.add)

  (func (export "uncaught") (param i32) (result i32)
    (call $with_cleanup (local.get 0))
    i32.const 0)
)
