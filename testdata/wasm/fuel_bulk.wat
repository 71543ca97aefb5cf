;; Bulk instructions of all lengths, in and out of bounds. Results are checksums of memory.
;;
;; fill 0 3000000 = 300000
;; fill 100 17 = 17
;; fill 0 4194304 = 419431
;; fill 1 4194304 = trap
;; fill 4194304 0 = 0
;; copy 0 1 4000000 = 455
;; copy 1 0 4000000 = 7779
;; copy 0 2000000 2194304 = 6136
;; copy 2000000 0 2194304 = 2568
;; copy 0 2000001 2194304 = trap
;; copy 2000001 0 2194304 = trap
;; copy 5 5 100 = 4352
;; init 0 5 = 495
;; init 6 5 = trap
;; after_trap 0 = 0
;; grow 2 = 64
;; grow 70000 = -1
;; grow 0 = 66
;; tables 0 = 7
;; short 0 = 1234
(module
  (memory 64 100)
  (table $t 4 100 funcref)
  (elem $e func $f $f $f)
  (data $d "abcdefghij")
  (func $f)

  ;; The sum of every tenth byte, after filling n bytes with 1.
  (func $sum (result i32)
    (local $i i32) (local $s i32)
    loop $l
      (local.set $s (i32.add (local.get $s) (i32.load8_u (local.get $i))))
      (local.set $i (i32.add (local.get $i) (i32.const 10)))
      (i32.lt_u (local.get $i) (i32.const 4194304))
      br_if $l
    end
    local.get $s)
  (func $clear
    (memory.fill (i32.const 0) (i32.const 0) (i32.const 4194304)))
  (func (export "fill") (param $d i32) (param $n i32) (result i32)
    call $clear
    (memory.fill (local.get $d) (i32.const 1) (local.get $n))
    call $sum
    (i32.gt_u (local.get $n) (i32.const 1000))
    if (param i32) (result i32)
    else
      drop
      local.get $n
    end)

  ;; A pattern with a long period, so that pieces done in the wrong order show.
  (func $pattern
    (local $i i32)
    loop $l
      (i32.store (local.get $i) (i32.mul (local.get $i) (i32.const 2654435761)))
      (local.set $i (i32.add (local.get $i) (i32.const 4)))
      (i32.lt_u (local.get $i) (i32.const 4194304))
      br_if $l
    end)
  (func $hash (result i32)
    (local $i i32) (local $h i32)
    loop $l
      (local.set $h (i32.add (i32.mul (local.get $h) (i32.const 31)) (i32.load (local.get $i))))
      (local.set $i (i32.add (local.get $i) (i32.const 4)))
      (i32.lt_u (local.get $i) (i32.const 4194304))
      br_if $l
    end
    (i32.and (i32.xor (local.get $h) (i32.shr_u (local.get $h) (i32.const 13))) (i32.const 0x1fff)))
  (func (export "copy") (param $d i32) (param $s i32) (param $n i32) (result i32)
    call $pattern
    (memory.copy (local.get $d) (local.get $s) (local.get $n))
    call $hash)

  (func (export "init") (param $s i32) (param $n i32) (result i32)
    call $clear
    (memory.init $d (i32.const 20) (local.get $s) (local.get $n))
    (i32.add (i32.load8_u (i32.const 20))
      (i32.add (i32.load8_u (i32.const 21))
        (i32.add (i32.load8_u (i32.const 22))
          (i32.add (i32.load8_u (i32.const 23)) (i32.load8_u (i32.const 24)))))))

  ;; What trapped before has changed nothing: memory was cleared and filled out of bounds.
  (func (export "after_trap") (param i32) (result i32)
    call $clear
    call $sum)

  (func (export "grow") (param i32) (result i32)
    (memory.grow (local.get 0)))

  (func (export "tables") (param i32) (result i32)
    (drop (table.grow $t (ref.func $f) (i32.const 3)))
    (table.fill $t (i32.const 1) (ref.func $f) (i32.const 2))
    (table.init $e (i32.const 2) (i32.const 0) (i32.const 2))
    (table.copy $t $t (i32.const 0) (i32.const 1) (i32.const 3))
    (table.size $t))

  (func (export "short") (param i32) (result i32)
    (i32.store (i32.const 0) (i32.const 1234))
    (memory.copy (i32.const 64) (i32.const 0) (i32.const 8))
    (memory.fill (i32.const 0) (i32.const 9) (i32.const 8))
    (i32.load (i32.const 64)))
)
