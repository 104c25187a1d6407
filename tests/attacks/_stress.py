import sys, threading, time
from rlm_secure.testing import corpus
import tests.attacks.throwaway as t
t._PATIENCE=25
names=sys.argv[2:]
def work(i):
    with t.World() as w:
        for k in range(int(sys.argv[1])):
            for n in names:
                cells=corpus.parse(n,open(f"sandboxes/attacks/{n}.py").read()).cells
                a=time.time()
                try: o=w.attempt(cells,1.2)
                except RuntimeError as e: print(i,k,n,"ERR",e,flush=True); time.sleep(20); return
                if o.spoiled: print(i,n,o); return
                if time.time()-a>3: print("slow",n,time.time()-a)
ts=[threading.Thread(target=work,args=(i,)) for i in range(4)]
[x.start() for x in ts]; [x.join() for x in ts]
print("end")
