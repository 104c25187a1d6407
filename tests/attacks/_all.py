import time, glob, os, sys
from rlm_secure.testing import corpus
from tests.attacks.throwaway import battle
ok=[]
for p in sorted(glob.glob("sandboxes/attacks/[!_]*.py")):
    try: ok.append(corpus.parse(os.path.basename(p)[:-3], open(p).read()))
    except ValueError as e: print("SKIP", e)
if sys.argv[1:]: ok=[a for a in ok if a.name in sys.argv[1:]]
t=time.time(); r=battle(ok); print(len(ok), "took", time.time()-t)
by={a.name:a for a in ok}
import collections
print(collections.Counter((by[n].harm.value,o.ended) for n,o in r.items()))
won=sum("WON" in o.said for o in r.values()); print("won", won)
for n,o in sorted(r.items()):
    h=by[n].harm.value
    if o.changes or o.cleaned or o.mounted or (h=="harmless" and o.ended!="finished") or (h!="harmless" and o.ended=="finished" ) or sys.argv[1:]:
        print("--",n,"|",h,"|",by[n].wins.value,"|",o.ended,"|",[f"{k.value}: {t}"[:300] for k,t in o.changes][:4],[f"{k.value}: {t}"[:200] for k,t in o.cleaned][:3],o.mounted, "|", o.said[-120:].replace("\n"," / "))
