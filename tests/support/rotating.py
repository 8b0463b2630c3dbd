"""What tests sample is another part every day; the same day tries the same again.

SYMDERIV_TEST_DAY, a number, repeats the sample of another day.
"""

import os
from datetime import date

DAY = int(os.environ.get("SYMDERIV_TEST_DAY", date.today().toordinal()))
