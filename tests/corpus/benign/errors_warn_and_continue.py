import warnings
import logging

warnings.simplefilter("always")
log = logging.getLogger("cleaning")
log.addHandler(logging.NullHandler())
logging.disable(logging.CRITICAL)


def parse_amount(text):
    cleaned = text.replace("'", "").replace(",", ".").strip()
    if cleaned.count(".") > 1:
        warnings.warn(f"odd amount: {text!r}", RuntimeWarning)
        head, _, tail = cleaned.rpartition(".")
        cleaned = head.replace(".", "") + "." + tail
    try:
        return float(cleaned)
    except ValueError:
        log.warning("skipping %r", text)
        return None


amounts = ["12.5", "1'000", "3,75", "1.234.567,8", "free"]
print([parse_amount(a) for a in amounts])
print(sum(a for a in map(parse_amount, amounts) if a is not None))
