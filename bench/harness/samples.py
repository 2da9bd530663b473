"""Medians, percentiles and paired comparisons of measurements."""

import random
import statistics

median = statistics.median


def percentile(values, share):
    """The smallest value that `share` of all values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(share * len(ordered)) - 1))]


def interval(values, draws=2000, seed=1):
    """The 95 % bootstrap interval of the median."""
    source = random.Random(seed)
    medians = sorted(median(source.choices(values, k=len(values))) for _ in range(draws))
    return medians[int(0.025 * draws)], medians[int(0.975 * draws)]


def paired_ratio(ours, theirs):
    """The median of ratios within rounds, with its interval: (ratio, low, high)."""
    ratios = [a / b for a, b in zip(ours, theirs, strict=True) if b > 0]
    return (median(ratios), *interval(ratios))
