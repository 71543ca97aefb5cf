;; Functions that throw have results of every type; tags with f32 and without values; imported tags.
;;
;; floats 1 = 3
;; results 1 = 1
;; results 0 = 111
;; refs 1 = 5
;; bare 2 = 2
(module
  (type $sig (func (param i32) (result i32)))
  (tag $f (param f32))
  (tag $bare)
  (func $id (param i32) (result i32) local.get 0)
  (elem declare func $id)

  (func (export "floats") (param i32) (result i32)
    block $h (result f32)
      try_table (catch $f $h)
        f32.const 3.5
        throw $f
      end
      unreachable
    end
    i32.trunc_f32_s)

  (func $all (param i32) (result i32 i64 f32 f64)
    local.get 0
    if
      throw $bare
    end
    i32.const 1
    i64.const 10
    f32.const 100
    f64.const 0)
  (func (export "results") (param i32) (result i32)
    (local $a i32) (local $b i64) (local $c f32)
    block $h
      try_table (catch $bare $h)
        (call $all (local.get 0))
        drop
        local.set $c
        local.set $b
        local.set $a
        local.get $a
        local.get $b
        i32.wrap_i64
        i32.add
        local.get $c
        i32.trunc_f32_s
        i32.add
        return
      end
      unreachable
    end
    i32.const 1)

  (func $ref (param i32) (result funcref)
    local.get 0
    if
      throw $bare
    end
    ref.func $id)
  (func (export "refs") (param i32) (result i32)
    block $h
      try_table (catch $bare $h)
        (call $ref (local.get 0))
        ref.is_null
        return
      end
    end
    i32.const 5)

  (func (export "bare") (param i32) (result i32)
    block $h
      try_table (catch_all $h)
        throw $bare
      end
      unreachable
    end
    local.get 0)
)
