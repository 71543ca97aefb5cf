# Attempts: to learn where on the host it runs: files, folders and accounts named in tracebacks, modules, the build's
#   configuration and the environment.
# Stopped by: nothing of it is there. The interpreter knows its own tree only, and the environment is the sandbox's.
# run: status=error timeout=60s
import getpass, inspect, io, os, pathlib, platform, site, socket, subprocess, sys, sysconfig, tempfile, traceback, zipfile

print(sys.path, sys.executable, sys.prefix, sys.exec_prefix, sys.argv, sys.orig_argv, sys.flags)
print({k: getattr(m, "__file__", None) for k, m in list(sys.modules.items())})
print(dict(os.environ), os.getcwd(), os.listdir("/"), pathlib.Path.cwd().resolve())
print(platform.uname(), platform.platform(), sysconfig.get_paths(), tempfile.gettempdir())
for attempt in (
    lambda: getpass.getuser(), lambda: os.path.expanduser("~"), lambda: socket.gethostname(), lambda: os.getlogin(), lambda: os.readlink("/proc/self/exe"),
    lambda: open("/proc/self/maps").read(), lambda: open("/proc/self/cmdline").read(), lambda: open("/etc/passwd").read(), lambda: open("/etc/hostname").read(),
    lambda: os.environ["HOSTILE_HOST_ENV"], lambda: os.environb, lambda: site.getusersitepackages(), lambda: subprocess.run(["env"]),
    lambda: zipfile.ZipFile("/nowhere.zip"), lambda: open(b"/\xff"), lambda: os.stat("\0"), lambda: os.scandir("/data/x"), lambda: os.ctermid(),
    lambda: inspect.getsource(json_loads), lambda: sysconfig.get_config_vars(),
):
    try:
        print(attempt())
    except BaseException:
        traceback.print_exc()
        buffer = io.StringIO()
        traceback.print_exc(file=buffer)
        print(buffer.getvalue())
for frame in inspect.stack():
    print(frame.filename, frame.function)
f = sys._getframe()
while f:
    print(f.f_code.co_filename, sorted(f.f_globals)[:5])
    f = f.f_back
import encodings, ast
ast.parse("(" * 10, "/etc/passwd")
