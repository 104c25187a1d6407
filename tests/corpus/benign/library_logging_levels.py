import logging
import sys

logger = logging.getLogger("pipeline")
logger.setLevel(logging.DEBUG)
handler = logging.StreamHandler(sys.stdout)
handler.setFormatter(logging.Formatter("[%(levelname)-7s] %(message)s"))
logger.addHandler(handler)
logger.propagate = False

logger.debug("loading %s", "rows")
total = 0
for i, value in enumerate(["10", "20", "oops", "30"]):
    try:
        total += int(value)
    except ValueError as e:
        logger.warning("row %d skipped: %s", i, e)
logger.info("total=%d", total)
logger.setLevel(logging.ERROR)
logger.info("not shown")
logger.error("shown %s", {"a": 1})
child = logging.getLogger("pipeline.step")
print(child.name, child.parent is logger, logger.isEnabledFor(logging.INFO), logging.WARNING)
