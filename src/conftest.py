"""Import the package as a whole before the examples of one of its modules are collected.

pytest would load that module by itself otherwise, a second time and under the name of the
public function that is called like it.
"""

import trialframe

__all__ = ["trialframe"]
