;; select between two values of type exnref, which wazero 1.12 does not compile.
;;
;; lowered: choose 1 = 11
;; lowered: choose 0 = 22
(module
  (tag $e (param i32))
  (func $catch (param i32) (result exnref)
    block $h (result exnref)
      try_table (catch_all_ref $h)
        local.get 0
        throw $e
      end
      unreachable
    end)
  (func (export "choose") (param i32) (result i32)
    block $h (result i32)
      try_table (catch $e $h)
        (call $catch (i32.const 11))
        (call $catch (i32.const 22))
        local.get 0
        select (result exnref)
        throw_ref
      end
      unreachable
    end)
)
