"""Tables 1 to 13 as printed: every number once, as text, so that no digit is lost."""

from __future__ import annotations

from fractions import Fraction

Row = tuple[Fraction, ...]


def numbers(text: str) -> Row:
    """The numbers of one printed row."""
    return tuple(map(Fraction, text.split()))


def rows(text: str) -> dict[str, Row]:
    """Rows of the form ``name: numbers``."""
    pairs = (line.split(":") for line in text.strip().splitlines())
    return {name.strip(): numbers(values) for name, values in pairs}


UEA = "Ethanol Face Hand Heart Jap PEMS SCP1 SCP2 Arabic UWave".split()
LRA = "ListOps Text Retrieval Image Pathfinder".split()
D4RL = (
    "ME-HalfCheetah ME-Hopper ME-Walker M-HalfCheetah M-Hopper M-Walker MR-HalfCheetah MR-Hopper MR-Walker"
).split()

UEA_LENGTHS = (1751, 62, 152, 405, 26, 144, 896, 1152, 83, 315)  # in the head of Table 2
UEA_HALVED = "Face Hand Jap PEMS Arabic".split()  # rank_multi = 5 instead of 10 in Appendix B.1
LRA_LENGTHS = (2048, 4096, 4096, 1024, 1024)  # "2K", "4K", "1K" of Table 3

TABLE_1_MODELS = "Trans. Linear. Re. Long. Per. YOSO-E Cos. SOFT Flow. Primal. Primal.+Trans.".split()
TABLE_1 = rows("""
Ethanol: 32.7 31.9 31.9 32.3 31.2 31.2 32.3 33.5 33.8 33.1 35.4
Face: 67.3 67.0 68.6 62.6 67.0 67.3 64.8 67.1 67.6 67.1 63.8
Hand: 32.0 34.7 27.4 39.6 32.1 30.9 28.9 34.7 33.8 29.6 28.7
Heart: 76.1 76.6 77.1 78.0 75.6 76.5 77.1 75.6 77.6 76.1 77.1
Jap: 98.7 99.2 97.8 98.9 98.1 98.6 98.3 99.2 98.9 98.4 98.9
PEMS: 82.1 82.1 82.7 83.8 80.9 85.2 83.2 80.9 83.8 89.6 90.2
SCP1: 92.2 92.5 90.4 90.1 91.5 91.1 91.1 91.8 92.5 92.5 92.5
SCP2: 53.9 56.7 56.7 55.6 56.7 53.9 55.0 55.6 56.1 57.2 56.1
Arabic: 98.4 98.0 97.0 94.4 98.4 98.9 98.4 98.8 98.8 100 100
UWave: 85.6 85.0 85.6 87.5 85.3 88.4 85.6 85.0 86.6 86.3 88.4
""")
TABLE_1_AVERAGES = numbers("71.9 72.4 71.5 72.0 71.9 72.2 71.5 72.2 73.0 73.0 73.1")

# ten running times, their average, memory; then the ratios to Trans.
TABLE_2 = rows("""
Trans.: 4.3 10.7 0.3 0.7 0.5 0.6 1.8 1.8 3.7 0.3 2.5 10.9
Flow.: 2.4 9.8 0.3 0.7 0.6 0.7 1.4 1.3 4.4 0.3 2.2 2.8
Primal.+Trans.: 3.3 5.7 0.3 0.7 0.5 0.7 1.6 1.6 4.0 0.3 1.9 6.5
Primal.: 2.3 6.9 0.4 0.4 0.5 0.8 1.4 1.3 4.5 0.4 1.9 2.7
""")
TABLE_2_RATIOS = rows("""
Flow.: 1.8 1.1 1.0 1.0 0.8 0.9 1.3 1.4 0.8 1.0 1.1 3.9
Primal.+Trans.: 1.3 1.9 1.0 1.0 1.0 0.9 1.1 1.1 0.9 1.0 1.3 1.7
Primal.: 1.9 1.6 0.8 1.8 1.0 0.8 1.3 1.4 0.8 0.8 1.3 4.0
""")

