"""Run text as code with exec.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

exec("print('WON executed'); print(open(TARGET['file']).read())")
