from string import Template, ascii_lowercase, digits, punctuation, capwords
import textwrap

letter = Template("Dear $name,\n\nyour order ${order_id} ($$ $total) ships on $date.")
print(letter.substitute(name="Ada", order_id=17, total="12.50", date="Monday"))
print(letter.safe_substitute(name="Bob").splitlines()[2])
try:
    letter.substitute(name="Eve")
except KeyError as e:
    print("missing:", e)
print(ascii_lowercase[:5] + digits[-2:], len(punctuation), capwords("the quick  fox"))
text = "A session keeps its variables between cells, so that a later cell can use what an earlier one computed."
print(textwrap.fill(text, width=40, initial_indent="* ", subsequent_indent="  "))
print(textwrap.shorten(text, 30, placeholder="..."), textwrap.dedent("""
    indented
      more
""").strip())
print(textwrap.indent("x\ny", "> "))
