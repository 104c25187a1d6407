import textwrap
from string import Template

SYSTEM = textwrap.dedent("""\
    You are a careful analyst.
      * Quote the lines that you use.
      * Say "unknown" if the text does not say.
    """)
QUESTION = Template("${system}\nQuestion: ${question}\n\nText:\n${text}\n")
facts = {
    "length": len(context),
    "first": context[:22],
    "modules": sorted({part.split("]")[0] for part in context.split("[")[1:]}),
}
prompt = QUESTION.substitute(system=SYSTEM, question="Which module is slowest?", text=context[:500])
print(prompt[:220])
print(f"... {len(prompt)} characters, {prompt.count(chr(10))} lines")
print(llm_query(prompt))
print("; ".join(f"{k}={v}" for k, v in facts.items()))
prompt_2 = ("Compare these two:\n"
            f"A: {facts['modules'][0]!r}\n"
            "B: {b!r}\n".format(b=facts["modules"][-1]))
print(prompt_2, end="")
