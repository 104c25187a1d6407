import sys

from .crawl import main

sys.exit(main())
