"""Ranking methods: pairwise judgements -> an order of systems."""

NAMES = {
    "methods": (
        *("bojar", "official", "wins_of_all", "expected_wins", "expected_net_wins", "soccer"),
        *("feedback_arc_set", "feedback_arc_set_net_wins", "most_probable"),
        *("bradley_terry", "trueskill", "monte_carlo_playoffs"),
    )
}
