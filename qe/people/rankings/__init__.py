"""Ranking methods: pairwise judgements -> an order of systems; the file name is the method's name."""
