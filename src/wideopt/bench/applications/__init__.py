"""Black boxes of the papers' applications; the suites make tasks of them."""