TABLE_3_MODELS = "Trans. Re. Per. Lin. Nyström. Long. YOSO-E Primal. Primal.+Trans.".split()
TABLE_3 = rows("""
ListOps: 37.1 19.1 18.8 37.3 37.2 37.2 37.3 37.3 37.3
Text: 65.0 64.9 63.8 55.9 65.5 64.6 64.7 61.2 65.4
Retrieval: 79.4 78.6 78.6 79.4 79.6 81.0 81.2 77.8 81.0
Image: 38.2 43.3 37.1 37.8 41.6 39.1 39.8 43.0 43.9
Pathfinder: 74.2 69.4 69.9 67.6 70.9 73.0 72.9 68.3 74.3
""")
TABLE_3_AVERAGES = numbers("58.8 55.1 53.6 55.6 59.0 59.0 59.2 57.5 60.4")

# five running times, five memories; then the ratios to Trans.
TABLE_4_DIGITS = (1, 1, 1, 1, 1, 2, 2, 2, 2, 2)
TABLE_4 = rows("""
Trans.: 194.5 694.8 1333.7 334.5 405.5 5.50 21.24 18.72 5.88 5.88
Nyström.: 68.4 120.9 235.5 179.5 221.2 0.89 1.69 3.29 1.93 1.93
Lin.: 63.4 116.5 226.2 158.5 204.0 1.73 3.45 6.33 3.45 3.45
Per.: 83.8 157.5 320.6 211.4 278.1 1.67 3.34 6.28 3.34 3.34
Re.: 87.0 168.5 339.9 223.7 286.7 1.64 3.29 6.09 3.29 3.29
Primal.+Trans.: 113.4 367.6 546.5 212.1 263.2 5.24 20.7 18.59 5.35 5.35
Primal.: 56.5 93.6 185.3 142.9 180.0 0.69 1.37 2.99 1.39 1.52
""")
TABLE_4_RATIOS = rows("""
Nyström.: 2.8 5.7 5.7 1.9 1.8 6.2 12.6 5.7 3.0 3.0
Lin.: 3.1 6.0 5.9 2.1 2.0 3.2 6.2 3.0 1.7 1.7
Per.: 2.3 4.4 4.2 1.6 1.5 3.3 6.4 3.0 1.8 1.8
Re.: 2.2 4.1 3.9 1.5 1.4 3.3 6.5 3.1 1.8 1.8
Primal.+Trans.: 1.7 1.9 2.4 1.6 1.5 1.1 1.0 1.0 1.1 1.1
Primal.: 3.4 7.4 7.2 2.3 2.3 7.9 15.5 6.3 4.2 3.9
""")

TABLE_5_MODELS = "DT Linear. Re. Per. Cos. Flow. Primal.+DT".split()
TABLE_5 = rows("""
ME-HalfCheetah: 83.8 78.2 81.5 85.1 85.5 90.8 77.8
ME-Hopper: 104.0 107.2 104.2 93.5 98.1 109.9 111.5
ME-Walker: 107.7 67.2 71.4 72.6 100.5 108.0 108.9
M-HalfCheetah: 42.4 42.3 42.2 42.1 42.1 42.2 43.0
M-Hopper: 64.2 58.7 59.9 59.7 59.8 66.9 74.5
M-Walker: 70.6 57.9 65.8 63.3 71.4 71.7 77.9
MR-HalfCheetah: 34.6 32.1 33.6 31.7 32.8 34.7 38.9
MR-Hopper: 79.7 74.3 66.1 64.6 59.3 75.5 88.5
MR-Walker: 62.9 62.1 50.1 61.3 60.5 62.0 76.8
""")
TABLE_5_AVERAGES = numbers("72.2 64.4 63.9 63.8 67.8 73.5 77.5")
TABLE_5_DEVIATIONS = rows("""
ME-HalfCheetah: 3.3 3.2 1.6 2.1 2.9 0.4 22.1
ME-Hopper: 2.5 0.9 9.8 13.9 7.4 1.0 0.2
ME-Walker: 0.6 27.3 1.8 2.4 14.5 0.4 0.1
M-HalfCheetah: 0.1 0.2 0.1 0.2 0.3 0.2 0.0
M-Hopper: 1.1 0.4 0.7 7.5 3.8 2.5 0.6
M-Walker: 3.2 10.6 4.9 10.7 1.2 2.5 7.8
MR-HalfCheetah: 0.6 1.5 0.7 0.9 3.6 1.5 0.4
MR-Hopper: 7.4 7.0 2.6 24.2 16.5 14.5 12.5
MR-Walker: 5.0 7.4 3.5 6.7 9.9 3.1 10.3
""")
TABLE_5_AVERAGE_DEVIATIONS = numbers("2.6 6.5 2.9 7.6 7.6 2.9 6.0")

