import logging

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
logger = logging.getLogger(__name__)

logger.info("context has %d characters", len(context))
sections = context.split("\n## ")
for section in sections[1:]:
    title = section.split("\n", 1)[0]
    logger.debug("section %s", title)
    if len(section) > 3000:
        logger.warning("section %r is long: %d characters", title, len(section))
try:
    1 / (len(sections) - len(sections))
except ZeroDivisionError:
    logger.exception("could not compute the ratio")
print("sections:", len(sections), "| level:", logging.getLevelName(logging.getLogger().level))
