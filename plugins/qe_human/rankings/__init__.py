"""Ranking methods: pairwise judgements -> an order of systems. The file name is the method's name."""
