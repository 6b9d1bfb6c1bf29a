"""Which segments to annotate next: those that learners disagree about, far from each other."""
