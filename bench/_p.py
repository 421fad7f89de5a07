import sys,tempfile,subprocess,threading
from pathlib import Path
from lab import *
b=Path(sys.argv[1]).resolve(); folder=Path(tempfile.mkdtemp(dir="/dev/shm"))
load=Load(Path("target/bench/release/sessiond-load").resolve(),64,16)
url=f"sqlite://{folder}/s.db"
with Sessiond(b,url,folder) as s: load.prepare(s,"setup",connections=4,app="noisy")
with Sessiond(b,url,folder,"--rate-limit-app=1") as s:
    p=subprocess.Popen(["perf","record","-F","1999","-g","--call-graph","fp","-o","/tmp/p.data","-p",str(s.pid),"--","sleep","4"])
    load(s,"append",app="noisy",rate=4000,connections=64,seconds=5,warmup=0.01)
    p.wait()
