# Attempts: to end in odd ways: exit codes out of range, exits from handlers, aborts, signals to itself, exits in the
#   middle of output.
# Stopped by: how it ends is its own affair: an exit code from 0 to 255 or a trap, never the host's exit.
# run: status=ok,error,trapped timeout=60s repeat=16
import os, signal, sys, threading
print("out", end="")
sys.stderr.write("err")
(lambda: sys.exit(256), lambda: sys.exit(-1), lambda: sys.exit(2**64), lambda: sys.exit("text"), lambda: sys.exit(object()), lambda: os._exit(2**32 - 1), lambda: os._exit(-1), lambda: os.abort(),
 lambda: os.kill(os.getpid(), signal.SIGINT), lambda: signal.raise_signal(signal.SIGINT), lambda: signal.raise_signal(signal.SIGTERM), lambda: signal.raise_signal(9) , lambda: (_ for _ in ()).throw(SystemExit(3)),
 lambda: exec("import _thread; _thread.interrupt_main()"), lambda: (setattr(sys, "stdout", None), print(1), sys.exit(0)), lambda: (sys.stdout.close(), sys.stderr.close(), sys.exit(5)))[seed]()