TABLE_6_REWARDS = rows("""
DT: 72.2
Flow.: 73.5
Primal.+DT: 77.5
""")
TABLE_6 = rows("""
DT: 20.8 0.3 20.8 0.3 20.8 0.3
Flow.: 54.4 1.5 54.4 1.5 54.3 1.5
Primal.+DT: 23.5 0.3 23.4 0.3 23.3 0.3
""")

# (a): accuracy on ImageNet-100 and ImageNet-1K, time, memory; (b): perplexity, time, memory
TABLE_7A = rows("""
DeiT-Small/16: 74.2 79.8 2425.5 14.2
Primal.+DeiT-Small/16: 75.7 79.8 2330.2 14.0
""")
TABLE_7B = rows("""
Trans.: 33.0 3108.4 9.0
Flow.: 30.8 3998.4 10.5
Primal.+Trans.: 31.0 3104.0 8.9
""")

TABLE_8 = rows("""
Primal. w/o r: 36.8 52.4 58.2 30.5 50.2
Primal. w/ r: 37.3 61.2 77.8 43.0 68.3
Primal.+Trans. w/o r: 37.1 65.1 79.2 42.8 72.8
Primal.+Trans. w/ r: 37.3 65.4 81.0 43.9 74.3
""")
TABLE_8_AVERAGES = numbers("45.6 57.5 59.4 60.4")

SEARCHED, RATES = (20, 30, 40), ("0", "0.1", "0.2", "0.5")
"""The s and η that are searched on UEA: of Table 9 one row for each s, and in it one column for each η."""
TABLE_9 = {
    name: tuple(numbers(part) for part in text.split("/"))
    for name, text in {
        "Ethanol": "32.3 31.6 30.8 32.7 / 30.0 33.1 31.9 30.4 / 30.8 32.3 33.1 31.9",
        "Face": "64.2 67.1 66.2 66.4 / 65.0 65.3 65.2 65.7 / 64.5 65.6 66.5 66.7",
        "Hand": "26.7 28.4 27.3 26.9 / 28.2 26.9 29.6 25.9 / 26.0 26.5 27.7 27.5",
        "Heart": "75.1 72.7 74.2 75.1 / 75.6 75.6 75.6 76.1 / 76.1 75.1 72.2 74.6",
        "Jap": "98.1 98.1 97.3 97.8 / 98.1 97.6 97.3 97.6 / 98.1 98.1 97.6 98.4",
        "PEMS": "86.1 85.6 83.8 84.4 / 83.8 86.7 82.1 86.7 / 86.1 89.6 86.7 85.0",
        "SCP1": "91.5 92.5 90.8 91.8 / 92.2 91.8 92.2 92.5 / 91.8 91.8 91.5 91.8",
        "SCP2": "57.2 53.9 55.6 56.1 / 55.6 53.9 55.6 55.8 / 52.9 56.1 53.9 53.3",
        "Arabic": "100 100 100 100 / 100 100 100 100 / 100 100 100 100",
        "UWave": "86.3 83.8 83.8 84.7 / 85.3 85.0 85.0 84.1 / 86.3 84.1 84.1 85.9",
    }.items()
}

# s = 32, 64, 96
TABLE_10 = rows("""
ME-HalfCheetah: 56.9 73.1 75.6
M-HalfCheetah: 42.9 43.1 42.8
MR-HalfCheetah: 39.5 37.9 39.3
ME-Hopper: 111.2 112.0 111.1
M-Hopper: 66.7 63.1 73.8
MR-Hopper: 84.2 91.7 87.3
ME-Walker: 108.7 108.9 109.0
M-Walker: 75.1 77.1 77.0
MR-Walker: 71.8 70.4 80.5
""")

TABLE_11 = rows("""
No: 34.6 63.5 29.3 76.1 99.2 88.4 92.8 58.3 100 87.2
Yes: 35.4 63.8 28.7 77.1 98.9 90.2 92.5 56.1 100 88.4
""")
TABLE_11_AVERAGES = numbers("72.9 73.1")
TABLE_12 = rows("""
No: 37.0 40.2 74.3 80.8 65.6
Yes: 37.3 43.9 74.3 81.0 65.4
""")
TABLE_12_AVERAGES = numbers("59.6 60.4")

# canonical layers, Primal-Attention layers, heads, width of a head
TABLE_13 = rows("""
UEA: 1 1 8 64
LRA: 1 1 2 32
D4RL: 2 1 4 64
WikiText-103: 5 1 8 64
ImageNet: 11 1 6 64
""")
