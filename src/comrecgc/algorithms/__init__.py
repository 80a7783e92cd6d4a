"""Algorithms that find common recourses: rules, vectors, the paper's walk, and other explainers."""
