import sys,tempfile
from pathlib import Path
from lab import *
b=Path(sys.argv[1]).resolve(); folder=Path(tempfile.mkdtemp(dir="/dev/shm"))
load=Load(Path("target/bench/release/sessiond-load").resolve(),64,16)
url=f"sqlite://{folder}/s.db"
with Sessiond(b,url,folder) as s: load.prepare(s,"setup",connections=4,app="noisy")
with Sessiond(b,url,folder,"--rate-limit-app=1") as s:
    pid=s.process.pid if hasattr(s,'process') else s.pid
    for i in range(3):
        c=cpu_seconds(pid); r=load(s,"append",app="noisy",rate=4000,connections=64,seconds=4,warmup=0.01); c=cpu_seconds(pid)-c
        print(r.get("rate"),r["errors"],"CPU us per request",1e6*c/max(1,r["errors"]))
