"""A server on 127.0.0.1 that answers as debuginfod servers may: debuginfod_server.py MODE FOLDER LOG

Prints its port, then one line for each request to LOG.  MODE:

  files     FOLDER/buildid/ID/debuginfo alone, as a tree of files has it
  sections  also /section/NAME, cut from those files
  other     the same, of whatever file is there: the build ID is not looked at
  unmarked  the same, but no section .note.gnu.build-id, which would show that it is another build
  error     500 for everything
  hang      no answer
"""
import glob
import http.server
import os
import subprocess
import sys
import threading

mode, folder, log_path = sys.argv[1:]
lock = threading.Lock()


def section(path, name):
    """The bytes of a section of a file, None without it."""
    for line in subprocess.run(["readelf", "-SW", path], check=True, capture_output=True, text=True).stdout.splitlines():
        fields = line.replace("[ ", "[").split()
        if len(fields) > 6 and fields[1] == name and fields[2] != "NOBITS":
            with open(path, "rb") as file:
                file.seek(int(fields[4], 16))
                return file.read(int(fields[5], 16))
    return None


class Handler(http.server.BaseHTTPRequestHandler):
    def content(self):
        _, _, name, kind, *rest = self.path.split("/")
        path = os.path.join(folder, "buildid", name, "debuginfo")
        if mode in ("other", "unmarked"):
            path = glob.glob(os.path.join(folder, "buildid", "*", "debuginfo"))[0]
        if not os.path.exists(path):
            return None
        if kind == "section" and mode != "files":
            return None if (mode, rest[0]) == ("unmarked", ".note.gnu.build-id") else section(path, rest[0])
        if kind != "debuginfo":
            return None
        with open(path, "rb") as file:
            return file.read()

    def do_GET(self):
        with lock, open(log_path, "a", encoding="utf-8") as log:
            log.write(self.path + "\n")
        if mode == "hang":
            threading.Event().wait()
        content = None if mode == "error" else self.content()
        if content is None:
            self.send_error(500 if mode == "error" else 404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
